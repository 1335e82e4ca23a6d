"""Vocabularies. Much of them is in the data cases vocabularies and vocab_texts."""

from __future__ import annotations

import gzip
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.generating import Vocabulary as exported_vocabulary
from returnn.datasets.labels import serialize_labels
from returnn.datasets.util.vocabulary import (
    BytePairEncoding,
    CharacterTargets,
    LabelError,
    SamplingBytePairEncoding,
    SentencePieces,
    Utf8ByteTargets,
    Vocabulary,
)
from returnn.util.bpe import StandardBytePairEncoder
from returnn.util.bpe import main as bpe_main
from returnn.util.errors import ConfigError, UserError
from tests.program import run_python

SAMPLING_LABELS = "UNK,a,b,a@@,b@@,ab,ab@@,c".split(",")


def write(path: Path, content: str | bytes) -> str:
    """:return: the name of a file with that"""
    path.write_bytes(content.encode("utf8") if isinstance(content, str) else content)
    return str(path)


class TestFiles:
    """What a vocabulary file may be."""

    def test_a_label_a_line(self, tmp_path: Path) -> None:
        """Blanks belong to labels, and an empty line is one; a byte order mark and CR do not count."""
        vocab = Vocabulary(write(tmp_path / "a.txt", "\ufeff a \r\n\r\nb"), unknown_label=None)
        assert vocab.labels == [" a ", "", "b"] and vocab.num_labels == 3
        with gzip.open(tmp_path / "a.txt.gz", "wt") as f:
            f.write("x\ny\n")
        assert Vocabulary(str(tmp_path / "a.txt.gz"), unknown_label=None).labels == ["x", "y"]

    def test_dicts(self, tmp_path: Path) -> None:
        """Of two labels with the number 0, the lexically last is its name; both are known."""
        numbers = {"<S>": 0, "</S>": 0, "a": 1}
        text = write(tmp_path / "a.py", repr(numbers))
        pickled = write(tmp_path / "a.pkl", pickle.dumps(numbers))
        for filename in (text, pickled):
            vocab = Vocabulary(filename, unknown_label="a")
            assert vocab.labels == ["<S>", "a"]
            assert vocab.get_seq("</S> <S> a ?") == [0, 0, 1, 1]

    def test_read_again_when_it_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        assert Vocabulary(write(path, "a\nb\n"), unknown_label=None).labels == ["a", "b"]
        assert Vocabulary(write(path, "a\nb\nc\n"), unknown_label=None).labels == ["a", "b", "c"]

    @pytest.mark.parametrize(
        ["content", "message"],
        [
            ("", "vocabulary file '{}' is empty"),
            (b"a\nb\xff\n", "vocabulary file '{}', line 2: no UTF-8: invalid start byte"),
            (
                "{'a': 0, 'b': 2}",
                "vocabulary file '{}': not all indices used? The numbers must be 0, 1, .., 1; min label idx 0, max"
                " label idx 2, 1 unused, for example [1]",
            ),
            ("{'a': 0.5}", "vocabulary file '{}': expected text labels and int numbers, but there is 'a': 0.5"),
            ("{}", "vocabulary file '{}': there are no labels"),
        ],
    )
    def test_wrong_files(self, tmp_path: Path, content: Any, message: str) -> None:
        filename = write(tmp_path / "a.txt", content)
        with pytest.raises(ConfigError) as info:
            Vocabulary(filename, unknown_label=None)
        assert str(info.value) == message.format(filename)

    def test_missing_file(self, tmp_path: Path) -> None:
        write(tmp_path / "words.txt", "a\n")
        with pytest.raises(
            ConfigError, match=r"vocabulary file not found: .*word\.txt.* Did you mean \"words\.txt\"\?"
        ):
            Vocabulary(str(tmp_path / "word.txt"))


class TestLabels:
    """Special labels, numbers and texts."""

    def test_default_unknown_label_that_is_not_there(self, tmp_path: Path) -> None:
        filename = write(tmp_path / "a.txt", "a\n<UNK>\n")
        with pytest.raises(KeyError) as info:
            Vocabulary(filename)
        assert str(info.value) == (
            f"Vocabulary {filename!r}: unknown_label='UNK' (the default) is none of the 2 labels."
            ' Did you mean "<UNK>"? unknown_label=None: there is none.'
        )
        assert isinstance(info.value, UserError)

    def test_labels_as_text_and_number(self) -> None:
        vocab = Vocabulary(None, labels=lambda: ["a", "b", "c"], unknown_label=-1, bos_label=1, eos_label="c")
        assert (vocab.unknown_label_id, vocab.bos_label_id, vocab.eos_label_id, vocab.pad_label_id) == (
            None,
            1,
            2,
            None,
        )

    def test_seq_postfix_as_text_or_number(self) -> None:
        assert Vocabulary(None, labels=["a", "b"], unknown_label=None, seq_postfix=["b", 0]).get_seq("a") == [0, 1, 0]

    def test_unknown_word(self) -> None:
        vocab = Vocabulary(None, labels=["a"], unknown_label=None)
        with pytest.raises(LabelError, match=r"^Vocabulary: label 'x' is unknown, and there is no unknown_label$"):
            vocab.get_seq("a x")

    def test_to_id(self) -> None:
        vocab = Vocabulary(None, labels=["a", "b"], unknown_label=None)
        assert [vocab.to_id("b"), vocab.to_id(1), vocab.to_id(None, allow_none=True)] == [1, 1, None]
        assert [vocab.label_to_id("x", None), vocab.id_to_label(2, "?"), vocab.to_id(-1, allow_none=True)] == [
            None,
            "?",
            None,
        ]
        with pytest.raises(KeyError, match="idx 2 out of range, there are 2 labels"):
            vocab.to_id(2)
        with pytest.raises(TypeError, match="a label is a text or a number, got None"):
            vocab.to_id(None)

    def test_serialize_labels(self) -> None:
        vocab = Vocabulary(None, labels=["a", "b"], unknown_label=None)
        assert vocab.serialize_labels(numpy.array([0, 1])) == "a b"
        assert vocab.serialize_labels(numpy.array([[0, 1], [1, 1]])) == "[a,b],[b,b]"
        with pytest.raises(IndexError, match="label 7 does not exist, there are 2"):
            vocab.get_seq_labels([7])

    def test_special_symbols_via_file(self, tmp_path: Path) -> None:
        """What is given wins; dicts are merged."""
        filename = write(tmp_path / "s", "{'unknown_label': 'a', 'bos_label': 'b', 'control_symbols': {'x': 'c'}}")
        opts = {"labels": ["a", "b", "c"], "special_symbols_via_file": filename}
        vocab = Vocabulary(None, bos_label="c", control_symbols={"y": 0}, **opts)
        assert (vocab.unknown_label_id, vocab.bos_label_id, vocab.control_symbol_ids) == (0, 2, {"x": 2, "y": 0})
        assert Vocabulary(None, unknown_label=None, **opts).unknown_label_id is None
        wrong = write(tmp_path / "t", "{'bos_labels': 'b'}")
        with pytest.raises(ConfigError, match="unknown key 'bos_labels'. Did you mean \"bos_label\""):
            Vocabulary(None, labels=["a"], special_symbols_via_file=wrong)

    @pytest.mark.parametrize(
        ["opts", "message"],
        [
            ({"class": "Vocabular"}, "There is no vocabulary class 'Vocabular'. Did you mean \"Vocabulary\"?"),
            (
                {"vocab_file": None, "unknown_labels": None},
                'vocabulary class "Vocabulary" has no option "unknown_labels". Did you mean "unknown_label"?',
            ),
            ({"vocab_file": "x", "bpe_file": "nowhere", "labels": ["a"]}, "vocab_file and labels exclude each other"),
            ({"class": "BytePairEncoding", "vocab_file": "x"}, 'needs the option "bpe_file"'),
            ({"vocab_file": None}, "Vocabulary: needs vocab_file or labels"),
            ({"vocab_file": None, "labels": ["a"], "num_labels": 2}, "num_labels is 2, but there are 1 labels"),
        ],
    )
    def test_wrong_options(self, opts: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError) as info:
            Vocabulary.create_vocab(**opts)
        assert message in str(info.value)

    def test_from_labels(self) -> None:
        """Texts are the same as those of a dataset that knows only the labels."""
        for labels, cls in [
            (["a", "b"], CharacterTargets),
            (["a", "bc"], Vocabulary),
            ([chr(i) for i in range(256)], Utf8ByteTargets),
        ]:
            vocab = Vocabulary.create_vocab_from_labels(labels)
            assert type(vocab) is cls and vocab.unknown_label_id is None
            assert vocab.get_seq_labels([1, 0, 1]) == serialize_labels(labels, numpy.array([1, 0, 1]))
        with pytest.raises(ConfigError, match="provided multiple times, for example 'a'"):
            Vocabulary.create_vocab_dict_from_labels(["a", "b", "a"])

    def test_exported(self) -> None:
        """Most configs import it from there."""
        assert exported_vocabulary is Vocabulary

    def test_characters_and_bytes(self) -> None:
        assert CharacterTargets(None, labels=list("@ab "), seq_postfix=[3]).get_seq("abz a") == [1, 2, 0, 3, 1, 3]
        utf8 = Utf8ByteTargets(seq_postfix=[0])
        assert utf8.get_seq("wö") == [119, 195, 182, 0]
        assert utf8.get_seq_labels([195, 182, 98, 195]) == "öb\ufffd"


class TestBytePairEncoding:
    """Merges, and random splits."""

    @pytest.fixture
    def opts(self, tmp_path: Path) -> dict[str, Any]:
        """:return: of the vocabulary"""
        codes = write(tmp_path / "codes", "#version: 0.2\nt h\nth e</w>\nc a\nca t</w>\n")
        pieces = ["<unk>", "the", "cat", "ca@@", "t", "th@@"]
        return {"vocab_file": write(tmp_path / "v", "\n".join(pieces)), "bpe_file": codes, "unknown_label": "<unk>"}

    def test_words(self, opts: dict[str, Any]) -> None:
        """t h is merged in "ther", but e is not its end; e@@ and r are not there."""
        vocab = Vocabulary.create_vocab(**opts)
        assert isinstance(vocab, BytePairEncoding)
        assert vocab.get_seq("the cat the") == [1, 2, 1]
        assert vocab.get_seq("ther") == [5, 0, 0]

    def test_words_between_braces(self, opts: dict[str, Any]) -> None:
        bpe = Vocabulary.create_vocab(**opts).bpe  # type: ignore[attr-defined]
        assert bpe.segment_sentence("$cat { cathe } cathe") == ["$cat", "{", "cathe", "}", "ca@@", "the"]
        assert bpe.segment_sentence("{ cathe } $cat cathe") == ["{", "ca@@", "the", "}", "$cat", "ca@@", "the"]

    def test_version_1_has_no_empty_unit(self, tmp_path: Path) -> None:
        """The merge of t with the end of the word is undone when t is no label; that gives t, which is unknown."""
        codes = write(tmp_path / "codes", "a t\nt </w>\n")
        assert StandardBytePairEncoder(codes, ["x"]).segment_sentence("bt") == ["b@@", "t"]

    def test_wrong_codes(self, tmp_path: Path) -> None:
        with pytest.raises(NotImplementedError, match="version '0.3' is not supported"):
            StandardBytePairEncoder(write(tmp_path / "codes", "#version: 0.3\na b\n"))
        with pytest.raises(UserError, match=r"codes', line 3: expected two symbols, got 'c'$"):
            StandardBytePairEncoder(write(tmp_path / "codes", "#version: 0.2\na b\nc\n"))

    def test_copies_do_not_carry_the_cache(self, opts: dict[str, Any]) -> None:
        vocab = Vocabulary.create_vocab(**opts)
        vocab.get_seq("cathe")
        copy = pickle.loads(pickle.dumps(vocab))
        assert copy.bpe._cache == {} and copy.get_seq("cathe") == [3, 1]

    def test_unknown_pieces_of_a_large_vocabulary_are_found_fast(self, tmp_path: Path) -> None:
        """10 thousand new words with 100 thousand labels; looking through a list of them would take minutes."""
        codes = write(tmp_path / "codes", "#version: 0.2\na b\n")
        encoder = StandardBytePairEncoder(codes, [f"label{i}" for i in range(100_000)])
        start = time.process_time()
        encoder.segment_sentence(" ".join(f"ab{i}" for i in range(10_000)))
        assert time.process_time() - start < 5

    def test_sampling(self) -> None:
        """0: the longest labels; 1: the shortest; between: random, by the seed."""

        def seqs(prob: float, *words: str) -> list[list[int]]:
            vocab = SamplingBytePairEncoding(None, prob, labels=SAMPLING_LABELS)
            vocab.set_random_seed(1)
            return [vocab.get_seq(word) for word in words]

        assert seqs(0, "ab", "abc", "abab", "x") == [[5], [6, 7], [6, 5], [0]]
        assert seqs(1, "ab", "abc", "abab") == [[3, 2], [3, 4, 7], [3, 4, 3, 2]]
        assert seqs(0.5, "abc", "abab") == [[6, 7], [3, 4, 3, 2]]
        vocab = SamplingBytePairEncoding(None, 0.0, labels=SAMPLING_LABELS, unknown_label=None)
        with pytest.raises(UserError, match="no BPE-split for word 'x'"):
            vocab.get_seq("ab x")

    def test_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        vocab = write(tmp_path / "v", "\n".join(SAMPLING_LABELS))
        text = write(tmp_path / "text", "abab x\n")
        bpe_main(["--vocab", vocab, "--unk", "UNK", "--input", text])
        assert capsys.readouterr().out == "ab@@ ab UNK\n"
        bpe_main(["--vocab", vocab, "--input", write(tmp_path / "text", "ab\n"), "--all"])
        assert capsys.readouterr().out == "a@@ b\nab\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """:return: file of a SentencePiece model"""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("spm")
    text = write(folder / "text", "the cat sat on the mat\nthe dog sat on the cat\na bat and a rat\n" * 20)
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=str(folder / "m"), vocab_size=22, minloglevel=2, user_defined_symbols=["<X>"]
    )
    return str(folder / "m.model")


class TestSentencePieces:
    """A model that is trained here."""

    def test_same_as_the_library(self, model: str) -> None:
        import sentencepiece  # noqa: PLC0415  # optional

        vocab = Vocabulary.create_vocab(
            **{"class": "SentencePieces", "model_file": model, "add_eos": True, "user_defined_symbols": ["<X>"]}
        )
        processor = sentencepiece.SentencePieceProcessor(model_file=model, add_eos=True)
        assert vocab.get_seq("the rat") == processor.encode("the rat")
        assert vocab.get_seq("the rat")[-1] == vocab.eos_label_id == 2
        assert vocab.get_seq_labels(vocab.get_seq("the rat")) == "the rat"
        assert (vocab.unknown_label_id, vocab.bos_label_id, vocab.pad_label_id) == (0, 1, None)
        assert vocab.user_defined_symbol_ids == {"<X>": vocab.label_to_id("<X>")}
        assert vocab.num_labels == 22 and vocab.labels[0] == "<unk>"
        assert pickle.loads(pickle.dumps(vocab)).get_seq("the rat") == vocab.get_seq("the rat")

    def test_sampling_by_seed(self, model: str) -> None:
        vocab = SentencePieces(model_file=model, enable_sampling=True, alpha=0.1, nbest_size=-1)
        seqs = []
        for seed in (1, 1, 2):
            vocab.set_random_seed(seed)
            seqs.append([vocab.get_seq("the cat sat on the mat") for _ in range(5)])
        assert seqs[0] == seqs[1] != seqs[2]

    def test_errors(self, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(ConfigError, match="model_file not found: '.*m.mode'.* Did you mean \"m.model\""):
            SentencePieces(model_file=model[:-1])
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        with pytest.raises(
            ConfigError, match=r"needs the package 'sentencepiece': pip install sentencepiece, or returnn\[text\]"
        ):
            SentencePieces(model_file=model)


class _Tokenizer:
    """As far as it is used: a number a letter, and the end."""

    eos_token_id, bos_token_id, pad_token_id, unk_token_id = 3, 2, None, 0

    def get_vocab(self) -> dict[str, int]:
        return {"b": 1, "<unk>": 0, "<s>": 2, "</s>": 3}

    def __call__(self, text: str) -> dict[str, list[int]]:
        return {"input_ids": [self.get_vocab().get(letter, 0) for letter in text] + [3]}

    def decode(self, numbers: list[int]) -> str:
        return "".join(sorted(self.get_vocab(), key=self.get_vocab().__getitem__)[i] for i in numbers)


def test_hugging_face_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels by number, whatever the order in the tokenizer."""
    opts = {"class": "HuggingFaceTokenizer", "tokenizer": _Tokenizer(), "text_preprocessing": str.lower}
    vocab = Vocabulary.create_vocab(**opts, map_bos_to_eos=True)
    assert vocab.labels == ["<unk>", "b", "<s>", "</s>"]
    assert (vocab.get_seq("Bx"), vocab.get_seq_labels(numpy.array([1, 3]))) == ([1, 0, 3], "b</s>")
    assert (vocab.bos_label_id, vocab.eos_label_id, vocab.pad_label_id, vocab.unknown_label_id) == (3, 3, None, 0)
    with pytest.raises(ConfigError, match="give either huggingface_repo_dir or tokenizer"):
        Vocabulary.create_vocab(**{"class": "HuggingFaceTokenizer"})
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ConfigError, match="needs the package 'transformers': pip install transformers"):
        Vocabulary.create_vocab(**{"class": "HuggingFaceTokenizer", "huggingface_repo_dir": "x"})


def test_import_is_light(tmp_path: Path) -> None:
    """No library that only some vocabularies need."""
    code = (
        "import sys, returnn.datasets.util.vocabulary, returnn.datasets.lm;"
        "heavy = ['sentencepiece', 'transformers', 'inflect', 'unidecode', 'torch', 'tensorflow'];"
        "print([name for name in heavy if name in sys.modules])"
    )
    result = run_python("-c", code, cwd=tmp_path)
    assert result.stdout.strip() == "[]", result.stderr
