"""Lexica, allophone states, random pronunciations. Whole sequences are in the data case lm_phones."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from returnn.datasets.basic import init_dataset
from returnn.datasets.lm import AllophoneState, Lexicon, PhoneSeqGenerator, StateTying
from returnn.datasets.lm.bpe_lexicon import main as bpe_lexicon_main
from returnn.util.errors import ConfigError, UserError
from tests.datasets.reading import read_epoch, tags
from tests.program import root, run_python

PHONEMES = "".join(f"<phoneme><symbol>{phone}</symbol></phoneme>" for phone in "abc")
LEMMAS = """
<lemma special="silence"><orth>[SILENCE]</orth><phon>si</phon></lemma>
<lemma><orth>foo</orth><orth>Foo</orth><phon score="1.5"> a b </phon><phon>b</phon></lemma>
<lemma><orth>bar</orth><phon>c a c</phon></lemma>
<lemma><orth>nothing</orth></lemma>
"""
SILENCE = "<phoneme><symbol>si</symbol><variation>none</variation></phoneme>"
NEVER = {
    "add_silence_beginning": 0,
    "add_silence_between_words": 0,
    "add_silence_end": 0,
    "repetition": 0,
    "silence_repetition": 0,
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    write_lexicon()
    yield


def write_lexicon(name: str = "lexicon.xml", more: str = "") -> str:
    """:return: name of a lexicon with further lemmas"""
    text = f"<lexicon><phoneme-inventory>{PHONEMES}{SILENCE}</phoneme-inventory>{LEMMAS}{more}</lexicon>"
    with gzip.open(name, "wt") if name.endswith(".gz") else open(name, "w") as f:
        f.write(text)
    return name


def generator(**opts: Any) -> PhoneSeqGenerator:
    """:return: of the lexicon"""
    return PhoneSeqGenerator(**{"lexicon_file": "lexicon.xml", **NEVER, **opts})


class TestLexicon:
    """Bliss XML."""

    def test_content(self) -> None:
        lexicon = Lexicon(write_lexicon("lexicon.xml.gz"))
        assert lexicon.phoneme_list == ["a", "b", "c", "si"]
        assert lexicon.phonemes["b"] == {"index": 1, "symbol": "b", "variation": "context"}
        assert lexicon.phonemes["si"]["variation"] == "none"
        phons = [{"phon": "a b", "score": 1.5}, {"phon": "b", "score": 0.0}]
        assert lexicon.lemmas["Foo"] == {"orth": "Foo", "phons": phons}
        assert list(lexicon.lemmas) == ["[SILENCE]", "foo", "Foo", "bar", "nothing"]

    def test_duplicates(self) -> None:
        """The same once more is allowed, another pronunciation is not."""
        Lexicon(write_lexicon(more="<lemma><orth>bar</orth><phon>c a c</phon></lemma>"))
        with pytest.raises(UserError, match="orth 'bar' lemma duplicated in lexicon 'lexicon.xml'"):
            Lexicon(write_lexicon(more="<lemma><orth>bar</orth><phon>a</phon></lemma>"))

    def test_errors(self) -> None:
        with pytest.raises(ConfigError, match="lexicon not found: 'lexikon.xml'.* Did you mean \"lexicon.xml\"?"):
            Lexicon("lexikon.xml")
        Path("a.xml").write_text("<lexicon>")
        with pytest.raises(UserError, match="lexicon 'a.xml': no XML"):
            Lexicon("a.xml")


class TestStateTying:
    """Classes of states."""

    def test_content(self) -> None:
        Path("tying").write_text("a{#+#}.0 0\na{#+#}.1 1\nb{#+#}.0 0\n")
        tying = StateTying("tying")
        assert tying.num_classes == 2 and tying.allo_map["a{#+#}.1"] == 1
        assert tying.class_map == {0: {"a{#+#}.0", "b{#+#}.0"}, 1: {"a{#+#}.1"}}

    @pytest.mark.parametrize(
        ["content", "message"],
        [
            ("a 0\nb 2\n", "some classes are not represented, of 3 for example \\[1\\]"),
            ("a 0\na 1\n", "line 2: 'a' is there twice"),
            ("a\n", "line 1: expected 'allophone-state class', got 'a'"),
        ],
    )
    def test_errors(self, content: str, message: str) -> None:
        Path("tying").write_text(content)
        with pytest.raises(UserError, match=message):
            StateTying("tying")

    def test_as_labels(self) -> None:
        """A state that has no class is an error."""
        Path("tying").write_text("".join(f"b{{#+#}}@i@f.{i} {i % 2}\n" for i in range(3)))
        phones = generator(state_tying_file="tying", allo_num_states=3)
        assert phones.get_class_labels() == ["b{#+#}@i@f.0|b{#+#}@i@f.2", "b{#+#}@i@f.1"]
        states = [AllophoneState("b", state=i) for i in range(3)]
        for state in states:
            state.mark_initial()
            state.mark_final()
        assert phones.seq_to_class_idxs(states, dtype="int8").tolist() == [0, 1, 0]
        with pytest.raises(UserError, match=r"allophone state c\{#\+a\}@i.0 of the lexicon 'lexicon.xml' has no class"):
            phones.seq_to_class_idxs(phones.generate_seq("bar"))


class TestAllophoneState:
    """Text forms and numbers."""

    def test_index(self) -> None:
        """Digits b, a, none with base 4: (2 * 4 + 1) * 4 + 0 = 36; then * 3 + state 1, * 4 + initial 1."""
        state = AllophoneState("b", state=1)
        state.set_phoneme(-1, "a")
        state.mark_initial()
        assert state.format() == "b{a+#}@i.1"
        assert state.index({"a": 0, "b": 1, "si": 2}) == (36 * 3 + 1) * 4 + 1 == 437

    def test_from_index_is_the_inverse(self) -> None:
        phones = {"a": 0, "b": 1}
        states = []
        for centre in "ab":
            for left in ("", "a", "b", "ab"):
                for right in ("", "b"):
                    state = AllophoneState(centre, state=len(states) % 3)
                    state.context_history, state.context_future = tuple(left), tuple(right)
                    state.boundary = len(states) % 4
                    states.append(state)
        for state in states:
            index = state.index(phones, context_length=2)
            assert AllophoneState.from_index(index, {0: "a", 1: "b"}, context_length=2) == state
        assert len({state.index(phones, context_length=2) for state in states}) == len(states)

    def test_classic_index(self) -> None:
        allophones = [AllophoneState("a"), AllophoneState("b")]
        assert AllophoneState.from_classic_index(1 + 2 * (1 << 26), allophones).format() == "b{#+#}.2"
        assert allophones[1].state is None
        with pytest.raises(IndexError, match="state 7, allophone 0 of 2"):
            AllophoneState.from_classic_index(7 << 26, allophones)

    def test_as_key(self) -> None:
        state = AllophoneState("a", state=1)
        assert {state: 1}[state.copy()] == 1 and state != AllophoneState("a", state=2)


class TestPhoneSeqGenerator:
    """Of words, phones."""

    def test_context_stops_at_silence(self) -> None:
        phones = generator(phon_pick_strategy="first", allo_num_states=1)
        states = [state.format() for state in phones.generate_seq("foo [SILENCE] bar")]
        assert states == ["a{#+b}@i.0", "b{a+#}@f.0", "si{#+#}@i@f.0", "c{#+a}@i.0", "a{c+c}.0", "c{a+#}@f.0"]

    def test_unknown_words(self) -> None:
        """They are split at /, then at -."""
        phones = generator(phon_pick_strategy="first")
        assert phones.orth_to_phones("foo/bar-foo") == "a b c a c a b"
        for word in ("foo/x", "nothing", "-"):
            with pytest.raises(KeyError, match="is not in the lexicon 'lexicon.xml'"):
                phones.generate_seq(word)

    def test_garbage(self) -> None:
        """As long as wanted, of all phones, by the seed."""
        phones = generator(repetition=0.5)
        seqs = []
        for seed in (1, 1, 2):
            phones.random_seed(seed)
            seqs.append(phones.generate_garbage_seq(200))
        assert [len(seq) for seq in seqs] == [200] * 3 and seqs[0] == seqs[1] != seqs[2]
        assert {state.id for state in seqs[0]} == {"a", "b", "c", "si"}

    def test_errors(self) -> None:
        with pytest.raises(ConfigError, match="silence_lemma_orth 'sil' is not there"):
            generator(silence_lemma_orth="sil")
        with pytest.raises(ConfigError, match="phon_pick_strategy must be 'random' or 'first', but is 'last'"):
            generator(phon_pick_strategy="last")

    def test_in_a_dataset(self) -> None:
        """As many classes of garbage as of the text; a line with an unknown word is left out, if wanted."""
        Path("text.txt").write_text("foo bar\nfoo x\nbar\n")
        opts = {"class": "LmDataset", "corpus_file": "text.txt", "phone_info": {"lexicon_file": "lexicon.xml"}}
        dataset = init_dataset({**opts, "add_random_phone_seqs": 2, "error_on_invalid_seq": False})
        assert dataset.get_data_keys() == ["data", "random0", "random1"] and dataset.get_target_list() == ["data"]
        seqs = read_epoch(dataset, 1)
        assert tags(seqs) == ["line-0", "line-2"] and read_epoch(dataset, 1) == seqs
        for seq in seqs:
            assert len({len(values) for values in seq.data.values()}) == 1
        strict = init_dataset(opts)
        strict.init_seq_order(1)
        with pytest.raises(UserError, match=r"invalid seq 'line-1' \('text.txt', line 2\): word 'x' is not in the lex"):
            strict.load_seqs(0, 2)


def test_bpe_lexicon() -> None:
    """Each unit is a phoneme; of each word, all splits."""
    Path("bpe").write_text("<unk>\na\na@@\nb\nab\n")
    Path("words").write_text("ab\n<sb>\nA&c\n")
    opts = ["--bpe_vocab", "bpe", "--word_vocab", "words", "--output", "out.xml"]
    result = run_python(root / "tools" / "bpe-create-lexicon.py", *opts, "--unk", "<unk>", "--skip_special", cwd=Path())
    assert result.returncode == 0, result.stderr
    lexicon = Lexicon("out.xml")
    assert lexicon.phoneme_list == ["<unk>", "a", "a@@", "b", "ab"]
    assert {word: [phon["phon"] for phon in lemma["phons"]] for word, lemma in lexicon.lemmas.items()} == {
        "ab": ["a@@ b", "ab"],
        "A&c": ["<unk>"],
    }
    Path("words").write_text("AB\n")
    bpe_lexicon_main([*opts, "--lower_case"])
    assert [phon["phon"] for phon in Lexicon("out.xml").lemmas["AB"]["phons"]] == ["a@@ b", "ab"]
    with pytest.raises(SystemExit, match="Error: --unk 'x' is not in 'bpe'"):
        bpe_lexicon_main([*opts, "--unk", "x"])
