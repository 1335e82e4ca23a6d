"""Layers that combine several sources element by element."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.elementwise import COMBINE_KINDS, COMBINE_SYMBOLS
from returnn.tensor import Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean
from returnn.util.user_functions import is_users

from .arithmetic import Arithmetic, parse_arithmetic
from .base import LayerBase
from .beam_border import beam_of, merge_beam, merged_outputs, split_beam
from .features import feature_dim_of
from .registry import layer_class
from .unify import common_layout, unify

if TYPE_CHECKING:
    from returnn.network.network import Network

Raw = Any


def check_broadcast(layer: LayerBase, inputs: Sequence[Tensor], names: Sequence[str]) -> None:
    """
    :param layer: maybe with the option ``allow_broadcast_all_sources``
    :param inputs: unified
    :param names: of the layers that these come from
    :raises ConfigError: none of them has all axes, and that is not allowed; it says which axes do not meet. Up to
        behaviour version 3 a warning, unless n_out shows that it is a mistake
    """
    allowed: bool | None = getattr(layer, "allow_broadcast_all_sources", None)
    if allowed is None and layer.out_shape is not None:
        allowed = True
    number = common_layout(inputs).batch_ndim
    if allowed or any(x.batch_ndim == number for x in inputs):
        return
    features_differ = len({x.feature_dim.dimension for x in inputs if x.feature_dim is not None}) > 1
    message = "the %s of the inputs do not fit: %s. Set allow_broadcast_all_sources if all combinations are meant." % (
        "feature dims" if features_differ else "axes",
        ", ".join("%s is %s" % (name, x.short_repr()) for name, x in zip(names, inputs, strict=True)),
    )
    if allowed is False or (features_differ and layer.n_out is not None):
        raise ConfigError(message)
    if not BehaviorVersion.has(Change.NO_BROADCAST_OF_ALL_SOURCES):  # a warning does not say where by itself
        message = "layer %r: %s" % (layer.get_absolute_name(), message)
    BehaviorVersion.require(False, message, Change.NO_BROADCAST_OF_ALL_SOURCES)


def function_of_kind(layer: LayerBase, kind: str, known: Sequence[str]) -> Callable[[Raw, Raw], Raw]:
    """
    :param layer: which has that kind
    :param kind: not one of ``known``
    :param known: for the message
    :return: function of that name of the framework behind the backend
    :raises ConfigError: there is none
    """
    function = layer.network.backend.function_by_name(kind) if isinstance(kind, str) else None
    if function is None:
        names = ", ".join(sorted(known))
        raise ConfigError("unknown kind %r.%s Kinds: %s" % (kind, did_you_mean(str(kind), known), names))
    return function


def apply_binary(
    function: Callable[[Raw, Raw], Raw], a: Tensor, b: Tensor | float, *, dtype: str | None = None
) -> Tensor:
    """
    :param function: of raw values
    :param a: of the same dtype as b, if that is a tensor
    :param b: tensor or number
    :param dtype: of the result; that of a by default, until there is a value
    :return: the dims of both
    """
    tensors = [x for x in (a, b) if isinstance(x, Tensor)]
    template = rf.combine(tensors[0].copy_template(), "add", tensors[-1].copy_template())
    if dtype is not None:
        template = template.like(None, dtype=dtype, sparse_dim=None)
    if any(x.raw_tensor is None for x in tensors):
        return template
    raws = [x.copy_compatible_to_dims_raw(template.dims) if isinstance(x, Tensor) else x for x in (a, b)]
    raw = function(*raws)
    return template.like(raw, dtype=a._raw_backend.dtype_name(raw))


@layer_class("combine")
class CombineLayer(LayerBase):
    """The sources, combined from the left: ((s0 op s1) op s2) .. The output has all their axes.

    Parameters: ``b`` [F] with ``with_bias``.
    """

    kind: str | None = None
    """add, sub, mul, truediv, floordiv, mod, pow, maximum, minimum, logical_and, logical_or, squared_difference,
    logaddexp (or + - * / // % **), average, eval, or a function of two arguments of the framework. Must be given"""
    eval: str | Callable[..., Any] | None = None
    """for kind eval: expression of ``source(i)``, or a function with the keyword arguments ``source`` and ``self``"""
    eval_locals: dict[str, Any] | None = None
    """further names for it"""
    eval_for_output_loss: bool = False
    """with kind eval: also apply it to the losses that the sources carry, ``output_loss``; the layer then carries the
    result"""
    activation: str | None = None
    """function of the result"""
    with_bias: bool = False
    """add ``b``"""
    allow_broadcast_all_sources: bool | None = None
    """no source needs to have all axes; default: True up to behaviour version 3"""

    def compute(self, *sources: Tensor) -> Tensor:
        if not sources:
            raise ConfigError('the layer needs a source: "from" is empty')
        if self.kind is None:
            raise ConfigError('option "kind" is missing')
        for key in ("eval", "eval_locals", "eval_for_output_loss"):
            if getattr(self, key) and self.kind != "eval":
                raise ConfigError("%s needs kind eval, but it is %r" % (key, self.kind))
        sources = tuple(unify(sources))
        check_broadcast(self, sources, [layer.name for layer in self.sources])
        y = self._combined(sources)
        if self.with_bias:
            if y.sparse:
                raise ConfigError("with_bias: labels have no features, the sources are %s" % y.short_repr())
            y = y + self.param("b", [feature_dim_of(y)])
        return self._activated(y, self.activation)

    def _combined(self, sources: tuple[Tensor, ...]) -> Tensor:
        name = self.kind or ""
        if name == "eval":
            return self._evaluated(sources)
        kind = "add" if name == "average" else COMBINE_SYMBOLS.get(name, name)
        function = None if kind in COMBINE_KINDS else function_of_kind(self, name, (*COMBINE_KINDS, "average", "eval"))
        y = sources[0]
        for x in sources[1:]:
            y = rf.combine(y, kind, x) if function is None else apply_binary(function, y, x)
        layout = common_layout(sources)
        y = y.copy_transpose(layout.dims)
        if not y.sparse:
            y.feature_dim = layout.feature_dim
        if name == "average":
            y = y * (1.0 / len(sources))
        return y

    # ---- eval

    def _evaluated(self, sources: tuple[Tensor, ...]) -> Tensor:
        if self.eval is None:
            raise ConfigError('option "eval" is missing')
        self.recurrent = True  # it may mix frames in any way
        layout, first = common_layout(sources), sources[0]
        template = first.like(
            None,
            dims=layout.dims,
            feature_dim=None if first.sparse else layout.feature_dim,
            time_dim=layout.time_dim,
        )
        if self._is_template or any(x.raw_tensor is None for x in sources):
            return template
        output = self.with_hidden_dims(self.output, [d for x in sources for d in x.dims])
        arithmetic = self._arithmetic(sources, output)
        if arithmetic is not None:
            return arithmetic(sources).copy_transpose(output.dims)
        beam = beam_of(output)
        with merged_outputs(self.sources, beam):
            access = _SourceAccess(self, tuple(merge_beam(x, beam) for x in sources), merge_beam(output))
            value = self._call_user_code(access)
            access.check_all_used()
            if self.eval_for_output_loss:
                self.output_loss = self._evaluated_output_loss()
            y = self._as_tensor(value, merge_beam(output))
        return y if beam is None or beam in y.dims else split_beam(y, like=output)

    def _arithmetic(self, sources: Sequence[Tensor], output: Tensor) -> Arithmetic | None:
        """
        :return: the expression, if it is so plain that no code of a framework is needed, with its many operations for
            axes and beams that it does not know
        """
        if not isinstance(self.eval, str) or self.eval_locals or self.eval_for_output_loss:
            return None
        found = parse_arithmetic(self.eval)
        if found is None or found.sources != set(range(len(sources))):
            return None
        dims = {d for x in sources for d in x.dims}
        floats = all(x.dtype == output.dtype and "float" in x.dtype and not x.sparse for x in sources)
        return found if floats and dims == set(output.dims) else None

    def _evaluated_output_loss(self) -> Any:
        without = [s.name for s in self.sources if s.output_loss is None]
        if without:
            raise ConfigError("eval_for_output_loss: no loss comes with %s" % ", ".join(without))
        return self._call_user_code(lambda i, **_: self.sources[i].output_loss)

    def _call_user_code(self, access: Callable[..., Any]) -> Any:
        if callable(self.eval):
            function = self.network.backend.user_function(self.eval)
            return function(source=access, self=self, **(self.eval_locals or {}))
        if not isinstance(self.eval, str):
            raise ConfigError("eval must be an expression or a function, but is %r" % (self.eval,))
        names = dict(self.network.backend.user_code_globals(), source=access, self=self, **(self.eval_locals or {}))
        text = self.eval.lstrip(" \t")
        try:
            return eval(compile(text, "<eval of layer %r>" % self.name, "eval"), names)
        except UserError:
            raise
        except SyntaxError as exc:
            begin = max((exc.offset or 1) - 1, 0)
            lines = _marked(text, exc.lineno or 1, begin, begin + 1)
            raise ConfigError("eval is not a valid expression: %s\n%s" % (exc.msg, lines)) from exc
        except Exception as exc:
            message = "eval failed: %s: %s\n%s"
            raise ConfigError(message % (type(exc).__name__, exc, _where_it_failed(text, exc))) from exc

    def _as_tensor(self, value: Any, template: Tensor) -> Tensor:
        if isinstance(value, Tensor):
            return value
        backend = self.network.backend
        raw = backend.convert(value, template.dtype if isinstance(value, (int, float, bool)) else None)
        shape, dtype = backend.static_shape(raw), backend.dtype_name(raw)
        fits = len(shape) == template.batch_ndim and all(
            a is None or b is None or a == b for a, b in zip(shape, template.batch_shape, strict=True)
        )
        if not fits or dtype != template.dtype:
            raise ConfigError(
                "eval gave a value of shape %s and dtype %s, but the layer's output is %s. Set out_type."
                % (list(shape), dtype, template.short_repr())
            )
        return template.like(raw)


class _SourceAccess:
    """``source`` in eval expressions."""

    def __init__(self, layer: LayerBase, sources: tuple[Tensor, ...], output: Tensor):
        self._layer = layer
        self._sources = sources
        self._output = output
        self._used: set[int] = set()

    def __call__(
        self,
        i: int,
        auto_convert: bool = True,
        enforce_batch_major: bool = False,
        as_data: bool = False,
        as_layer: bool = False,
    ) -> Any:
        """
        :param i: number of the source
        :param auto_convert: axes in the order of the layer's output, of size 1 where the source has none
        :param enforce_batch_major: batch first, else the axes as they are
        :param as_data: the Tensor; as_layer: the layer; else the raw value
        """
        if not 0 <= i < len(self._sources):
            raise ConfigError(
                "source(%r): there is no such one, there are %i, counted from 0" % (i, len(self._sources))
            )
        self._used.add(i)
        if as_layer:
            return self._layer.sources[i]
        x = self._sources[i]
        if enforce_batch_major:
            x = x.copy_as_batch_major()
        elif auto_convert:
            x = self._like_output(i, x)
        return x if as_data else x.raw_tensor

    def _like_output(self, i: int, x: Tensor) -> Tensor:
        dims = list(self._output.dims)
        rest = [d for d in x.dims if d not in dims]
        for axis, dim in enumerate(dims):  # axes that out_type gave another dim
            if dim not in x.dims:
                is_feature = axis == self._output.feature_dim_axis
                same = [d for d in rest if is_feature == (d == x.feature_dim) and d.is_dynamic == dim.is_dynamic]
                if same:
                    dims[axis] = same[0]
                    rest.remove(same[0])
        if rest:
            raise ConfigError(
                "source(%i) is %s, but the output is %s: use source(%i, auto_convert=False)"
                % (i, x.short_repr(), self._output.short_repr(), i)
            )
        return x.copy() if not x.dims else x.copy_compatible_to_dims(dims)

    def check_all_used(self) -> None:
        """
        :raises ConfigError: naming those that were not
        """
        unused = set(range(len(self._sources))) - self._used
        if unused:
            raise ConfigError("not used sources: %s" % unused)


def _where_it_failed(expression: str, exc: Exception) -> str:
    """
    :return: lines: the expression, with a mark below the part that failed, and the functions of users behind it
    """
    frames = traceback.extract_tb(exc.__traceback__)
    start = next((i for i, frame in enumerate(frames) if frame.filename.startswith("<eval of layer")), len(frames))
    text = "  " + expression.replace("\n", "\n  ")
    if start < len(frames) and getattr(frames[start], "colno", None) is not None:  # from Python 3.11 on
        frame: Any = frames[start]
        one_line = frame.end_lineno == frame.lineno
        text = _marked(expression, frame.lineno, frame.colno, frame.end_colno if one_line else frame.colno + 1)
    own = [f for f in frames[start + 1 :] if is_users(f)]
    return text + "".join('\n  File "%s", line %s, in %s' % (f.filename, f.lineno, f.name) for f in own)


def _marked(expression: str, line: int, begin: int, end: int) -> str:
    """
    :return: the expression, indented, with a line of ^ below these columns of that line, which counts from 1
    """
    lines = ["  " + text for text in expression.splitlines()] or ["  "]
    lines.insert(line, "  " + " " * begin + "^" * (end - begin))
    return "\n".join(lines)


@layer_class("eval")
class EvalLayer(CombineLayer):
    """Value of an expression of the sources, in the framework behind the backend: kind eval of class combine."""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if d.setdefault("kind", "eval") != "eval":
            raise ConfigError('an eval layer has no option "kind"')
        super().transform_config_dict(d, network, get_layer)
