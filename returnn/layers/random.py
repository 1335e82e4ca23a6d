"""Layers that draw random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.frontend.random import STATE_DIM, random_state, random_state_words
from returnn.tensor import Dim, DimKind, Tensor
from returnn.tensor.backend import Backend, Size, template_backend
from returnn.util.errors import ConfigError

from .axes import dims_of_shape
from .base import LayerBase
from .registry import layer_class
from .variables import VariableLayer

_DRAWN_FOR_A_LAYER = 32
"""numbers that a layer without seed takes from the generator of the network, though it needs three: initial values of
later layers depend on the number of draws"""


class _Drawing(LayerBase):
    """Sources only come first."""

    _default_source = None
    _seed_words: list[int] | None = None

    def _inputs(self) -> list[Tensor]:
        return []

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    @property
    def _backend(self) -> Backend:
        return self.network.backend if self.has_values else template_backend

    def _seed(self, seed: int | Sequence[int] | None, *, num_draws: int = 3) -> int | Sequence[int]:
        """
        :param seed: option
        :param num_draws: how many numbers to take from the generator of the network
        :return: seed, or the numbers of a state drawn at construction
        """
        if seed is not None or self._is_template:
            return 0 if seed is None else seed
        if self._seed_words is None:
            drawn = [self.network.random.randint(2**31) for _ in range(num_draws)]
            self._seed_words = drawn[:3]
        return self._seed_words


class _WithShape(_Drawing):
    """Makes a tensor [shape..]."""

    _layer_options: tuple[str, ...] = ("shape_deps",)

    shape: Sequence[int | Dim] | None = None
    """sizes, or Dims, of the output; must be given. The batch dim may be among them. () for a scalar"""
    sparse_dim: Dim | int | None = None
    """the output are labels of this dim"""
    shape_deps: Sequence[LayerBase] | Sequence[str] | str = ()
    """layers that are built first, as they define dims of shape"""

    def _layout(self) -> dict[str, Any]:
        """
        :return: arguments of :func:`rf.random`
        """
        dims = dims_of_shape(self, self.shape, labels=self.sparse_dim is not None)
        sparse_dim = self.sparse_dim
        if isinstance(sparse_dim, int):
            sparse_dim = self.make_dim("sparse", sparse_dim, kind=DimKind.Feature)
        feature = dims[-1] if dims and sparse_dim is None and dims[-1].is_static else None
        sizes = [self._size(dim) for dim in dims] if self.has_values else None
        return {"dims": dims, "sparse_dim": sparse_dim, "feature_dim": feature, "sizes": sizes}

    def _size(self, dim: Dim) -> Size:
        return self.network.get_data_batch_dim() if dim.is_batch_dim else dim.get_dim_value()

    def _number(self, value: Any) -> Any:
        """
        :return: number, or Tensor of a layer
        """
        return self._output_of(value) if isinstance(value, LayerBase) else value


def _check_algorithm(algorithm: str | None) -> None:
    if algorithm is not None and algorithm.lower() not in ("philox", "auto_select"):
        raise ConfigError('algorithm must be "philox" or "auto_select", but is %r' % (algorithm,))


@layer_class("random")
class RandomLayer(_WithShape):
    """Random numbers [shape..], others in each step. The last axis is the feature axis.

    Uniform: in [``minval``, ``maxval``), or in [mean - ``bound``, mean + ``bound``), or with mean and ``stddev``.
    Normal, or truncated_normal (at two standard deviations): with mean and stddev.

    The state is saved, so a resumed run goes on as if it had never stopped. It is the parameter
    ``random_generator/StateVar``, int64 [3]; or it is that of a variable, see ``explicit_state``. Other numbers on each
    backend; on TensorFlow, those of ``tf.random.Generator`` from this state.
    """

    _layer_options = ("shape_deps", "mean", "stddev", "bound", "minval", "maxval", "explicit_state")

    distribution: str | None = None
    """uniform, normal, truncated_normal; must be given"""
    mean: int | float | LayerBase | str | None = None
    """number, or layer whose axes are among those of shape; default 0"""
    stddev: int | float | LayerBase | str | None = None
    """likewise; default 1 for normal distributions"""
    bound: int | float | LayerBase | str | None = None
    """likewise; of a uniform distribution half of the range"""
    minval: int | float | LayerBase | str | None = None
    """likewise; default 0. Of integers a scalar"""
    maxval: int | float | LayerBase | str | None = None
    """likewise; itself not reached"""
    dtype: str = "float32"
    """of the output; integers are uniform, with ``maxval``"""
    seed: int | Sequence[int] | None = None
    """number, or the three of a state, to start from; by default drawn from the seed of the network"""
    static: bool | None = None
    """the same numbers in each step, a function of ``seed`` alone; no state"""
    algorithm: str | None = None
    """"philox", which is the only one"""
    explicit_state: LayerBase | str | None = None
    """layer whose output is the state: what is drawn is a function of it"""
    auto_update_state: bool | None = None
    """the state goes on with each step: then it must be a layer of class ``variable``. Default: False with
    ``explicit_state``; always True without it"""

    def compute(self) -> Tensor:
        if self.distribution is None:
            raise ConfigError('option "distribution" is missing')
        _check_algorithm(self.algorithm)
        layout = self._layout()
        numbers = {key: self._number(getattr(self, key)) for key in ("mean", "stddev", "bound", "minval", "maxval")}
        state = self._state(layout["sizes"])
        return rf.random(distribution=self.distribution, state=state, dtype=self.dtype, **numbers, **layout)

    def _state(self, sizes: list[Size] | None) -> Tensor:
        if self.static:
            if self.explicit_state is not None or self.auto_update_state:
                raise ConfigError("static numbers have no state: drop explicit_state and auto_update_state")
            words = self._seed(self.seed, num_draws=_DRAWN_FOR_A_LAYER)
            return rf.random_state_from_seed(words, backend=self._backend)
        if self.explicit_state is not None:
            return self._given_state(sizes)
        if self.auto_update_state is False:
            raise ConfigError("auto_update_state is False: then explicit_state is needed")
        init = Constant(random_state_words(self._seed(self.seed, num_draws=_DRAWN_FOR_A_LAYER)))
        state = self.param("StateVar", [STATE_DIM], init=init, trainable=False, dtype="int64", scope="random_generator")
        return self._advanced(self.find_param("random_generator/StateVar"), state, sizes)

    def _given_state(self, sizes: list[Size] | None) -> Tensor:
        layer = self.explicit_state
        assert isinstance(layer, LayerBase)
        state = self._output_of(layer)
        if state.dtype != "int64" or [d.dimension for d in state.dims] != [3]:
            raise ConfigError("explicit_state must be int64 [3], but layer %r is %s" % (layer.name, state.short_repr()))
        if not self.auto_update_state:
            return random_state(state.raw_tensor if self.has_values else None)
        if not isinstance(layer, VariableLayer):
            raise ConfigError("auto_update_state: layer %r must be of class variable" % layer.name)
        return self._advanced(layer.var, state, sizes)

    def _advanced(self, var: Any, state: Tensor, sizes: list[Size] | None) -> Tensor:
        if not self.has_values:
            return random_state(None)
        backend = self.network.backend
        count = backend.product(sizes or ())
        # who else reads it in this step has the state from before
        return random_state(backend.after([state.raw_tensor], lambda: backend.advance_random_state(var, count)))


@layer_class("random_state_init")
class RandomStateInitLayer(_Drawing):
    """A state for the layer class random: int64 [3], the same in each step. No input."""

    algorithm: str | None = None
    """"philox", which is the only one"""
    seed: int | Sequence[int] | None = None
    """number, or all three; by default drawn from the seed of the network"""
    out_dim: Dim | None = None
    """of size 3"""

    def compute(self) -> Tensor:
        _check_algorithm(self.algorithm)
        state = rf.random_state_from_seed(self._seed(self.seed), backend=self._backend)
        return state if self.out_dim is None else rf.replace_dim(state, in_dim=STATE_DIM, out_dim=self.out_dim)


@layer_class("rand_int")
class RandIntLayer(_WithShape):
    """Random integers [shape..], uniform in [``minval``, ``maxval``), others in each step. The last axis is the feature
    axis.

    They are a function of random seed, name of the layer, ``seed`` and global step, so a resumed run draws the same.
    """

    _layer_options = ("shape_deps", "maxval", "minval")

    maxval: int | LayerBase | str | None = None
    """number, or layer with a scalar; itself not reached; must be given"""
    minval: int | LayerBase | str = 0
    """number, or layer with a scalar"""
    dtype: str = "int32"
    """of the output"""
    seed: int | None = None
    """another number, other integers"""

    def compute(self) -> Tensor:
        if self.maxval is None:
            raise ConfigError('option "maxval" is missing')
        name = self.get_absolute_name() if self.seed is None else "%s/%s" % (self.get_absolute_name(), self.seed)
        if self.seed is None:
            self._skip_seed()
        state = rf.random_state_of_step(name, backend=self._backend)
        return rf.random_uniform(
            minval=self._number(self.minval),
            maxval=self._number(self.maxval),
            dtype=self.dtype,
            state=state,
            **self._layout(),
        )
