"""What is looked at when the output of a layer is there: debugging options of the config, and checks of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.tensor import Dim, Tensor
from returnn.util.array_text import array_text
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean

from .data_errors import different_lens_text

if TYPE_CHECKING:
    from returnn.config import Config
    from returnn.layers.base import LayerBase
    from returnn.tensor.backend import Backend

    from .step import InnerSteps, Steps

_SUMMARIZE = 10


class OutputChecks:
    """Part of :class:`~returnn.network.Network`."""

    backend: Backend
    _steps: Steps | InnerSteps

    if TYPE_CHECKING:  # what the network has

        @property
        def has_values(self) -> bool: ...
        def get_config(self) -> Config: ...

    def finish_layer(self, layer: LayerBase) -> None:
        """
        Adds to the output what the config wants of it besides the value: checks, prints, other operations that have to
        come first.

        :param layer: built
        """
        output = layer.output
        if output.raw_tensor is None:
            return
        if not layer.allow_inf_in_output and output.dtype.startswith("float"):
            what = "output of layer %r" % layer.get_absolute_name()
            output.raw_tensor = self.check_numerics(output.raw_tensor, what)
        config = self.get_config()
        if config.bool("debug_runtime_sanity_checks", False):
            output.raw_tensor = self._with_sanity_check(layer)
        if config.bool("debug_print_layer_output_shape", False):
            text = "[%s][shape:][%r]" % (layer.get_absolute_name(), output.copy_template())
            output.raw_tensor = self.observe(
                lambda value: print("%s%s" % (text, numpy.array(value.shape))), [output.raw_tensor], output.raw_tensor
            )
        wanted = layer.debug_print_layer_output
        if wanted is None:
            wanted = config.typed_value("debug_print_layer_output", config.bool("debug_print_layer_output", False))
        if wanted:
            output.raw_tensor = self._with_print(layer, wanted)

    def _with_print(self, layer: LayerBase, wanted: Any) -> Any:
        opts = dict(wanted) if isinstance(wanted, dict) else {}
        summarize = opts.pop("summarize", _SUMMARIZE)
        for key in opts:
            raise ConfigError("debug_print_layer_output: unknown key %r.%s" % (key, did_you_mean(key, ["summarize"])))
        name, raw = layer.get_absolute_name(), layer.output.raw_tensor
        return self.observe(lambda x: print("[%s]%s" % (name, array_text(x, summarize=summarize))), [raw], raw)

    def _with_sanity_check(self, layer: LayerBase) -> Any:
        output = layer.output
        dims = [(axis, dim) for axis, dim in enumerate(output.dims) if dim.is_dynamic and dim.dyn_size is not None]
        batch_axis = output.batch_dim_axis

        def check(value: numpy.ndarray, *lens: numpy.ndarray) -> None:
            for (axis, dim), own in zip(dims, lens, strict=True):
                what = "layer %r: the lengths of %s are %s, " % (layer.get_absolute_name(), dim, own.tolist())
                if own.size and not 0 <= own.min() <= own.max() <= value.shape[axis]:
                    raise UserError(what + "but the output has the shape %s" % (value.shape,))
                if own.ndim and batch_axis is not None and len(own) != value.shape[batch_axis]:
                    raise UserError(what + "but there are %i sequences" % value.shape[batch_axis])

        return self.observe(check, [output.raw_tensor, *(dim.dyn_size for _, dim in dims)], output.raw_tensor)

    def check_numerics(self, raw: Any, what: str) -> Any:
        """
        :param raw: float value
        :param what: for the message
        :return: the same; where it is inf or nan the step fails, with the config option
            ``debug_add_check_numerics_on_output``
        """
        if not self.has_values or not self.get_config().bool("debug_add_check_numerics_on_output", False):
            return raw
        value = self.backend.to_numpy(raw)
        for bad, text in ((numpy.isnan(value), "nan"), (numpy.isinf(value), "inf")):
            if bad.any():
                raise UserError("%s: %i of %i entries are %s" % (what, bad.sum(), bad.size, text))
        return raw

    def check_same_lens(self, x: Tensor, dims: Sequence[tuple[Dim, Dim]], what: str) -> Tensor:
        """
        :param x: has the first dim of each pair
        :param dims: pairs of dynamic dims
        :param what: for the message
        :return: x; where the lengths of a pair differ the step fails
        """
        if x.raw_tensor is None:
            return x
        for a, b in dims:
            if a.dyn_size is None or b.dyn_size is None or a.dyn_size is b.dyn_size:
                continue
            found, wanted = self.backend.to_numpy(a.dyn_size), self.backend.to_numpy(b.dyn_size)
            if found.shape[:1] != wanted.shape[:1] and found.ndim == wanted.ndim or numpy.any(found != wanted):
                lens, output_lens = ("[%s]" % " ".join(map(str, sizes.tolist())) for sizes in (found, wanted))
                raise UserError(different_lens_text(what, lens, output_lens, self._steps.seq_tags()))
        return x

    def observe(self, function: Callable[..., None], raws: Sequence[Any], value: Any) -> Any:
        """
        :param function: Python code that prints or checks something
        :param raws: it gets these, as numpy arrays
        :param value: in the steps that compute this one
        :return: value
        """
        if self.has_values:
            function(*[self.backend.to_numpy(raw) for raw in raws])
        return value

    def draw_images(self, name: str, images: Any, *, max_outputs: int) -> None:
        """
        Draws them in each step, where there is an engine that writes TensorBoard events; otherwise does nothing.

        :param name: tag
        :param images: raw float32 [images, height, width, channels], with 1, 3 or 4 channels
        :param max_outputs: only so many of them
        """
