"""Backend.frame_loop: one contract on all backends that have values."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
import pytest

from returnn.tensor.backend import Backend
from returnn.tensor.numpy_backend import backend as numpy_backend

KINDS = ("numpy", "torch", "tf", "tf-static")
"""tf: no size is known in the graph; tf-static: all sizes are"""
WITH_GRADIENT = ("torch", "tf", "tf-static")

each_kind = pytest.mark.parametrize("kind", KINDS)
each_with_gradient = pytest.mark.parametrize("kind", WITH_GRADIENT)

Function = Callable[..., Sequence[Any]]
"""backend, inputs -> results, all raw"""


class Result(NamedTuple):
    values: list[numpy.ndarray]
    gradients: list[numpy.ndarray]
    """of the sum of all float32 results, for each float32 input"""


def run(kind: str, function: Function, *inputs: Any, gradients: bool = False) -> Result:
    """
    :param inputs: arrays; float64 and int64 become float32 and int32
    """
    arrays = [_narrow(numpy.asarray(x)) for x in inputs]
    if kind == "numpy":
        return Result([numpy.asarray(y) for y in function(numpy_backend, *arrays)], [])
    if kind == "torch":
        return _run_torch(function, arrays, gradients)
    return _run_tf(function, arrays, gradients, static=kind == "tf-static")


def _narrow(x: numpy.ndarray) -> numpy.ndarray:
    return x.astype({"f": "float32", "i": "int32", "U": "object"}.get(x.dtype.kind, x.dtype))


def _run_torch(function: Function, arrays: Sequence[numpy.ndarray], gradients: bool) -> Result:
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    from returnn.torch.backend import backend  # noqa: PLC0415 - slow to import

    raws = [backend.convert(x) for x in arrays]
    smooth = [x.requires_grad_() for x in raws if gradients and backend.dtype_name(x) == "float32"]
    results = function(backend, *raws)
    grads = []
    if gradients:
        total = sum(y.sum() for y in results if backend.dtype_name(y) == "float32")
        total = total + 0 * smooth[0].sum()  # PyTorch wants to see that it depends on something
        grads = [g.numpy() for g in torch.autograd.grad(total, smooth, materialize_grads=True)]
    return Result([y.detach().numpy() if isinstance(y, torch.Tensor) else y for y in results], grads)


def _run_tf(function: Function, arrays: Sequence[numpy.ndarray], gradients: bool, static: bool) -> Result:
    from returnn.tf.backend import backend  # noqa: PLC0415 - slow to import
    from returnn.tf.compat import tf, v1  # noqa: PLC0415

    with tf.Graph().as_default(), v1.Session() as session:
        raws = [
            v1.placeholder("string" if x.dtype == object else x.dtype, x.shape if static else [None] * x.ndim)
            for x in arrays
        ]
        results = [tf.convert_to_tensor(y) for y in function(backend, *raws)]
        grads = []
        if gradients:
            total = sum(tf.reduce_sum(y) for y in results if y.dtype == tf.float32)
            smooth = [x for x in raws if x.dtype == tf.float32]
            grads = tf.gradients(total, smooth, unconnected_gradients="zero")
        values = session.run([list(results), list(grads)], dict(zip(raws, arrays, strict=True)))
    for value, y in zip(values[0], results, strict=True):
        assert y.shape.is_compatible_with(value.shape), "shape in the graph: %s, but is %s" % (y.shape, value.shape)
    return Result(*values)


def sizes_of(backend: Backend, x: Any, *axes: int) -> list[Any]:
    return [backend.size_of_axis(x, axis) for axis in axes]


def numeric_gradient(function: Callable[..., Any], arrays: Sequence[numpy.ndarray], eps: float = 1e-6) -> list[Any]:
    """:return: of a scalar, for each of the arrays, in float64"""
    arrays = [numpy.array(x, "float64") for x in arrays]
    gradients = []
    for x in arrays:
        gradient = numpy.zeros_like(x)
        for place in numpy.ndindex(*x.shape):
            here = x[place]
            both = []
            for value in (here + eps, here - eps):
                x[place] = value
                both.append(function(*arrays))
            x[place] = here
            gradient[place] = (both[0] - both[1]) / (2 * eps)
        gradients.append(gradient)
    return gradients


def assert_close(actual: Sequence[Any], expected: Sequence[Any], tolerance: float = 1e-5) -> None:
    assert len(actual) == len(expected)
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == numpy.shape(b)
        numpy.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def random(*shape: int, seed: int = 1) -> numpy.ndarray:
    return numpy.random.RandomState(seed).normal(size=shape)


def running_sum(backend: Backend, x: Any, start: Any, **options: Any) -> tuple[Any, list[Any], list[Any]]:
    """of x [T, B]"""

    def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
        total = backend.binary("add", state[0], frames[0])
        return [total], [total, i]

    options.setdefault("num_frames", backend.size_of_axis(x, 0))
    return backend.frame_loop(
        body,
        frames=[x],
        state=[start],
        output_dtypes=["float32", "int32"],
        empty_shapes=lambda: [sizes_of(backend, start, 0), []],
        **options,
    )


class TestFrameLoop:
    @each_kind
    def test_cumulative_sum(self, kind: str) -> None:
        def function(backend: Backend, x: Any, start: Any) -> Sequence[Any]:
            count, state, outputs = running_sum(backend, x, start)
            return [count, *state, *outputs]

        count, last, sums, indices = run(kind, function, [[1.0, 2], [3, 4], [5, 6]], [10.0, 20]).values
        assert count == 3 and count.dtype == "int32" and count.shape == ()
        assert last.tolist() == [19, 32]
        assert sums.tolist() == [[11, 22], [14, 26], [19, 32]]
        assert indices.tolist() == [0, 1, 2] and indices.dtype == "int32"

    @each_kind
    def test_without_frames_and_state(self, kind: str) -> None:
        """i squared; the number of frames is an int, and known of the result."""

        def function(backend: Backend) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                assert frames == state == []
                return [], [backend.binary("mul", i, i)]

            _, _, (squares,) = backend.frame_loop(body, frames=[], state=[], num_frames=4)
            assert backend.static_shape(squares) == (4,)
            return [squares]

        assert run(kind, function).values[0].tolist() == [0, 1, 4, 9]

    @each_with_gradient
    def test_rnn(self, kind: str) -> None:
        """h_t = tanh(x_t + h_{t-1} W), values and gradients against plain numpy."""

        def function(backend: Backend, x: Any, h: Any, w: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                h = backend.unary("tanh", backend.binary("add", frames[0], backend.einsum("bi,io->bo", state[0], w)))
                return [h], [h]

            _, state, outputs = backend.frame_loop(
                body,
                frames=[x],
                state=[h],
                num_frames=backend.size_of_axis(x, 0),
                empty_shapes=lambda: [sizes_of(backend, h, 0, 1)],
            )
            return [*state, *outputs]

        def naive(x: Any, h: Any, w: Any) -> list[Any]:
            outputs = []
            for frame in x:
                h = numpy.tanh(frame + h @ w)
                outputs.append(h)
            return [h, numpy.stack(outputs)]

        inputs = random(4, 2, 3), random(2, 3, seed=2), random(3, 3, seed=3)
        result = run(kind, function, *inputs, gradients=True)
        assert_close(result.values, naive(*inputs))
        gradients = numeric_gradient(lambda *xs: sum(y.sum() for y in naive(*xs)), inputs)
        assert_close(result.gradients, gradients, tolerance=1e-4)

    @each_kind
    def test_until_go_on_says_no(self, kind: str) -> None:
        """1, 2, 4, .. while below the limit: any number of frames."""

        def function(backend: Backend, limit: Any) -> Sequence[Any]:
            count, state, outputs = backend.frame_loop(
                lambda i, frames, state: ([backend.binary("mul", state[0], 2)], [state[0], i]),
                frames=[],
                state=[backend.convert(1, "int32")],
                num_frames=None,
                go_on=lambda i, state: backend.compare("less", state[0], limit),
            )
            return [count, *state, *outputs]

        count, last, powers, indices = run(kind, function, 100).values
        assert (count, last) == (7, 128)
        assert powers.tolist() == [1, 2, 4, 8, 16, 32, 64]
        assert indices.tolist() == [0, 1, 2, 3, 4, 5, 6]

    @each_kind
    @pytest.mark.parametrize(("num_frames", "expected"), [(2, 2), (4, 3)])
    @pytest.mark.parametrize("as_int", [True, False])
    def test_both_ends(self, kind: str, num_frames: int, expected: int, as_int: bool) -> None:
        """x is 1 and its running sum has to be below 3 before each frame."""

        def function(backend: Backend, x: Any, start: Any, num_frames_raw: Any) -> Sequence[Any]:
            def go_on(i: Any, state: list[Any]) -> Any:
                small = backend.compare("less", state[0], backend.convert(3.0, "float32"))
                return backend.reduce(small, "all", None)

            count, state, outputs = running_sum(
                backend, x, start, num_frames=num_frames if as_int else num_frames_raw, go_on=go_on
            )
            return [count, *state, *outputs]

        count, last, sums, indices = run(kind, function, numpy.ones((4, 1)), [0.0], num_frames).values
        assert count == expected and last.tolist() == [expected]
        assert sums.tolist() == [[n + 1] for n in range(expected)]
        assert indices.tolist() == list(range(expected))

    @each_kind
    def test_reverse(self, kind: str) -> None:
        def function(backend: Backend, x: Any, start: Any) -> Sequence[Any]:
            count, state, outputs = running_sum(backend, x, start, reverse=True)
            return [count, *state, *outputs]

        count, last, sums, indices = run(kind, function, [[1.0], [2], [4]], [0.0]).values
        assert count == 3 and last.tolist() == [7]
        assert sums.tolist() == [[7], [6], [4]]
        assert indices.tolist() == [0, 1, 2]

    @each_kind
    def test_reverse_stops_early(self, kind: str) -> None:
        """What is left are the last frames."""

        def function(backend: Backend, x: Any, start: Any) -> Sequence[Any]:
            count, _, outputs = running_sum(
                backend, x, start, reverse=True, go_on=lambda i, state: backend.compare("greater", i, 1)
            )
            return [count, *outputs]

        count, sums, indices = run(kind, function, [[1.0], [2], [4], [8]], [0.0]).values
        assert count == 2
        assert sums.tolist() == [[12], [8]]
        assert indices.tolist() == [2, 3]

    @each_kind
    @pytest.mark.parametrize("num_frames", [0, 1, 4])
    def test_growing_state(self, kind: str, num_frames: int) -> None:
        """The state keeps all frames so far, [B, n, D]; x_t times the sum of these is x_t (x_0 + .. + x_t)."""

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            batch, dim = sizes_of(backend, x, 1, 2)

            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                kept = backend.concat([state[0], backend.expand_dims(frames[0], 1)], 1)
                return [kept], [backend.einsum("bd,bd->b", frames[0], backend.reduce(kept, "sum", [1]))]

            _, state, outputs = backend.frame_loop(
                body,
                frames=[x],
                state=[backend.full([batch, 0, dim], 0.0, "float32")],
                num_frames=backend.size_of_axis(x, 0),
                growing=[[1]],
                output_dtypes=["float32"],
                empty_shapes=lambda: [[batch]],
            )
            return [*state, *outputs]

        x = random(num_frames, 2, 3)

        def naive(x: Any) -> list[Any]:
            return [x.transpose(1, 0, 2), (x * x.cumsum(0)).sum(-1)]

        result = run(kind, function, x, gradients=kind != "numpy")
        assert_close(result.values, naive(x))
        if kind != "numpy":
            gradient = numeric_gradient(lambda x: sum(y.sum() for y in naive(x)), [x])
            assert_close(result.gradients, gradient, tolerance=1e-4)

    @each_kind
    @pytest.mark.parametrize("num_frames", [0, 1, 4])
    def test_output_of_varying_size(self, kind: str, num_frames: int) -> None:
        """Outputs [B, n, D] are all frames so far, n = t + 1. Zeros fill up the shorter ones; other outputs stay."""

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            batch, dim = sizes_of(backend, x, 1, 2)

            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                kept = backend.concat([state[0], backend.expand_dims(frames[0], 1)], 1)
                return [kept], [frames[0], kept]

            _, _, outputs = backend.frame_loop(
                body,
                frames=[x],
                state=[backend.full([batch, 0, dim], 0.0, "float32")],
                num_frames=backend.size_of_axis(x, 0),
                growing=[[1]],
                output_dtypes=["float32", "float32"],
                empty_shapes=lambda: [[batch, dim], [batch, 0, dim]],
                varying=lambda: [[], [1]],
            )
            return outputs

        x = random(num_frames, 2, 3)
        seen = numpy.tril(numpy.ones((num_frames, num_frames)))  # [t, n]
        result = run(kind, function, x, gradients=kind != "numpy")
        assert_close(result.values, [x, numpy.einsum("tn,nbd->tbnd", seen, x)])
        if kind != "numpy":
            times = 1 + seen.sum(axis=0)  # how often each frame is in the outputs
            assert_close(result.gradients, [numpy.broadcast_to(times[:, None, None], x.shape)])

    @each_kind
    @pytest.mark.parametrize("why", ["no frame in x", "num_frames 0", "go_on", "go_on before the last one"])
    def test_no_frame(self, kind: str, why: str) -> None:
        """The state is what it was, outputs are [0, ...], x and what is used from outside get gradient 0."""
        frames_of_x = 0 if why == "no frame in x" else 3

        def function(backend: Backend, x: Any, start: Any, outer: Any) -> Sequence[Any]:
            options: dict[str, Any] = {"num_frames": backend.size_of_axis(x, 0)}
            if why == "num_frames 0":
                options["num_frames"] = backend.convert(0, "int32")
            elif why.startswith("go_on"):
                options["go_on"] = lambda i, state: backend.compare("less", i, 0)
                if why == "go_on":
                    options["num_frames"] = None

            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                total = backend.binary("add", state[0], backend.binary("mul", frames[0], outer))
                flag = backend.compare("greater", total, backend.convert(0.0, "float32"))
                return [total], [total, i, flag]

            count, state, outputs = backend.frame_loop(
                body,
                frames=[x],
                state=[start],
                output_dtypes=["float32", "int32", "bool"],
                empty_shapes=lambda: [sizes_of(backend, start, 0), [], [2]],
                **options,
            )
            return [count, *state, *outputs]

        inputs = random(frames_of_x, 2), random(2), random(2)
        result = run(kind, function, *inputs, gradients=kind != "numpy")
        count, last, sums, indices, flags = result.values
        assert count == 0
        assert_close([last], [inputs[1]])
        assert [x.shape for x in (sums, indices, flags)] == [(0, 2), (0,), (0, 2)]
        assert [x.dtype for x in (sums, indices, flags)] == ["float32", "int32", "bool"]
        if kind != "numpy":
            assert_close(result.gradients, [numpy.zeros((frames_of_x, 2)), [1, 1], [0, 0]])

    @pytest.mark.parametrize("kind", ["numpy", "torch"])
    @pytest.mark.parametrize("missing", ["output_dtypes", "empty_shapes"])
    def test_no_frame_and_unknown_outputs(self, kind: str, missing: str) -> None:
        options = {"output_dtypes": ["float32"], "empty_shapes": lambda: [[]], missing: None}

        def function(backend: Backend) -> Sequence[Any]:
            return backend.frame_loop(lambda *_: ([], []), frames=[], state=[], num_frames=0, **options)[2]

        with pytest.raises(ValueError, match="^loop over frames: there is no frame, so nothing tells .* Give output_d"):
            run(kind, function)

    @each_with_gradient
    @pytest.mark.parametrize("sizes", [(3, 2), (3, 0), (0, 2)])
    def test_nested(self, kind: str, sizes: tuple[int, int]) -> None:
        """In each frame of x [T, U, B] a loop over the U axis, whose state goes on in the next frame."""

        def function(backend: Backend, x: Any, start: Any, w: Any) -> Sequence[Any]:
            outer_size, inner_size, batch = sizes_of(backend, x, 0, 1, 2)

            def inner(i: Any, frames: list[Any], state: list[Any]) -> Any:
                h = backend.unary("tanh", backend.binary("add", backend.binary("mul", state[0], w), frames[0]))
                return [h], [h]

            def outer(i: Any, frames: list[Any], state: list[Any]) -> Any:
                count, state, outputs = backend.frame_loop(
                    inner,
                    frames=frames,
                    state=state,
                    num_frames=inner_size,
                    output_dtypes=["float32"],
                    empty_shapes=lambda: [[batch]],
                )
                squares = backend.unary("square", outputs[0])
                return state, [backend.reduce(squares, "sum", [0]), outputs[0], count]

            _, state, outputs = backend.frame_loop(
                outer,
                frames=[x],
                state=[start],
                num_frames=outer_size,
                output_dtypes=["float32", "float32", "int32"],
                empty_shapes=lambda: [[batch], [inner_size, batch], []],
            )
            return [*state, *outputs]

        def naive(x: Any, h: Any, w: Any) -> list[Any]:
            outputs = numpy.zeros(x.shape)
            for t, u in numpy.ndindex(*x.shape[:2]):
                h = outputs[t, u] = numpy.tanh(h * w + x[t, u])
            return [h, (outputs**2).sum(1), outputs]

        inputs = random(*sizes, 2), random(2, seed=2), random(2, seed=3)
        result = run(kind, function, *inputs, gradients=True)
        assert_close(result.values, [*naive(*inputs), [sizes[1]] * sizes[0]])
        gradients = numeric_gradient(lambda *xs: sum(y.sum() for y in naive(*xs)), inputs)
        assert_close(result.gradients, gradients, tolerance=1e-4)

    @each_kind
    def test_dtypes(self, kind: str) -> None:
        """Two states of each dtype change places in each frame; frames of texts and flags."""
        flags, texts = [[True, False], [False, False], [True, True]], [["a", "b"], ["c", "de"], ["f", "g"]]

        def function(backend: Backend, flags: Any, texts: Any, *pairs: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                return [x for a, b in zip(state[::2], state[1::2], strict=True) for x in (b, a)], [*frames, *state[::2]]

            _, state, outputs = backend.frame_loop(
                body, frames=[flags, texts], state=[x for pair in pairs for x in (pair, pair)], num_frames=3
            )
            return [*state[::2], *outputs]

        pairs = [True, 3, 2.5, "hello"]
        *last, flags_out, texts_out, a, b, c, d = run(kind, function, flags, texts, *[[x] for x in pairs]).values
        assert flags_out.tolist() == flags
        assert [[_text(x) for x in frame] for frame in texts_out] == texts
        assert [[_text(x) for x in y] for y in last] == [[x] for x in pairs]
        assert (a.tolist(), b.tolist(), c.tolist()) == ([[True]] * 3, [[3]] * 3, [[2.5]] * 3)
        assert [x.dtype for x in (a, b, c)] == ["bool", "int32", "float32"]
        assert [[_text(x) for x in frame] for frame in d] == [["hello"]] * 3

    @each_kind
    def test_no_frame_of_texts(self, kind: str) -> None:
        def function(backend: Backend, texts: Any) -> Sequence[Any]:
            return backend.frame_loop(
                lambda i, frames, state: ([], frames),
                frames=[texts],
                state=[],
                num_frames=backend.size_of_axis(texts, 0),
                output_dtypes=["string"],
                empty_shapes=lambda: [[2]],
            )[2]

        (texts,) = run(kind, function, numpy.zeros((0, 2), "U")).values
        assert texts.shape == (0, 2) and texts.dtype == object

    @each_kind
    def test_exception_in_body(self, kind: str) -> None:
        """It comes through, and what is built next does not stand in the loop."""

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                raise KeyError("my layer")

            with pytest.raises(KeyError, match="my layer"):
                backend.frame_loop(body, frames=[x], state=[], num_frames=2)
            return [backend.binary("add", x, x)]

        assert run(kind, function, [1.0, 2.0]).values[0].tolist() == [2, 4]

    @pytest.mark.parametrize("kind", ["tf", "tf-static"])
    def test_body_is_called_once_in_a_graph(self, kind: str) -> None:
        calls = []

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                calls.append("body")
                return [], frames

            def empty_shapes() -> Any:
                calls.append("empty_shapes")
                return [sizes_of(backend, x, 1)]

            num_frames = backend.size_of_axis(x, 0)
            return backend.frame_loop(body, frames=[x], state=[], num_frames=num_frames, empty_shapes=empty_shapes)[2]

        run(kind, function, [[1.0], [2.0]], gradients=True)
        assert calls == ["body"] + ["empty_shapes"] * (kind == "tf")

    @each_kind
    @pytest.mark.parametrize("in_conditional", [False, True])
    def test_side_effects_come_in_order(self, kind: str, in_conditional: bool) -> None:
        """Each second call takes longer, and no frame needs its result from another."""
        calls = []

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            def slow(i: Any, x: Any) -> list[Any]:
                time.sleep(0.02 * (1 - int(i) % 2))
                calls.append(int(i))
                return [x]

            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                def call() -> Any:
                    return backend.call_numpy(slow, [i, frames[0]], [("float32", 1)])[0]

                always = backend.compare("less", i, 100)
                return [], [backend.cond(always, call, lambda: frames[0]) if in_conditional else call()]

            return backend.frame_loop(body, frames=[x], state=[], num_frames=10)[2]

        assert run(kind, function, numpy.ones((10, 1))).values[0].shape == (10, 1)
        assert calls == list(range(10))

    @each_with_gradient
    def test_unused_output_has_no_gradient(self, kind: str) -> None:
        """The gradient of sqrt(x - x) would be 0 * inf, but nobody uses it."""

        def function(backend: Backend, x: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                zero = backend.binary("sub", frames[0], frames[0])
                return [], [backend.unary("sqrt", zero), backend.unary("square", frames[0])]

            num_frames = backend.size_of_axis(x, 0)
            _, _, outputs = backend.frame_loop(body, frames=[x], state=[], num_frames=num_frames)
            return outputs[1:]

        result = run(kind, function, [1.0, 2, 3], gradients=True)
        assert_close(result.gradients, [[2, 4, 6]])

    @each_with_gradient
    @pytest.mark.parametrize("back_prop", [True, False])
    def test_back_prop(self, kind: str, back_prop: bool) -> None:
        """x goes into the sum of the running sums 3, 2 and 1 times, and once around the loop."""

        def function(backend: Backend, x: Any, start: Any) -> Sequence[Any]:
            _, _, (sums, _) = running_sum(backend, x, start, back_prop=back_prop)
            return [sums, x]

        result = run(kind, function, [[1.0], [2], [4]], [0.0], gradients=True)
        assert result.values[0].tolist() == [[1], [3], [7]]
        assert_close(result.gradients, [[[4], [3], [2]], [3]] if back_prop else [numpy.ones((3, 1)), [0]])

    @each_with_gradient
    def test_frames_that_are_not_read(self, kind: str) -> None:
        def function(backend: Backend, x: Any, start: Any, num_frames: Any) -> Sequence[Any]:
            return running_sum(backend, x, start, num_frames=num_frames)[2][:1]

        result = run(kind, function, [[1.0, 2], [3, 4], [5, 6]], [0.0, 0], 2, gradients=True)
        assert result.values[0].tolist() == [[1, 2], [4, 6]]
        assert_close(result.gradients, [[[2, 2], [1, 1], [0, 0]], [2, 2]])

    @each_with_gradient
    def test_output_from_outside(self, kind: str) -> None:
        """w stands before the loop, and in each of 3 frames."""

        def function(backend: Backend, w: Any) -> Sequence[Any]:
            return backend.frame_loop(lambda i, frames, state: (state, [w]), frames=[], state=[w], num_frames=3)[2]

        result = run(kind, function, [1.0, 2], gradients=True)
        assert_close(result.values, [[[1, 2]] * 3])
        assert_close(result.gradients, [[3, 3]])

    @each_with_gradient
    @pytest.mark.parametrize("flag", [True, False])
    def test_inside_and_around_conditional(self, kind: str, flag: bool) -> None:
        """x w + x^2 w in the frames 0 and 2, else w; or nothing of it if the flag is false."""

        def function(backend: Backend, x: Any, w: Any, flag: Any) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                even = backend.compare("equal", backend.binary("mod", i, 2), 0)
                y = backend.cond(even, lambda: backend.binary("mul", frames[0], w), lambda: backend.identity(w))
                return [y], [backend.binary("mul", y, frames[0])]

            def total() -> Any:
                _, state, outputs = backend.frame_loop(
                    body,
                    frames=[x],
                    state=[backend.full(sizes_of(backend, w, 0), 0.0, "float32")],
                    num_frames=backend.size_of_axis(x, 0),
                    empty_shapes=lambda: [sizes_of(backend, w, 0)],
                )
                return backend.reduce(outputs[0], "sum", [0])

            return [backend.cond(flag, total, lambda: backend.identity(w))]

        result = run(kind, function, [[2.0], [3.0], [5.0]], [7.0], flag, gradients=True)
        assert_close(result.values, [[4 * 7 + 3 * 7 + 25 * 7]] if flag else [[7]])
        # (x w) x: 2 x w; w x: w
        assert_close(result.gradients, [[[28], [7], [70]], [32]] if flag else [[[0], [0], [0]], [1]])

    @each_kind
    @pytest.mark.parametrize("change", ["dtype", "size", "number of axes"])
    def test_state_must_stay_as_it_is(self, kind: str, change: str) -> None:
        def function(backend: Backend) -> Sequence[Any]:
            def body(i: Any, frames: list[Any], state: list[Any]) -> Any:
                new = {
                    "dtype": lambda: backend.cast(state[1], "int32"),
                    "size": lambda: backend.concat([state[1], state[1]], 1),
                    "number of axes": lambda: backend.expand_dims(state[1], 0),
                }[change]()
                return [state[0], new], []

            zeros = backend.full([1, 2], 0.0, "float32")
            return backend.frame_loop(body, frames=[], state=[zeros, zeros], num_frames=2, growing=[[0], []])[1]

        with pytest.raises(ValueError) as info:
            run(kind, function)
        behind = {"dtype": "int32 [1, 2]", "size": "float32 [1, 4]", "number of axes": "float32 [1, 1, 2]"}[change]
        assert str(info.value) == (
            "loop over frames: state 1 is float32 [1, 2] before a frame, but %s behind it. "
            "It must keep its dtype, and the sizes of all axes but those in growing: []" % behind
        )

    @each_kind
    def test_number_of_states(self, kind: str) -> None:
        def function(backend: Backend) -> Sequence[Any]:
            zero = backend.convert(0, "int32")
            return backend.frame_loop(lambda *_: ([zero, zero], []), frames=[], state=[zero], num_frames=2)[1]

        with pytest.raises(ValueError, match="^loop over frames: 1 states before a frame, 2 behind it$"):
            run(kind, function)

    @each_kind
    def test_needs_an_end(self, kind: str) -> None:
        def function(backend: Backend, **options: Any) -> Sequence[Any]:
            return backend.frame_loop(lambda *_: ([], []), frames=[], state=[], num_frames=None, **options)[1]

        with pytest.raises(ValueError, match="^loop over frames: num_frames is needed where go_on is not given$"):
            run(kind, function)
        with pytest.raises(ValueError, match="^loop over frames: num_frames is needed to run in reverse$"):
            run(kind, lambda backend: function(backend, reverse=True, go_on=lambda i, state: True))


def _text(x: Any) -> Any:
    return x.decode() if isinstance(x, bytes) else x
