"""Extern data with placeholders.

Their names are an interface: other programs feed ``extern_data/placeholders/KEY/KEY`` and ``KEY_dimAXIS_size``.
"""

from __future__ import annotations

from typing import Any

from returnn.config import Config
from returnn.network import extern_data
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.tf.compat import tf, v1

_SCOPE = "extern_data/placeholders/"


class ExternData(extern_data.ExternData):
    """See :class:`returnn.network.ExternData`; values are placeholders of the current graph."""

    batch_dim_placeholder: Any = None
    """int32 scalar: number of sequences; that of the first data key unless it is fed"""

    def init_from_config(self, config: Config, *, auto_create_placeholders: bool = False) -> None:
        super().init_from_config(config, auto_create_placeholders=auto_create_placeholders)
        if auto_create_placeholders:
            self.create_placeholders()

    def create_placeholders(self) -> None:
        """Makes those of all keys."""
        for key, data in self.get_sorted_data_items():
            self.create_placeholder(key, data)
        for _, data in self.get_sorted_data_items():
            if data.have_batch_axis() and batch_dim.dyn_size_ext is None:
                self._create_batch_dim(data)

    def _create_batch_dim(self, data: Tensor) -> None:
        size = tf.shape(data.raw_tensor)[data.batch_dim_axis]
        self.batch_dim_placeholder = v1.placeholder_with_default(size, (), name=_SCOPE + "batch_dim")
        batch_dim.dyn_size_ext = Tensor("batch", (), "int32", raw_tensor=self.batch_dim_placeholder)

    def create_placeholder(self, key: str, data: Tensor) -> None:
        """
        :param key: names the placeholders
        :param data: template; gets a value, and lengths where no other key has made them
        """
        name = _SCOPE + "%s/%s" % (key, key)
        data.raw_tensor = v1.placeholder(data.dtype, data.batch_shape, name=name)
        for axis, dim in enumerate(data.dims):
            if dim.is_dynamic and dim.dyn_size is None and dim.size_dims != ():
                without_batch = data.get_batch_axis_excluding_batch(axis)
                self._create_size(name + "_dim%i_size" % without_batch, dim)

    def _create_size(self, name: str, dim: Dim) -> None:
        dim.dyn_size = v1.placeholder(tf.int32, (None,), name=name)
