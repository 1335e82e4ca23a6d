"""LmDataset. Much of it is in the data cases lm_chars, lm_words, lm_orders, lm_phones."""

from __future__ import annotations

import copy
import gzip
import multiprocessing
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.lm import LmDataset
from returnn.datasets.lm.text_corpus import TextCorpus
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError, UserError
from tests.datasets.reading import read_epoch, tags

SYMBOLS = "<sb> 0\nthe 1\ncat 2\ndog 3\nsat 4\n<UNK> 5\n"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text(SYMBOLS)
    yield


@pytest.fixture
def _version_31() -> Iterator[None]:
    BehaviorVersion.set(31)
    yield
    BehaviorVersion._version = None  # as in a new process


def lm(text: str | bytes, **opts: Any) -> LmDataset:
    """:return: dataset of that text, by words if nothing else is said"""
    Path("text.txt").write_bytes(text.encode("utf8") if isinstance(text, str) else text)
    words = {"orth_symbols_map_file": "words.txt", "word_based": True, "seq_end_symbol": "<sb>"}
    more = {} if {"orth_vocab", "orth_symbols_file", "phone_info"} & opts.keys() else words
    dataset = init_dataset({"class": "LmDataset", "corpus_file": "text.txt", "name": "lm", **more, **opts})
    assert isinstance(dataset, LmDataset)
    return dataset


def data(dataset: Dataset, epoch: int = 1, key: str = "data", **kwargs: Any) -> list[list[int]]:
    """:return: of all sequences of an epoch"""
    return [seq.data[key] for seq in read_epoch(dataset, epoch, **kwargs)]


UNKNOWN = {"unknown_symbol": "<UNK>", "auto_replace_unknown_symbol": True}


class TestSymbols:
    """What a line becomes."""

    def test_words_with_delayed(self) -> None:
        """Each line and the end; delayed: the start, and all but the end."""
        dataset = lm(
            "the cat\n\nthe dog sat\nfoo\n",
            add_delayed_seq_data=True,
            delayed_seq_data_start_symbol="<sb>",
            **UNKNOWN,
        )
        assert data(dataset) == [[1, 2, 0], [1, 3, 4, 0], [5, 0]]
        assert data(dataset, key="delayed") == [[0, 1, 2], [0, 1, 3, 4], [0, 5]]
        assert tags(read_epoch(dataset, 1)) == ["line-0", "line-1", "line-2"]
        assert (dataset.get_data_keys(), dataset.get_target_list()) == (["delayed", "data"], ["data"])
        assert dataset.get_data_dtype("data") == "int8" and dataset.num_outputs == {"data": [6, 1], "delayed": [6, 1]}

    def test_characters(self) -> None:
        Path("chars.txt").write_text("\n".join(["[END]", *"Helo wrd_"]))
        assert data(lm("Hello world\n", orth_symbols_file="chars.txt")) == [[1, 2, 3, 3, 4, 5, 6, 4, 7, 3, 8, 0]]
        dataset = lm("Hello world\n", orth_symbols_file="chars.txt", word_end_symbol="_")
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 1)
        text = "".join(dataset.labels["data"][i] for i in dataset.get_data(0, "data"))
        assert text == "Hello_world_[END]"

    def test_vocabulary(self) -> None:
        """A text by it, without an end; a delayed one; text of numbers as the vocabulary says."""
        vocab = {"class": "CharacterTargets", "vocab_file": None, "labels": list("@ab"), "seq_postfix": [0]}
        dataset = lm("aba\n", orth_vocab=vocab, add_delayed_seq_data=True, delayed_seq_data_start_symbol="@")
        assert (data(dataset), data(dataset, key="delayed")) == ([[1, 2, 1, 0]], [[0, 1, 2, 1]])
        assert dataset.serialize_data("data", numpy.array([1, 2, 0])) == "ab@"

    @pytest.mark.parametrize(["size", "dtype"], [(128, "int8"), (129, "uint8"), (256, "uint8"), (257, "int32")])
    def test_dtype(self, size: int, dtype: str) -> None:
        Path("many.txt").write_text("".join(f"w{i} {i}\n" for i in range(size)))
        dataset = lm(f"w{size - 1}\n", orth_symbols_map_file="many.txt", seq_end_symbol=None)
        assert dataset.get_data_dtype("data") == dtype
        assert data(dataset) == [[size - 1]]

    def test_symbols_as_dict_and_function(self) -> None:
        dataset = lm("b a\n", orth_symbols_map_file=lambda: {"a": 0, "b": 1}, seq_end_symbol=None)
        assert data(dataset) == [[1, 0]]

    def test_delayed_is_as_long(self) -> None:
        """Also where all symbols are left out."""
        opts = {"unknown_symbol": None, "auto_replace_unknown_symbol": True, "seq_end_symbol": None}
        dataset = lm("x\nx cat\n", add_delayed_seq_data=True, delayed_seq_data_start_symbol="<sb>", **opts)
        assert (data(dataset), data(dataset, key="delayed")) == ([[], [2]], [[], [0]])

    def test_last_line_without_line_break(self) -> None:
        """It counts, packed or not."""
        with gzip.open("more.txt.gz", "wt") as f:
            f.write("dog\nsat")
        assert data(lm("the\ncat", corpus_file=["text.txt", "more.txt.gz"])) == [[1, 0], [2, 0], [3, 0], [4, 0]]

    def test_windows_line_breaks(self) -> None:
        assert data(lm("the cat\r\ndog\r\n")) == [[1, 2, 0], [3, 0]]

    def test_limit(self) -> None:
        assert len(data(lm("the\ncat\ndog\n", _debug_limit_line_count=2))) == 2


class TestOrder:
    """Of the sequences."""

    text = "the cat sat the cat\ndog\nthe dog\n"

    def test_again_and_again(self) -> None:
        dataset = lm(self.text, seq_ordering="random")
        first = read_epoch(dataset, 1)
        assert read_epoch(dataset, 1) == first != read_epoch(dataset, 2)
        dataset.finish_epoch(free_resources=True)
        assert read_epoch(dataset, 1) == first

    def test_lists(self) -> None:
        dataset = lm(self.text)
        assert tags(read_epoch(dataset, 1, seq_list=["line-2", "line-0"])) == ["line-2", "line-0"]
        assert tags(read_epoch(dataset, 1, seq_order=[1, 1])) == ["line-1", "line-1"]
        assert dataset.get_all_tags() == ["line-0", "line-1", "line-2"] and dataset.get_total_num_seqs() == 3
        assert dataset.get_corpus_seq(2).features["data"].tolist() == [1, 3, 0]

    def test_nothing_is_read_before_an_epoch(self) -> None:
        """A corpus that is not there is an error then."""
        dataset = lm(self.text, corpus_file="nowhere.txt")
        with pytest.raises(NotImplementedError):
            dataset.get_total_num_seqs(fast=True)
        with pytest.raises(ConfigError, match="text file not found: 'nowhere.txt'"):
            dataset.init_seq_order(1)

    def test_shards(self) -> None:
        """All shards together: each once."""
        found = [tag for i in range(2) for tag in tags(read_epoch(lm(self.text, _num_shards=2, _shard_index=i), 1))]
        assert sorted(found) == ["line-0", "line-1", "line-2"]

    def test_own_tags(self) -> None:
        Path("tags.txt").write_text("a\nb\nc\n")
        assert tags(read_epoch(lm(self.text, seq_list_file="tags.txt", seq_ordering="reverse"), 1)) == ["c", "b", "a"]
        Path("tags.txt").write_text("a\nb\n")
        with pytest.raises(ConfigError, match="seq_list_file 'tags.txt' has 2 tags, but there are 3 lines"):
            lm(self.text, seq_list_file="tags.txt").init_seq_order(1)

    def test_lengths_in_bytes(self) -> None:
        """Two long words have more bytes than three short ones."""
        dataset = lm("dog sat the\n" + "<UNK>" * 3 + " the\n", seq_ordering="sorted_reverse", **UNKNOWN)
        assert tags(read_epoch(dataset, 1)) == ["line-1", "line-0"]

    def test_lengths_in_words(self, _version_31: None) -> None:
        dataset = lm("dog sat the\n" + "<UNK>" * 3 + " the\n", seq_ordering="sorted_reverse", **UNKNOWN)
        assert tags(read_epoch(dataset, 1)) == ["line-0", "line-1"]
        dataset.init_seq_order(1)
        assert dataset.get_estimated_seq_length(0) == 3

    def test_lengths_in_characters(self, _version_31: None) -> None:
        """Four letters of two bytes each, and five letters."""
        vocab = {"class": "CharacterTargets", "vocab_file": None, "labels": list("@aä")}
        assert tags(read_epoch(lm("aaaaa\nääää\n", orth_vocab=vocab, seq_ordering="sorted"), 1)) == ["line-1", "line-0"]

    def test_random_splits_by_sequence(self, _version_31: None) -> None:
        """The same, in whatever order they are read, and others in another epoch."""
        vocab = {
            "class": "SamplingBytePairEncoding",
            "vocab_file": None,
            "labels": ["UNK", "a", "a@@", "aa", "aa@@", "aaa@@"],
            "breadth_prob": 0.5,
        }
        text = "aaaaaaaaaaaaaaa\n" * 5
        forward, backward = (lm(text, orth_vocab=vocab, seq_ordering=order) for order in ("default", "reverse"))
        assert data(forward) == data(backward)[::-1]
        assert data(forward) != data(forward, epoch=2)
        assert len({tuple(seq) for seq in data(forward)}) > 1


class TestInvalid:
    """Lines with symbols that are not there."""

    def test_error_names_tag_and_line(self) -> None:
        dataset = lm("the cat\n\nthe mat\n")
        dataset.init_seq_order(1)
        with pytest.raises(UserError) as info:
            dataset.load_seqs(0, 2)
        assert str(info.value) == (
            "LmDataset 'lm': invalid seq 'line-1' ('text.txt', line 3): missing orth symbol 'mat', of ['the', 'mat',"
            " '<sb>']. error_on_invalid_seq=False leaves out such sequences."
        )

    def test_error_of_vocabulary(self) -> None:
        dataset = lm("a\nb\n", orth_vocab={"vocab_file": None, "labels": ["a"], "unknown_label": None})
        dataset.init_seq_order(1)
        with pytest.raises(UserError, match=r"invalid seq 'line-1' \('text.txt', line 2\): Vocabulary: label 'b' is"):
            dataset.load_seqs(0, 2)

    @pytest.mark.parametrize("ask_first", [False, True])
    def test_left_out(self, ask_first: bool) -> None:
        """The number of sequences and the order are right, at the end, or as soon as somebody asks."""
        dataset = lm("mat\nthe\nmat\nmat\ncat\nmat\n", error_on_invalid_seq=False)
        for _ in range(2):
            dataset.init_seq_order(1)
            if ask_first:
                assert list(dataset.get_current_seq_order()) == [1, 4] and dataset.num_seqs == 2
            found = []
            while dataset.is_less_than_num_seqs(len(found)):
                dataset.load_seqs(len(found), len(found) + 1)
                found.append((dataset.get_tag(len(found)), dataset.get_corpus_seq_idx(len(found))))
            assert found == [("line-1", 1), ("line-4", 4)] and dataset.num_seqs == 2
            assert list(dataset.get_current_seq_order()) == [1, 4]

    def test_order_in_the_middle(self) -> None:
        """What was read before is not read again."""
        dataset = lm("the\nmat\ncat\ndog\n", error_on_invalid_seq=False)
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 2)
        assert list(dataset.get_current_seq_order()) == [0, 2, 3]
        dataset.load_seqs(1, 3)
        assert dataset.get_data(2, "data").tolist() == [3, 0] and not dataset.is_less_than_num_seqs(3)

    def test_messages_are_few(self) -> None:
        """As many as wanted; all the rest silently."""
        dataset = lm("a b c d e\n", log_auto_replace_unknown_symbols=2, **UNKNOWN)
        assert data(dataset) == [[5] * 5 + [0]]
        assert dataset._unknown_logged == {"a", "b"}

    def test_not_utf8(self) -> None:
        dataset = lm(b"the\n\nc\xe4t\n")
        dataset.init_seq_order(1)
        with pytest.raises(UserError, match=r"^LmDataset 'lm': 'text.txt', line 3: no UTF-8"):
            dataset.load_seqs(0, 2)

    @pytest.mark.parametrize(
        ["opts", "message"],
        [
            (
                {"orth_symbols_map_file": None},
                "need orth_vocab or orth_symbols_file or orth_symbols_map_file or phone_",
            ),
            ({"orth_vocab": {"vocab_file": "x"}, "orth_symbols_file": "x"}, "orth_vocab and orth_symbols_file exclude"),
            (UNKNOWN | {"unknown_symbol": "[U]"}, "unknown_symbol '[U]' is not among the 6 symbols"),
            ({"add_delayed_seq_data": True}, "delayed_seq_data_start_symbol '[START]' is not among the 6 symbols"),
            ({"orth_post_process": "lower"}, "there is no function 'lower'. Did you mean \"lowercase\"?"),
            ({"parse_orth_opts": {"strip": True}}, "parse_orth_opts: "),
            ({"add_random_phone_seqs": 1}, "add_random_phone_seqs needs phone_info"),
            ({"orth_symbols_map_file": "gap.txt"}, "not all indices used? The numbers must be 0, 1, .., 1"),
            ({"orth_symbols_map_file": "twice.txt"}, "line 2: symbol 'a' has two numbers, 0 and 1"),
            ({"orth_symbols_map_file": "labels.txt"}, "line 1: expected 'symbol number', got 'a'"),
            ({"orth_replace_map_file": "words.txt"}, "orth_replace_map_file 'words.txt': no JSON"),
        ],
    )
    def test_wrong_options(self, opts: dict[str, Any], message: str) -> None:
        Path("gap.txt").write_text("a 0\nb 2\n")
        Path("twice.txt").write_text("a 0\na 1\n")
        Path("labels.txt").write_text("a\nb\n")
        with pytest.raises(ConfigError) as info:
            lm("the\n", **opts)
        assert message in str(info.value)

    @pytest.mark.parametrize("content", ["", "\n\n"])
    def test_no_text(self, content: str) -> None:
        dataset = lm(content)
        with pytest.raises(ConfigError, match="LmDataset 'lm': there is no text in 'text.txt'"):
            dataset.init_seq_order(1)

    def test_damaged_files(self) -> None:
        Path("a.txt.gz").write_bytes(gzip.compress(b"the\n" * 1000)[:30])
        Path("b.txt.gz").write_bytes(b"the\n")
        Path("c.xml").write_text("<corpus><segment><orth>the</orth></segment>")
        for name, message in [("a.txt.gz", "damaged"), ("b.txt.gz", "not packed"), ("c.xml", "no Bliss XML")]:
            with pytest.raises(UserError, match=message):
                lm("the\n", corpus_file=name).init_seq_order(1)

    def test_file_that_becomes_shorter(self) -> None:
        dataset = lm("the cat\n" * 10)
        dataset.init_seq_order(1)
        Path("text.txt").write_text("the")
        with pytest.raises(UserError, match="'text.txt' became shorter while it was in use"):
            dataset.load_seqs(0, 5)


def _read_in_worker(pickled: bytes) -> list[list[int]]:
    return data(pickle.loads(pickled))


def test_copies() -> None:
    """A deep copy, and one in another process."""
    dataset = lm("the cat\ndog\n", seq_ordering="reverse", **UNKNOWN)
    expected = data(dataset)
    assert data(copy.deepcopy(dataset)) == expected == [[3, 0], [1, 2, 0]]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read_in_worker, [pickle.dumps(dataset)]) == expected


class TestTextCorpus:
    """Lines by number."""

    def test_counts(self) -> None:
        """As str.split and len say, with all kinds of white space."""
        lines = ["a  b", "", " a\tb\x1cc ", "ä\u00a0b c", "\u3000", "a\u2003b", "\u00e4\u2028x", "a\u200bb", "x" * 50]
        lines += ["\u00c2\u0085", "a\u0085b"]
        Path("a.txt").write_text("\n".join(lines), newline="")
        Path("b.txt").write_text("\n".join(lines[::-1]) + "\n", newline="")
        corpus = TextCorpus(["a.txt", "b.txt"], skip_empty_lines=False)
        texts = lines + lines[::-1]
        assert [corpus.text(i) for i in range(len(corpus))] == texts
        assert corpus.lens_in_words().tolist() == [len(text.split()) for text in texts]
        assert corpus.lens_in_characters().tolist() == [len(text) for text in texts]
        assert corpus.lens_in_bytes().tolist() == [len(text.encode()) for text in texts]

    def test_many_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Lines that cross the borders of what is read at once, for all sizes of it."""
        lines = ["", "a", "bc d", "", "e" * 30, "f g  h", ""]
        for end in ("", "\n"):
            Path("a.txt").write_text("\n".join(lines) + end)
            kept = [line for line in lines if line]
            for size in range(1, 50):
                monkeypatch.setattr("returnn.datasets.lm.text_corpus._CHUNK_BYTES", size)
                corpus = TextCorpus(["a.txt"], skip_empty_lines=True)
                assert [corpus.text(i) for i in range(len(corpus))] == kept
                assert corpus.lens_in_words().tolist() == [len(line.split()) for line in kept]
                assert corpus.place(2) == "'a.txt', line 5"

    def test_packed_in_parts(self) -> None:
        """Files that were packed one by one and then joined; the last part is shorter or longer than the first."""
        for parts in (["a\nb", "c\nddd\n"], ["a\n" * 1000, "b"], ["", "a\n"], [""]):
            Path("a.txt.gz").write_bytes(b"".join(gzip.compress(part.encode()) for part in parts))
            corpus = TextCorpus(["a.txt.gz"], skip_empty_lines=True)
            assert [corpus.text(i) for i in range(len(corpus))] == "".join(parts).splitlines()

    def test_memory(self) -> None:
        """Packed or not, well below twice the text; 8 bytes a line for the index of text on disk."""
        number = 100_000
        content = b"".join(b"line %i of a text of moderate length\n" % i for i in range(number))
        Path("a.txt").write_bytes(content)
        Path("b.txt.gz").write_bytes(gzip.compress(content, 1))
        for name, limit in (("a.txt", 8 * number + (1 << 17)), ("b.txt.gz", 1.5 * len(content))):
            tracemalloc.start()
            corpus = TextCorpus([name], skip_empty_lines=True)
            kept, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert len(corpus) == number and kept < limit
