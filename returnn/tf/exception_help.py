"""Why a step failed: which layer, with which inputs, on which data. A screen for the log, all of it for a file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import numpy

from returnn.network.data_errors import different_lens_text, wrong_labels
from returnn.network.scopes import op_scope
from returnn.tensor import Tensor
from returnn.tf.compat import tf, v1
from returnn.util.errors import UserError

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.tf.network import ExternData, TFNetwork

_MAX_LINES = 40
"""of the log"""
_not_fed = re.compile(r"must feed a value for placeholder tensor '(?P<name>[^']*)'")

_lengths_error = re.compile(
    r"assertion failed: \[(?P<what>[^\]]*: the lengths of [^\]]* are not those of [^\]]*)\]"
    r".* \[x \(.*?\) = \] (?P<x>\[[^\]]*\]) \[y \(.*?\) = \] (?P<y>\[[^\]]*\])",
)


def help_on_tf_exception(
    session: v1.Session,
    exception: BaseException,
    fetches: Any,
    feed_dict: Mapping[Any, Any] | None = None,
    meta_step_info: Mapping[str, Any] | None = None,
    extern_data: ExternData | None = None,
    file: TextIO | None = None,
    *,
    network: TFNetwork | None = None,
    dump_file: str | None = None,
) -> None:
    """
    Prints what can be found out about a step that failed.

    :param session: of the step
    :param exception: of the step
    :param fetches: of the step
    :param feed_dict: of the step
    :param meta_step_info: of the step, as the data provider gives it
    :param extern_data: tells what the placeholders are; that of the network by default
    :param file: to print to, at most a screen; standard output by default
    :param network: to name the layer
    :param dump_file: gets all of it, if it is more than a screen
    """
    file = file or sys.stdout
    if extern_data is None and network is not None:
        extern_data = network.extern_data
    lines: list[str] = []
    if isinstance(exception, tf.errors.OpError):
        lines += _about_op(session, exception, fetches, feed_dict or {}, network)
    lines += ["Step meta information:", "  %s" % dict(meta_step_info or {})]
    lines += ["Feed dict:", *_about_feed(feed_dict or {}, extern_data)]
    short = [line if len(line) < 500 else line[:500] + " ..." for line in lines]
    if len(lines) > _MAX_LINES:
        short = [*short[:_MAX_LINES], "  ... and %i lines more" % (len(lines) - _MAX_LINES)]
    print("\n".join(short), file=file)
    if short != lines and dump_file:
        _write_dump(dump_file, lines)
        print("All of this: %s" % os.path.abspath(dump_file), file=file)


def _write_dump(dump_file: str, lines: Sequence[str]) -> None:
    try:
        with open(dump_file, "w", encoding="utf8") as f:
            f.write("\n".join(lines) + "\n")
    except OSError as exc:
        print("Cannot write %r: %s" % (dump_file, exc), file=sys.stderr)


def _about_op(
    session: v1.Session, exc: tf.errors.OpError, fetches: Any, feed: Mapping[Any, Any], network: TFNetwork | None
) -> list[str]:
    op = getattr(exc, "op", None)
    if op is None:
        if "Retval[0]" in exc.message:
            return _try_fetches_singly(session, fetches, feed)
        return []
    lines = ["Failing op: %s (%s)" % (op.name, op.type)]
    layer = layer_of_op(network, op.name) if network is not None else None
    if layer is not None:
        lines += _about_layer(layer)
    not_fed = _not_fed.search(exc.message)
    if not_fed or op.type.startswith("Placeholder"):
        return lines + _about_unfed(op, fetches)
    if isinstance(exc, tf.errors.ResourceExhaustedError):
        return lines
    return lines + _about_inputs(session, op, feed)


def layer_of_op(network: TFNetwork, op_name: str) -> LayerBase | None:
    """
    :param network: root
    :param op_name: also one of the gradient of an operation of a layer
    :return: the innermost layer that made it, or for which it was made; None: none did
    """
    name = re.sub(r"^gradients(_\d+)?/", "", op_name)
    found = [path for path in network.layers if (name + "/").startswith(op_scope(path) + "/")]
    return network.layers[max(found, key=len)] if found else None


def _about_layer(layer: LayerBase) -> list[str]:
    text = "It belongs to layer %r (class %r), output %s"
    lines = [text % (layer.get_absolute_name(), layer.layer_class, layer.output.copy_template())]
    return lines + [
        "  source %r: %s" % (source.get_absolute_name(), source.output.copy_template()) for source in layer.sources
    ]


def _about_unfed(op: tf.Operation, fetches: Any) -> list[str]:
    consumers = [consumer.name for output in op.outputs for consumer in output.consumers()]
    lines = ["It was not fed. Used by: %s" % (consumers[:10] or "nothing")]
    path = _path_to(op, {getattr(x, "op", x) for x in _flat(fetches) if isinstance(x, (tf.Tensor, tf.Operation))})
    if path:
        lines += ["Input to output:", *("  %s (%s)" % (step.name, step.type) for step in path)]
    return lines


def _path_to(start: tf.Operation, ends: set[tf.Operation]) -> list[tf.Operation]:
    """shortest one, along the data"""
    came_from: dict[tf.Operation, tf.Operation | None] = {start: None}
    queue = [start]
    for op in queue:
        if op in ends:
            path: list[tf.Operation] = []
            step: tf.Operation | None = op
            while step is not None:
                path.append(step)
                step = came_from[step]
            return path[::-1]
        for output in op.outputs:
            for consumer in output.consumers():
                if consumer not in came_from:
                    came_from[consumer] = op
                    queue.append(consumer)
    return []


def _flat(fetches: Any) -> Iterator[Any]:
    if isinstance(fetches, Mapping):
        fetches = list(fetches.values())
    if isinstance(fetches, (list, tuple)):
        for fetch in fetches:
            yield from _flat(fetch)
    else:
        yield fetches


def _about_inputs(session: v1.Session, op: tf.Operation, feed: Mapping[Any, Any]) -> list[str]:
    """Computes the inputs once more. Noise is the same, as it is a function of the step."""
    if op._get_control_flow_context() is not None:
        return ["It is within a loop or condition, so its inputs cannot be looked at."]
    lines = ["Execute again to debug the op inputs...", "Op inputs:"]
    for tensor in op.inputs:
        if tensor.dtype == tf.resource:
            text = "a variable"
        else:
            try:
                text = describe_value(session.run(tensor, feed))
            except tf.errors.OpError as exc:
                text = "cannot be computed: %s" % tf_error_text(exc)[:100]
        lines.append("  %s: %s" % (tensor.name, text))
    return lines


def _try_fetches_singly(session: v1.Session, fetches: Any, feed: Mapping[Any, Any]) -> list[str]:
    lines = ["Each fetch for itself:"]
    for fetch in _flat(fetches):
        if isinstance(fetch, tf.Tensor):
            try:
                session.run(fetch, feed)
            except tf.errors.OpError as exc:
                lines.append("  %s: %s" % (fetch.name, tf_error_text(exc)[:200]))
    return lines if len(lines) > 1 else []


def _about_feed(feed: Mapping[Any, Any], extern_data: ExternData | None) -> list[str]:
    data = dict(extern_data.data) if extern_data is not None else {}
    by_placeholder = {id(x.placeholder): (key, x) for key, x in data.items() if x.placeholder is not None}
    lines = []
    for tensor, value in sorted(feed.items(), key=lambda item: item[0].name):
        line = "  %s: %s" % (tensor.name, describe_value(value))
        key, template = by_placeholder.get(id(tensor), (None, None))
        if template is None:
            lines.append(line)
            continue
        lines.append("%s, %r" % (line, template.copy_template()))
        lens = _fed_lens(template, feed)
        if wrong_labels(template, numpy.asarray(value), lens).any():
            lines.append("  WARNING, invalid label for data %r: must be in 0..%s" % (key, (template.dim or 0) - 1))
        empty = _sequences_without_frames(lens)
        if empty:
            lines.append("  WARNING, sequences of data %r without frames, counted from 0: %s" % (key, empty))
    return lines


def _fed_lens(template: Tensor, feed: Mapping[Any, Any]) -> dict[int, numpy.ndarray]:
    """number of an axis -> lengths"""
    fed = {id(tensor): value for tensor, value in feed.items()}
    sizes = {template.get_batch_axis(axis): fed.get(id(size)) for axis, size in template.size_placeholder.items()}
    return {axis: numpy.asarray(size) for axis, size in sizes.items() if size is not None}


def _sequences_without_frames(lens: Mapping[int, numpy.ndarray]) -> list[int]:
    return sorted({int(i) for sizes in lens.values() if sizes.ndim == 1 for i in numpy.flatnonzero(sizes == 0)})


def describe_value(value: Any) -> str:
    """
    :return: shape, dtype and a glance at the values
    """
    if isinstance(value, bool | str):
        return repr(value)
    array = numpy.asarray(value)
    text = "shape %r, dtype %s" % (array.shape, array.dtype)
    if array.size == 0:
        return text + ", EMPTY"
    if array.dtype.kind not in "iuf":
        return text
    values = array.astype("float64")
    text += ", min/max %s/%s, mean/stddev %s/%s" % (array.min(), array.max(), values.mean(), values.std())
    return text + (", %s" % numpy.array2string(array, threshold=20) if array.ndim <= 1 else "")


def short_repr(exc: BaseException, *, max_len: int = 100) -> str:
    """
    :return: ``repr``; of a mistake of the user only the start, as the whole text is what the program ends with
    """
    if not isinstance(exc, UserError):
        return repr(exc)
    first_line, _, more = str(exc).partition("\n")
    if len(first_line) > max_len or more:
        first_line = first_line[:max_len] + "..."
    return "%s(%r)" % (type(exc).__name__, first_line)


def error_of_lengths(exc: tf.errors.InvalidArgumentError, seq_tags: Sequence[str]) -> UserError | None:
    """
    :param exc: of a step
    :param seq_tags: of its sequences
    :return: if the network found lengths that should be the same but are not: what they are. Else None
    """
    found = _lengths_error.search(exc.message)
    if found is None:
        return None
    return UserError(different_lens_text(found["what"], found["x"], found["y"], seq_tags))


def tf_error_text(exc: tf.errors.OpError) -> str:
    """
    :return: TensorFlow's message and the op, without the traces of where the op was made
    """
    text = exc.message.partition("\n\nOriginal stack trace")[0]
    return text.rpartition("\nNode: ")[2].strip()
