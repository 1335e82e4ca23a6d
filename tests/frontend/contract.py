"""One contract for all operations on all backends.

Law: the result of a batch is that of its sequences one by one, whatever stands behind their ends, in whatever order the
axes are; and the dims and the dtype are those that the template backend says. A reference sees one sequence without
padding, in float64. Gradients are those of the reference.

A test module states its cases, and gets one class of tests for all of them::

    TestContract = contract_tests([Case("cumsum", [X], lambda x: rf.cumsum(x, axis=TIME), lambda x: x.cumsum(0))])
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import pytest

from returnn.tensor import Dim, FeatureDim, Tensor, batch_dim
from tests.common import BACKENDS, Feed, run_rf, visible

TIME = Dim(None, name="time", size_dims=(batch_dim,))
"""its lengths are LENS"""
LABEL_TIME = Dim(None, name="label-time", size_dims=(batch_dim,))
"""(n + 1) % 3 where TIME has n"""
FEATURE = FeatureDim("feature", 4)
OUT = FeatureDim("out", 3)
BIG = FeatureDim("big", 6)

X = Tensor("x", [batch_dim, TIME, FEATURE], "float32", feature_dim=FEATURE, time_dim_axis=1)
XB = Tensor("xb", [batch_dim, TIME, BIG], "float32", feature_dim=BIG, time_dim_axis=1)
LABELS = Tensor("labels", [batch_dim, TIME], "int32", sparse_dim=FEATURE, time_dim_axis=1)
OTHER_LABELS = Tensor("other_labels", [batch_dim, LABEL_TIME], "int32", sparse_dim=OUT, time_dim_axis=1)
FLAG = Tensor("flag", [batch_dim, TIME], "bool", time_dim_axis=1)
PER_SEQ = Tensor("per_seq", [batch_dim, FEATURE], "float32", feature_dim=FEATURE)
VECTOR = Tensor("vector", [FEATURE], "float32", feature_dim=FEATURE)
W = Tensor("w", [FEATURE, OUT], "float32", feature_dim=OUT)

LENS = [[3, 1, 2], [1], [4, 0], []]


@dataclasses.dataclass
class Case:
    """One operation."""

    name: str
    inputs: list[Tensor]
    """templates with different names, such as those above; the batch dim, if any, comes first"""
    function: Callable[..., Tensor]
    """gets the inputs, as Tensors of some backend"""
    reference: Callable[..., Any]
    """of one sequence: gets its part of each input, float64, without padding; gives the axes but the batch in the
    order of the function's result"""
    gradient: bool = False
    """smooth: also compare the gradient with differences of the reference"""
    finite_padding: bool = False
    """what stands behind the end may be large, but must be finite"""
    min_len: int = 0
    """the reference needs that many frames"""
    needs_a_sequence: bool = False
    """TensorFlow's op for it stops with a clear error where there is none"""
    as_it_is: tuple[str, ...] = ()
    """inputs whose axes have a fixed order, such as kernels in the layout of checkpoints"""
    lens: Mapping[Dim, Callable[[int], int]] = dataclasses.field(default_factory=dict)
    """of dynamic dims besides TIME and LABEL_TIME: length of TIME -> its length"""
    tolerance: float = 1e-5


def contract_tests(cases: Sequence[Case]) -> type:
    """
    :param cases: with different names
    :return: class of tests; the module that calls this gives it a name that starts with "Test"
    """
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "a name twice: %s" % names

    def each(cases: Sequence[Case], *, backends: Sequence[str] = ()) -> Any:
        by_case = pytest.mark.parametrize("case", cases, ids=lambda case: case.name)
        by_backend = pytest.mark.parametrize("backend", backends) if backends else lambda test: test
        return lambda test: by_backend(by_case(test)) if cases else None  # no test, rather than one that is skipped

    class TestContract:
        """See the law above."""

        @each(cases, backends=BACKENDS)
        def test_batch_is_its_sequences_one_by_one(self, case: Case, backend: str) -> None:
            """Batch-major, with 0, 1e30 and nan behind the ends, also with sequences of length 0."""
            check_batch_is_its_sequences_one_by_one(case, backend)

        @each(cases, backends=BACKENDS)
        def test_order_of_axes_does_not_matter(self, case: Case, backend: str) -> None:
            """All inputs with their axes reversed give the same values."""
            check_order_of_axes_does_not_matter(case, backend)

        @each([case for case in cases if not case.needs_a_sequence], backends=BACKENDS[1:])
        def test_backends_agree_without_any_sequence(self, case: Case, backend: str) -> None:
            """A batch of no sequences gives arrays of size 0, of equal shape and dtype."""
            check_backends_agree_without_any_sequence(case, backend)

        @each([case for case in cases if case.gradient], backends=BACKENDS[1:])
        def test_gradient_equals_differences_of_the_reference(self, case: Case, backend: str) -> None:
            """d sum(y) / d x by central differences on the single sequences; it is 0 behind the ends."""
            check_gradient_equals_differences_of_the_reference(case, backend)

        @each([case for case in cases if any(x.dtype == "float32" for x in case.inputs)])
        def test_gradients_of_tf_and_torch_agree(self, case: Case) -> None:
            """d sum(y) / d x, also where y is not smooth."""
            check_gradients_of_tf_and_torch_agree(case)

    return TestContract


def make_feed(case: Case, lens: list[int], behind_end: float) -> tuple[Feed, list[list[numpy.ndarray]]]:
    """
    :return: feed; and for each sequence its part of each input
    """
    rnd = numpy.random.RandomState(len(lens) + 7 * len(case.name))
    all_lens = {TIME: lens, LABEL_TIME: [(n + 1) % 3 for n in lens]}
    all_lens.update({dim: [length(n) for n in lens] for dim, length in case.lens.items()})
    feed: dict[Any, Any] = {dim: numpy.array(n, "int32") for dim, n in all_lens.items()}
    parts: list[list[numpy.ndarray]] = [[] for _ in lens]
    for x in case.inputs:
        value = _random_value(x, rnd, all_lens, num_seqs=len(lens))
        for i in range(len(lens)):
            row = value[i, ...] if batch_dim in x.dims else value
            dims = [dim for dim in x.dims if dim != batch_dim]
            inside = tuple(slice(all_lens[dim][i] if dim.is_dynamic else None) for dim in dims)
            part = row[inside].copy()
            parts[i].append(part.astype("float64") if x.dtype == "float32" else part)
            if x.dtype == "float32" and batch_dim in x.dims:
                row[...] = behind_end
                row[inside] = part
        feed[x.name] = value
    return feed, parts


def _random_value(
    x: Tensor, rnd: numpy.random.RandomState, lens: Mapping[Dim, list[int]], *, num_seqs: int
) -> numpy.ndarray:
    shape = [num_seqs if d == batch_dim else max(lens[d], default=0) if d.is_dynamic else d.dimension for d in x.dims]
    value: Any
    if x.dtype == "int32":
        value = rnd.randint(0, x.sparse_dim.dimension if x.sparse_dim else 4, shape)
    elif x.dtype == "bool":
        value = rnd.rand(*shape) < 0.5
    else:
        value = rnd.normal(size=shape)
    return numpy.asarray(value).astype(x.dtype)


def expected_of(case: Case, parts: Sequence[list[numpy.ndarray]], shape: tuple[int, ...]) -> numpy.ndarray:
    """
    :return: results of the single sequences, zeros behind their ends
    """
    res = numpy.zeros(shape)
    for i, part in enumerate(parts):
        value = numpy.asarray(case.reference(*part))
        res[(i,) + tuple(slice(0, n) for n in value.shape)] = value
    return res


def batch_first(y: Tensor) -> list[Dim]:
    """
    :return: the dims of y, batch first
    """
    return [d for d in y.dims if d == batch_dim] + [d for d in y.dims if d != batch_dim]


def check_batch_is_its_sequences_one_by_one(case: Case, backend: str) -> None:
    """See :func:`contract_tests`."""
    fills = [0.0, 1e30] + ([] if case.finite_padding else [math.nan])
    lens = [n for n in LENS if n and min(n) >= case.min_len]
    feeds, parts = zip(*[make_feed(case, n, fill) for n in lens for fill in fills], strict=True)
    template = run_rf("template", case.function, case.inputs, []).template
    result = run_rf(backend, case.function, case.inputs, feeds)
    assert result.template.dims == template.dims
    assert result.template.dtype == template.dtype
    assert (result.template.feature_dim, result.template.time_dim) == (template.feature_dim, template.time_dim)
    order = batch_first(template)
    for feed, part, value in zip(feeds, parts, result.values, strict=True):
        assert value.dtype == template.dtype
        actual = visible(template, value, feed, order=order)
        numpy.testing.assert_allclose(
            actual, expected_of(case, part, actual.shape), rtol=case.tolerance, atol=case.tolerance
        )


def check_order_of_axes_does_not_matter(case: Case, backend: str) -> None:
    """See :func:`contract_tests`."""
    feed, _ = make_feed(case, [3, 1, 2], 0.0)
    plain = run_rf(backend, case.function, case.inputs, [feed])
    turned = [x for x in case.inputs if x.name not in case.as_it_is]
    swapped_inputs = [x.copy_transpose(x.dims[::-1]) if x in turned else x for x in case.inputs]
    swapped_feed = {**feed, **{x.name: feed[x.name].transpose() for x in turned}}
    swapped = run_rf(backend, case.function, swapped_inputs, [swapped_feed])
    assert set(swapped.template.dims) == set(plain.template.dims)
    a = visible(plain.template, plain.values[0], feed)
    b = visible(swapped.template, swapped.values[0], feed, order=plain.template.dims)
    numpy.testing.assert_allclose(b, a, rtol=case.tolerance, atol=case.tolerance)


def check_backends_agree_without_any_sequence(case: Case, backend: str) -> None:
    """See :func:`contract_tests`."""
    feed, _ = make_feed(case, [], 0.0)
    a = run_rf("numpy", case.function, case.inputs, [feed]).values[0]
    b = run_rf(backend, case.function, case.inputs, [feed]).values[0]
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    assert a.size == 0


def check_gradient_equals_differences_of_the_reference(case: Case, backend: str) -> None:
    """See :func:`contract_tests`."""
    lens, step = [3, 1, 2], 1e-5
    feed, parts = make_feed(case, lens, 5.0)
    result = run_rf(backend, case.function, case.inputs, [feed], gradients=True)
    for number, x in enumerate(case.inputs):
        if x.dtype != "float32":
            continue
        actual = result.gradients[0][[y.name for y in case.inputs if y.dtype == "float32"].index(x.name)]
        expected = numpy.zeros(actual.shape)
        for i, part in enumerate(parts):
            at = expected[i] if batch_dim in x.dims else expected
            for index in numpy.ndindex(*part[number].shape):
                ends = []
                for sign in (1, -1):
                    moved = [p.copy() for p in part]
                    moved[number][index] += sign * step
                    ends.append(numpy.sum(case.reference(*moved)))
                at[index] += (ends[0] - ends[1]) / (2 * step)
        numpy.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


def check_gradients_of_tf_and_torch_agree(case: Case) -> None:
    """See :func:`contract_tests`."""
    feed, _ = make_feed(case, [3, 1, 2], 5.0)
    if "float" not in run_rf("template", case.function, case.inputs, []).template.dtype:
        return  # nothing to differentiate
    tf, torch = (run_rf(backend, case.function, case.inputs, [feed], gradients=True) for backend in ("tf", "torch"))
    for a, b in zip(tf.gradients[0], torch.gradients[0], strict=True):
        numpy.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-4)
