"""Commands around datasets, as a user calls them."""

from __future__ import annotations

import ast
import gzip
import re
from pathlib import Path

import h5py
import numpy
import pytest

from returnn.datasets.basic import init_dataset
from tests.program import root, run_python

TASK_12AX = """
train = {"class": "Task12AXDataset", "num_seqs": 3}
dev = {"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 4}
eval_datasets = {"more": {"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 2}}
batch_size = 100
max_seqs = 2
max_seq_length = 80
"""

DUMMY = "DummyDataset:input_dim=2,output_dim=3,num_seqs=3"


def run_tool(name: str, *args: str | Path, cwd: Path) -> str:
    """:return: stdout; it ended well"""
    result = run_python(root / "tools" / name, *args, cwd=cwd)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def fail_tool(name: str, *args: str | Path, cwd: Path) -> str:
    """:return: stderr; exit code 1, no traceback"""
    result = run_python(root / "tools" / name, *args, cwd=cwd)
    assert result.returncode == 1 and "Traceback" not in result.stdout + result.stderr
    return result.stderr


@pytest.fixture(autouse=True)
def config(tmp_path: Path) -> None:
    """A file of that name."""
    (tmp_path / "a.config").write_text(TASK_12AX)


class TestDumpDataset:
    """dump-dataset.py"""

    def test_output(self, tmp_path: Path) -> None:
        """Sequences of 84, 15 and 65 frames."""
        out = run_tool("dump-dataset.py", "a.config", cwd=tmp_path)
        lines = out.splitlines()
        assert lines[:5] == [
            "Returnn dump-dataset starting up.",
            "Dataset:",
            "  input: 9 x 1",
            "  output: {'classes': (2, 1), 'data': (9, 2)}",
            "  Task12AXDataset, sequences: 3, frames: unknown",
        ]
        for line in ("Epoch: 1", "seq 0/3 (33.33%) (0:00:00) tag: seq-0", "seq 2/3 (100.00%) (0:00:00) tag: seq-2"):
            assert line in lines
        # seq 1 is AXX3Y1BYXBYYX1B, L for each; the alphabet is 123ABCXYZ, so A is the fourth
        assert "seq 1/3 (66.67%) (0:00:00) data: [[0. 0. 0. 1. 0. 0. 0. 0. 0.]" in lines
        assert "seq 1 target 'classes': [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0]" in lines
        assert re.search(r"^Done\. Total time 0:00:00\.\d+\. More seqs which we did not dumped: False$", out, re.M)
        start = lines.index("Seq-length 'data' Stats:")
        assert lines[start + 1] == "  3 seqs" and lines[start + 4] == "  Min/max: 15 / 84"
        assert lines[start + 2].startswith("  Mean: 54.666")  # 164 / 3

    def test_which_sequences(self, tmp_path: Path) -> None:
        """--endseq is inclusive, 10 by default; tags; limits of the length, also that of the config: 84 is above 80."""

        def dumped(*args: str) -> list[str]:
            out = run_tool("dump-dataset.py", *args, "--type", "print_tag", cwd=tmp_path)
            return re.findall(r"tag: seq-(\d+)$", out, re.M)

        many = "Task12AXDataset:num_seqs=20"
        assert dumped(many) == [str(i) for i in range(11)]
        assert dumped(many, "--startseq", "3", "--endseq", "4") == ["3", "4"]
        assert len(dumped(many, "--endseq", "-1")) == 20
        assert dumped(many, "--seqtags", "seq-15,seq-2") == ["15", "2"]
        assert dumped("a.config", "--max_seq_length", "config") == ["1", "2"]
        assert dumped("a.config", "--max_seq_length", "{'classes': 70}", "--min_seq_length", "16") == ["2"]
        out = run_tool("dump-dataset.py", many, "--endseq", "5", "--type", "null", cwd=tmp_path)
        assert "More seqs which we did not dumped: True" in out and "  6 seqs" in out

    def test_datasets(self, tmp_path: Path) -> None:
        """Of a config, by name; options; a file."""
        for args, num in [
            (("a.config", "--dataset", "dev"), 4),
            (("a.config", "--dataset", "more"), 2),
            (('{"class": "Task12AXDataset", "num_seqs": 7}',), 7),
        ]:
            assert f"Num seqs: {num}\n" in run_tool("dump-dataset.py", *args, "--get_num_seqs", cwd=tmp_path)

    def test_stats(self, tmp_path: Path) -> None:
        """Data -.5 -.4 -.3 -.2 | -.4 ... -.1 | -.3 ... 0: means -.3 and -.2, deviation sqrt(1/60)."""
        out = run_tool("dump-dataset.py", DUMMY, "--type", "null", "--dump_stats", "st", cwd=tmp_path)
        assert "  Min/max: 2 / 2" in out
        numpy.testing.assert_allclose(numpy.loadtxt(tmp_path / "st.mean.txt"), [-0.3, -0.2], atol=1e-6)
        numpy.testing.assert_allclose(numpy.loadtxt(tmp_path / "st.std_dev.txt"), [0.12909944] * 2, atol=1e-6)
        numpy.testing.assert_allclose(numpy.loadtxt(tmp_path / "st.min.txt"), [-0.5, -0.4], atol=1e-6)
        numpy.testing.assert_allclose(numpy.loadtxt(tmp_path / "st.max.txt"), [-0.1, 0.0], atol=1e-6)
        assert ast.literal_eval((tmp_path / "st.info.txt").read_text()) == {"num_seqs": 3, "total_data_len": 6}
        assert "3 seqs, 6 frames" in run_tool("dump-dataset.py", DUMMY, "--stats", cwd=tmp_path)

    def test_files(self, tmp_path: Path) -> None:
        """Tags; lengths; arrays."""
        opts = ("--dump_prefix", "out.")
        run_tool("dump-dataset.py", "a.config", "--type", "dump_tag", *opts, cwd=tmp_path)
        assert (tmp_path / "out.seq-tags.txt").read_text() == "seq-0\nseq-1\nseq-2\n"
        run_tool("dump-dataset.py", "a.config", "--type", "dump_seq_len", *opts, cwd=tmp_path)
        lens = ast.literal_eval((tmp_path / "out.seq-lens.txt").read_text())
        assert lens == {"seq-0": 84, "seq-1": 15, "seq-2": 65}
        run_tool("dump-dataset.py", DUMMY, "--type", "numpy", *opts, cwd=tmp_path)
        numpy.testing.assert_allclose(numpy.loadtxt(tmp_path / "out.1.data.txt.gz"), [[-0.4, -0.3], [-0.2, -0.1]])
        assert numpy.loadtxt(tmp_path / "out.1.targets.classes.txt.gz").tolist() == [2, 0]

    def test_shown_values(self, tmp_path: Path) -> None:
        """In part; as bytes; labels as text; shapes."""
        out = run_tool("dump-dataset.py", DUMMY, "--type", "print_shape", cwd=tmp_path)
        assert "seq 0 data shape: (2, 2)" in out and "seq 0 target 'classes' shape: (2,)" in out
        code = "{'class': 'StaticDataset', 'data': [{'data': [104, 105] * 10}], 'output_dim': {'data': (128, 1)}}"
        assert " data: [104 105 104 ... 105 104 105]" in run_tool(
            "dump-dataset.py", code, "--stdout_limit", "5", cwd=tmp_path
        )
        assert f" data: {b'hi' * 10!r}" in run_tool("dump-dataset.py", code, "--stdout_as_bytes", cwd=tmp_path)

    def test_mistakes(self, tmp_path: Path) -> None:
        """What, where, how to mend."""
        error = fail_tool("dump-dataset.py", "a.confg", cwd=tmp_path)
        assert error.startswith("Error: config file not found: 'a.confg'") and '"a.config"' in error
        error = fail_tool("dump-dataset.py", "a.config", "--dataset", "tain", cwd=tmp_path)
        assert error == "Error: the config has no dataset 'tain'. There are: train, dev, more.\n"
        error = fail_tool("dump-dataset.py", "a.config", "--key", "dta", cwd=tmp_path)
        assert error == "Error: Task12AXDataset 'train' has no data key 'dta'. There are: classes, data\n"
        error = fail_tool("dump-dataset.py", DUMMY, "--dataset", "dev", cwd=tmp_path)
        assert "--dataset 'dev' is for a config file" in error
        assert "must be a number" in fail_tool("dump-dataset.py", DUMMY, "--max_seq_length", "x", cwd=tmp_path)


def test_hdf_dump(tmp_path: Path) -> None:
    """The train of a config; --end_seq is inclusive."""
    out = run_tool("hdf_dump.py", "a.config", "a.hdf", "--start_seq", "1", "--end_seq", "2", cwd=tmp_path)
    for line in ("Creating HDF dataset file a.hdf", "Total len of 'data' is 80", "All done."):
        assert line in out
    with h5py.File(tmp_path / "a.hdf") as file:
        assert file["seqLengths"][:].tolist() == [[15, 15], [65, 65]] and file["inputs"].shape == (80, 9)
    assert "exists already" in fail_tool("hdf_dump.py", "a.config", "a.hdf", cwd=tmp_path)
    run_tool("hdf_dump.py", DUMMY, "b.hdf", cwd=tmp_path)
    dataset = init_dataset({"class": "HDFDataset", "files": [str(tmp_path / "b.hdf")]})
    assert dataset.get_all_tags() == ["seq-0", "seq-1", "seq-2"]


def test_hdf_dump_of_nothing(tmp_path: Path) -> None:
    """Leaves no file."""
    assert "there is no sequence to dump" in fail_tool("hdf_dump.py", DUMMY, "a.hdf", "--start_seq", "9", cwd=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.config"]


def test_analyze_batches(tmp_path: Path) -> None:
    """84 is above max_seq_length; 15 and 65 frames do not fit into 2 * 65 > 100. The others: 4 times 2 frames."""
    out = run_tool("analyze-dataset-batches.py", "a.config", cwd=tmp_path)
    for line in ("Num batches: 2", "Num seqs: 2", "Fraction used frames 'data': 1.0000 (80 of 80)"):
        assert line in out.splitlines()
    assert "Sequences: 2 taken, 1 longer than max_seq_length" in out.splitlines()
    assert "Frames: 80 of 'data' taken, 84 in those longer than max_seq_length" in out.splitlines()
    (tmp_path / "b.config").write_text(TASK_12AX.replace("batch_size = 100", "batch_size = 130"))
    out = run_tool("analyze-dataset-batches.py", "b.config", "--verbosity", "2", cwd=tmp_path)
    assert "Fraction used frames 'data': 0.6154 (80 of 130)" in out.splitlines()  # 15 + 65 of 2 * 65
    out = run_tool("analyze-dataset-batches.py", "a.config", "--dataset", "dev", "--endseq", "1", cwd=tmp_path)
    assert "Num batches: 1" in out and "batch 0, 2 seqs, 'data' lengths: [2, 2]" in out
    assert "neither batch_size nor max_seqs" in fail_tool("analyze-dataset-batches.py", DUMMY, cwd=tmp_path)


TEXTS = (
    "{'class': 'TextDictDataset', 'filename': 'd.py', 'item_format': 'single', 'vocab': {'class': 'Utf8ByteTargets'}}"
)


@pytest.fixture
def texts(tmp_path: Path) -> None:
    """A dataset with text, and the same as a text file, and as a corpus."""
    (tmp_path / "d.py").write_text(repr({"t-0": "the cat", "t-1": "a dög"}))
    (tmp_path / "t.txt").write_text("the cat\na dög\n")
    (tmp_path / "c.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<corpus name="c">'
        '<recording name="r"><segment name="s" start="0" end="1.5"><orth> the\n cat </orth></segment>'
        '<segment start="1.5" end="2.25"><orth>a dög</orth></segment></recording>'
        '<recording name="q"><segment name="x" start="0.5" end="3"><orth>the end</orth></segment></recording></corpus>'
    )


@pytest.mark.usefixtures("texts")
class TestTexts:
    """Commands that collect texts."""

    def test_raw_strings(self, tmp_path: Path) -> None:
        """A dict; also packed; a part."""
        code = "{'class': 'StaticDataset', 'data': [{'raw': ['the cat']}, {'raw': ['a dög']}], 'input_dim': 1}"
        run_tool("dump-dataset-raw-strings.py", "--dataset", code, "--out", "o.gz", cwd=tmp_path)
        assert ast.literal_eval(gzip.open(tmp_path / "o.gz", "rt").read()) == {"seq-0": "the cat", "seq-1": "a dög"}
        opts = ("--key", "data", "--startseq", "1", "--out", "o")
        run_tool("dump-dataset-raw-strings.py", "--dataset", TEXTS, *opts, cwd=tmp_path)
        assert list(ast.literal_eval((tmp_path / "o").read_text())) == ["t-1"]
        (tmp_path / "b.config").write_text(f"dev = {code}\n")
        opts = ("--config", "b.config", "--dataset", "dev", "--endseq", "0", "--out", "p")
        run_tool("dump-dataset-raw-strings.py", *opts, cwd=tmp_path)
        assert ast.literal_eval((tmp_path / "p").read_text()) == {"seq-0": "the cat"}
        error = fail_tool("dump-dataset-raw-strings.py", "--dataset", DUMMY, "--out", "o2", cwd=tmp_path)
        assert "has no data key 'raw'" in error and not (tmp_path / "o2").exists()

    @pytest.mark.parametrize("source", ["t.txt", "c.xml"])
    def test_symbols(self, source: str, tmp_path: Path) -> None:
        """Sorted characters, with and without others."""
        expected = {*"the cat", *"a dög"} | ({*"the end"} if source == "c.xml" else set())
        out = run_tool("collect-orth-symbols.py", source, cwd=tmp_path)
        assert out.splitlines() == sorted(expected)
        opts = ("--add_numbers", "--remove_symbols", " ö", "--max_seq_orth_length", "5", "--output", "o")
        run_tool("collect-orth-symbols.py", source, *opts, cwd=tmp_path)
        assert (tmp_path / "o").read_text().splitlines() == sorted("0123456789adg")

    def test_words(self, tmp_path: Path) -> None:
        """Sorted; those that a lexicon does not have."""
        assert run_tool("collect-words.py", "t.txt", cwd=tmp_path).split() == ["a", "cat", "dög", "the"]
        (tmp_path / "lexicon.xml").write_text(
            "<lexicon><lemma><orth>cat</orth></lemma><lemma><orth>a</orth></lemma></lexicon>"
        )
        out = run_tool("collect-words.py", "c.xml", "--lexicon", "lexicon.xml", cwd=tmp_path)
        assert out.split() == ["dög", "end", "the"]

    def test_bliss(self, tmp_path: Path) -> None:
        """Lengths 1.5, 0.75 and 2.5 seconds; a segment without a name has its number."""
        out = run_tool("bliss-collect-seq-lens.py", "c.xml", cwd=tmp_path)
        assert ast.literal_eval(out) == {"c/r/s": 150, "c/r/2": 75, "c/q/x": 250}
        assert run_tool("bliss-dump-text.py", "c.xml", cwd=tmp_path) == "the cat\na dög\nthe end\n"
        assert run_tool("bliss-get-segment-names.py", "c.xml", cwd=tmp_path) == "c/r/s\nc/r/2\nc/q/x\n"
        out = run_tool("bliss-get-segment-names.py", "c.xml", "--merge_segs_up_to_time", "2.25", cwd=tmp_path)
        assert out == "c/r/s;c/r/2\nc/q/x\n"
        (tmp_path / "some").write_text("c/q/x\n")
        (tmp_path / "c.xml.gz").write_bytes(gzip.compress((tmp_path / "c.xml").read_bytes()))
        opts = ("c.xml.gz", "--subset_segment_file", "some", "--output", "names")
        run_tool("bliss-get-segment-names.py", *opts, cwd=tmp_path)
        assert (tmp_path / "names").read_text() == "c/q/x\n"
        assert "'t.txt': no Bliss XML" in fail_tool("bliss-dump-text.py", "t.txt", cwd=tmp_path)
        assert "Bliss corpus not found: 'd.xml'" in fail_tool("bliss-dump-text.py", "d.xml", cwd=tmp_path)


def test_file_cache(tmp_path: Path) -> None:
    """What is there; old files go."""
    assert "It does not exist yet." in run_tool("file-cache.py", "info", "--cache-dir", "cache", cwd=tmp_path)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/a.hdf").write_bytes(b"x" * 500)
    assert "Files: 1, 500" in run_tool("file-cache.py", "info", "--cache-dir", "cache", cwd=tmp_path)
    opts = ("--cache-dir", "cache", "--always-older-than-days", "0")
    assert "Files: 0, " in run_tool("file-cache.py", "cleanup", *opts, cwd=tmp_path)
    assert not (tmp_path / "cache/a.hdf").exists()


def test_they_start_fast_and_light(tmp_path: Path) -> None:
    """No tensorflow, no torch."""
    code = (
        "import sys; from returnn.tools import analyze_dataset_batches, bliss, dump_dataset, file_cache, hdf_dump;"
        "from returnn.tools import orths;"
        "assert not {'tensorflow', 'torch', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    assert run_python("-c", code, cwd=tmp_path).returncode == 0
