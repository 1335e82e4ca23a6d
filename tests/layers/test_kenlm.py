"""Scores of a bigram model of six words, of which the arithmetic can be seen.

That of subword units is as a reference implementation with the same model has it.
"""

from __future__ import annotations

import gzip
import importlib.util
import math
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.layers.kenlm import Scorer
from returnn.util.errors import ConfigError
from returnn.util.label_file import load_labels
from tests.layers.recurrent.loops import BACKENDS, loop, run

ARPA = r"""
\data\
ngram 1=6
ngram 2=6

\1-grams:
-1.2	<unk>
-99	<s>	-0.3
-0.9	</s>
-0.5	ab	-0.2
-0.7	c	-0.4
-1.0	d	-0.1

\2-grams:
-0.3	<s> ab
-0.6	ab c
-0.4	c </s>
-0.25	ab ab
-0.35	c d
-0.8	d </s>

\end\
"""
LABELS = ["ab", "c", "d", "</s>", "a@@", "b", "zz"]
SEQS = ["ab c d </s>", "ab ab zz ab"]
SCORES = [[-0.3, -0.6, -0.35, -0.8], [-0.3, -0.25, -0.2 - 1.2, -0.5]]
"""logarithms to the base 10. An unknown word has no weight for those behind it"""


class _Model:
    """The same model, as far as the package is needed."""

    unigrams = {"</s>": (-0.9, 0.0), "ab": (-0.5, -0.2), "c": (-0.7, -0.4), "d": (-1.0, -0.1), "<s>": (-99, -0.3)}
    bigrams = {"<s> ab": -0.3, "ab c": -0.6, "c </s>": -0.4, "ab ab": -0.25, "c d": -0.35, "d </s>": -0.8}

    class State:
        word = ""

        def __hash__(self) -> int:
            return hash(self.word)

        def __eq__(self, other: Any) -> bool:
            return bool(self.word == other.word)

    def BeginSentenceWrite(self, state: State) -> None:
        state.word = "<s>"

    def BaseScore(self, state: State, word: str, behind: State) -> float:
        behind.word = word if word in self.unigrams else "<unk>"
        both = state.word + " " + word
        if both in self.bigrams:
            return self.bigrams[both]
        weight = self.unigrams.get(state.word, (0, 0.0))[1]
        return weight + self.unigrams.get(word, (-1.2, 0.0))[0]


@pytest.fixture(params=["package", "plain"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """:return: name of the file, for the package, or for one that is as much as this needs"""
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA.lstrip())
    if request.param == "package":
        pytest.importorskip("kenlm", reason="needs the package kenlm")
    else:
        plain = type(sys)("kenlm")
        plain.State, plain.Model = _Model.State, lambda _filename: _Model()  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "kenlm", plain)
    return str(path)


def layer(model: str, **opts: Any) -> dict[str, Any]:
    vocab = Path(model).parent / "vocab.txt"
    vocab.write_text("\n".join(LABELS) + "\n")
    return {"class": "kenlm", "from": "data", "lm_file": model, "vocab_file": str(vocab), **opts}


def compute(backend: str, network: dict[str, Any], seqs: list[str]) -> numpy.ndarray:
    """
    :return: logarithms to the base 10, batch-major
    """
    data = [[LABELS.index(word) for word in seq.split()] for seq in seqs]
    lens = [len(seq) for seq in data]
    padded = [seq + [-1] * (max(lens) - len(seq)) for seq in data]
    extern = {"data": {"dim": len(LABELS), "sparse": True}}
    out = run(backend, network, {"data": padded}, {"data": lens}, extern_data=extern)["out:output"]
    return out / math.log(10)


def where(kind: str, opts: dict[str, Any]) -> dict[str, Any]:
    """
    :param kind: "outside" of a loop, in a "loop", or "moved" out of one
    :param opts: of the layer
    """
    if kind == "outside":
        return {"output": opts}
    return {"output": loop({"output": {**opts, "from": "data:source"}}, optimize_move_layers_out=kind == "moved")}


PLACES = pytest.mark.parametrize("kind", ["outside", "loop", "moved"])
BOTH = pytest.mark.parametrize("backend", BACKENDS)


@BOTH
@PLACES
def test_words(model: str, backend: str, kind: str) -> None:
    """p(c | ab), and so on; p(zz | ab) is that of an unknown word behind ab."""
    out = compute(backend, where(kind, layer(model)), [*SEQS, "ab"])
    numpy.testing.assert_allclose(out[:2], SCORES, atol=1e-5)
    assert out[2, 0] == pytest.approx(-0.3, abs=1e-5)


@BOTH
@PLACES
def test_merged_labels(model: str, backend: str, kind: str) -> None:
    """ "a@@ b" is "ab"; "a" alone is unknown, -0.3 - 1.2, and what is added with "b" corrects that."""
    out = compute(backend, where(kind, layer(model, bpe_merge_symbol="@@")), ["a@@ b c </s>", "a@@ a@@ b c"])
    numpy.testing.assert_allclose(out, [[-1.5, 1.2, -0.6, -0.4], [-1.5, 0, 0, -0.7]], atol=1e-5)
    out = compute(
        backend, where(kind, layer(model, bpe_merge_symbol="@@")), ["ab c a@@ b", "ab a@@ a@@ b", "ab </s> ab ab"]
    )
    numpy.testing.assert_allclose(
        out, [[-0.3, -0.6, -1.6, 0.7], [-0.3, -1.4, 0, 0], [-0.3, -1.1, -0.5, -0.25]], atol=1e-5
    )


@BOTH
@PLACES
@pytest.mark.parametrize(
    ("offset", "scores"),
    [(1, [[0, -0.3 - 0.7, -0.35, -0.8], [0, -0.3, -1.4, -0.5]]), (2, [[0, 0, -1.3, -0.8], [0, 0, -1.5, -0.5]])],
)
def test_offset(model: str, backend: str, kind: str, offset: int, scores: list[list[float]]) -> None:
    """The first words are not there."""
    out = compute(backend, where(kind, layer(model, input_step_offset=offset)), SEQS)
    numpy.testing.assert_allclose(out, scores, atol=1e-5)


@BOTH
@PLACES
def test_dense(model: str, backend: str, kind: str) -> None:
    """All that might follow "ab", "ab c", and with subword units "a" of "a@@": what makes it known is worth 1.2."""
    out = compute(backend, where(kind, layer(model, dense_output=True)), ["ab c"])
    behind_ab = [-0.25, -0.6, -1.2, -1.1, -1.4, -1.4, -1.4]
    behind_c = [-0.9, -1.1, -0.35, -0.4, -1.6, -1.6, -1.6]
    numpy.testing.assert_allclose(out, [[behind_ab, behind_c]], atol=1e-5)
    opts = {"dense_output": True, "bpe_merge_symbol": "@@"}
    out = compute(backend, where(kind, layer(model, **opts)), ["a@@"])
    numpy.testing.assert_allclose(out, [[[0, 0, 0, 0, 0, 1.2, 0]]], atol=1e-5)
    out = compute(backend, where(kind, layer(model, input_step_offset=1, **opts)), ["ab"])
    numpy.testing.assert_allclose(out, [[[-0.3, -1.0, -1.3, -1.2, -1.5, -1.5, -1.5]]], atol=1e-5)


@BOTH
def test_in_a_search(model: str, backend: str) -> None:
    """Two hypotheses a frame, chosen by the model alone: ab ab, ab c after two frames; -0.3 -0.25, -0.3 -0.6."""
    unit = {
        "lm": layer(model, **{"from": "prev:output", "dense_output": True, "input_step_offset": 1}),
        "output": {
            **{"class": "choice", "from": "lm", "target": None, "search": True, "beam_size": 2, "initial_output": 0},
            **{"input_type": "log_prob", "length_normalization": False},
        },
        "scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
    }
    network = {"loop": loop(unit), "output": {"class": "split_batch_beam", "from": "loop/scores"}}
    out = compute(backend, network, ["ab ab"])
    numpy.testing.assert_allclose(out[0, :, 1], [-0.55, -0.9], atol=1e-5)


@BOTH
def test_one_layer_many_steps(model: str, backend: str) -> None:
    """The tree of what was asked for starts anew with the sequences."""
    scorer = Scorer(_model_of(model), labels=LABELS)
    for _ in range(3):
        nodes, scores = scorer.one_frame(numpy.array([0, 1]), numpy.array([0, 0]), 0)
        nodes, _ = scorer.one_frame(numpy.array([1, 1]), nodes, 1)
        assert len(scorer._nodes) == 5
        numpy.testing.assert_allclose(scores / math.log(10), [-0.3, -1.0], atol=1e-5)


def _model_of(model: str) -> Any:
    return sys.modules["kenlm"].Model(model)


def test_texts(tmp_path: Path) -> None:
    """One per line, or with numbers; of several with the same number the last one."""
    by_text = {"b": 1, "a": 0, "c": 1}
    (tmp_path / "lines.txt").write_text("a b\n\nc\n")
    (tmp_path / "dict.txt").write_text(repr(by_text))
    (tmp_path / "dict.pkl").write_bytes(pickle.dumps(by_text))
    with gzip.open(tmp_path / "lines.gz", "wt") as f:
        f.write("a\nc")
    names = ("lines.txt", "dict.txt", "dict.pkl", "lines.gz")
    read = {name: load_labels(str(tmp_path / name)).labels for name in names}
    assert read == {name: ["a", "c"] for name in read} | {"lines.txt": ["a b", "", "c"]}
    (tmp_path / "gap.txt").write_text("{'a': 0, 'b': 2}")
    with pytest.raises(ConfigError, match=r"The numbers must be 0, 1, \.\., 1; .* 1 unused, for example \[1\]"):
        load_labels(str(tmp_path / "gap.txt"))


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and the package that are missing."""
    path = tmp_path / "lm.arpa"
    path.write_text(ARPA.lstrip())
    opts = layer(str(path))

    def error(**other: Any) -> str:
        with pytest.raises(ConfigError) as info:
            compute("torch", {"output": {**opts, **other}}, SEQS)
        return str(info.value)

    assert 'option "lm_file" is missing' in error(lm_file=None)
    assert "lm_file 'nowhere' does not exist" in error(lm_file="nowhere")
    if importlib.util.find_spec("kenlm") is None:
        assert "the package kenlm is missing: pip install 'returnn[kenlm]'" in error()
        return
    assert "vocabulary file not found: 'nowhere'" in error(lm_file=str(path), vocab_file="nowhere")
    assert "vocab_file is missing: the source [B,T" in error(vocab_file=None)
    short = tmp_path / "short.txt"
    short.write_text("ab\n")
    assert "vocab_file has 1 labels, but the source" in error(vocab_file=str(short))
    monkeypatch.setitem(sys.modules, "kenlm", None)
    other = tmp_path / "other.arpa"
    other.write_text(ARPA)
    assert "the package kenlm is missing: pip install 'returnn[kenlm]'" in error(lm_file=str(other))
