"""Writing what a layer computes to HDF files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from returnn.log import log
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError
from returnn.util.lazy import import_name

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network

_written: set[str] = set()
"""files that this process has written, by their absolute names"""


@layer_class("hdf_dump")
class HDFDumpLayer(ConcatInputLayer):
    """Writes its source to an HDF file after each step, which an HDFDataset can read, and passes it on.

    The source has batch and time. A sequence is an entry of the file, cut to its length; those with several axes of
    lengths are stored flat. With it comes the data key ``seq_sizes``: the lengths of all its axes.
    The file appears under its name, whole, when the network is closed. It must not exist: delete it, or choose another
    name. (A network that is built anew in the same process goes on with its file.)
    """

    recurrent = True  # so that sequences are not packed, several into a row of the batch

    filename: str | Callable[..., str] | None = None
    """must be given. With ``dump_per_run`` a format string with ``{epoch}`` and ``{dataset_name}``, or a function of
    these keywords"""
    extra: dict[str, LayerBase | str] | None = None
    """data key -> layer: further data of a sequence. A layer without time axis has one frame. Otherwise the frames are
    those of the batch, with padding, and the lengths have the data key ``KEY_seq_lens``"""
    dump_per_run: bool = False
    """a file for each pass over a dataset, closed at its end. Such a file may exist: it is replaced, as the pass is
    done once more"""
    extend_existing_file: bool = False
    """write behind what is in the file, which must exist"""
    dump_whole_batches: bool = False
    """a batch is an entry of the file: the frames of all its sequences, with padding. The tags of the sequences are
    joined by ``<->``; the data key ``seq_tags`` has them, too"""
    labels: Sequence[str] | None = None
    """of the classes; those of the vocabulary of the source by default"""
    _layer_options = ("extra",)

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        super().transform_config_dict(d, network, get_layer)
        extra = d.get("extra")
        if extra is not None:
            if not isinstance(extra, dict):
                raise ConfigError("extra must be a dict, data key -> layer, but is %r" % (extra,))
            d["extra"] = {key: get_layer(layer) if isinstance(layer, str) else layer for key, layer in extra.items()}

    def used_layers(self) -> list[LayerBase]:
        return super().used_layers() + list(self._extra_layers().values())

    def _extra_layers(self) -> dict[str, LayerBase]:
        return {key: layer for key, layer in sorted((self.extra or {}).items()) if isinstance(layer, LayerBase)}

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self._writer: Any = None
        self._num_seqs = 0

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        if not self.dump_per_run:
            self._check_file()
        self.network.register_graph_reset_callback(self._close)
        if self.dump_per_run:
            self.network.register_run_finished_callback(self._close)

    def compute(self, x: Tensor) -> Tensor:
        self._check_options(x)
        network = self.network
        if self._is_template:
            return x
        tags = network.get_extern_data("seq_tag")
        if not self.has_values:
            return x
        source = self.sources[0]
        self.output_before_activation, self.output_loss = source.output_before_activation, source.output_loss
        if network.get_config().bool("dry_run", False):
            return x
        columns = [_Column.of("data", x)]
        columns += [_Column.of(key, layer.output) for key, layer in self._extra_layers().items()]
        raws = [tags.raw_tensor]
        raws += [raw for column in columns for raw in (column.raw, *column.lens)]

        def write(tags: numpy.ndarray, *arrays: numpy.ndarray) -> list[bool]:
            rest = list(arrays)
            self._write(tags, [column.with_values(rest, len(tags)) for column in columns])
            return [True]

        done = network.backend.call_numpy(write, raws, [("bool", 0)])
        network.register_post_control_dependencies(done)
        return x

    def _check_options(self, x: Tensor) -> None:
        self._only_source(self.sources)
        if not x.have_batch_axis() or not x.have_time_axis():
            raise ConfigError("hdf_dump needs a source with batch and time, but it is %s" % x.short_repr())
        if not isinstance(self.filename, str) and not (self.dump_per_run and callable(self.filename)):
            raise ConfigError(
                "filename must be a string, or with dump_per_run a function, but is %r" % (self.filename,)
            )
        for key in ("seq_sizes", "sizes", "seq_tags"):
            if key in (self.extra or {}):
                raise ConfigError("extra must not have the data key %r, which the layer makes itself" % key)

    def _check_file(self) -> None:
        name = str(self.filename)
        if os.path.abspath(name) in _written:
            return
        if self.extend_existing_file and not os.path.exists(name):
            raise ConfigError("file %r does not exist, so extend_existing_file is not possible" % name)
        if not self.extend_existing_file and os.path.exists(name):
            raise ConfigError(
                "file %r exists already. Delete it, choose another filename, or set extend_existing_file" % name
            )

    # ---- in each step

    def _write(self, tags: numpy.ndarray, columns: Sequence[_Values]) -> None:
        """
        :param tags: of the sequences
        :param columns: the source, and the further data
        """
        data, extra_columns = columns[0], columns[1:]
        entries = {column.key: column.entries(as_one=self.dump_whole_batches) for column in columns}
        dims = {column.key: column.dim for column in columns}
        tables = {column.key + "_seq_lens": column.lens for column in extra_columns if column.has_lens}
        for key, lens in {**tables, "seq_sizes": data.lens}.items():
            table = numpy.stack(lens, axis=1).astype("int32")
            entries[key] = table[None] if self.dump_whole_batches else table
        lens_of_data = dict(enumerate(data.lens))
        if self.dump_whole_batches:
            entries["seq_tags"] = tags[None]
            lens_of_data = {i: numpy.array([entries["data"].shape[1 + i]]) for i in lens_of_data}
            tags = numpy.array(["<->".join(_text(tag) for tag in tags)])
        inputs = entries.pop("data")
        if self._writer is None:
            types = {key: _hdf_type(array, dims.get(key)) for key, array in entries.items()}
            self._writer = self._open(data.dim, inputs.ndim - 1, types)
        self._writer.insert_batch(inputs, lens_of_data, tags.tolist(), entries)
        self._num_seqs += len(tags)

    def _open(self, dim: int | None, ndim: int, extra_type: dict[str, tuple[int, int, str]]) -> Any:
        """:return: :class:`SimpleHDFWriter`"""
        writer_class = import_name("returnn.datasets.hdf.writer:SimpleHDFWriter")  # h5py is slow to import
        vocab, name = self.output.vocab, str(self.filename)
        if self.dump_per_run:
            opts = self.network.get_run_opts()
            name = self.filename(**opts) if callable(self.filename) else name.format(**opts)
        goes_on = self.extend_existing_file or os.path.abspath(name) in _written
        return writer_class(
            name,
            dim=dim,
            ndim=ndim,
            labels=vocab.labels if self.labels is None and vocab is not None else self.labels,
            extra_type=extra_type,
            extend_existing_file=goes_on and not self.dump_per_run,
            overwrite=self.dump_per_run,
        )

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            _written.add(os.path.abspath(writer.filename))
            print("HDFDumpLayer, wrote %i seqs to file %r." % (self._num_seqs, writer.filename), file=log.v3)
            self._num_seqs = 0


class _Column(NamedTuple):
    """A value of the network that goes to the file."""

    key: str
    raw: Any
    """[batch, axes of lengths.., features if there are any]"""
    lens: list[Any]
    """raw, of those axes that are dynamic"""
    is_dynamic: list[bool]
    """for each axis of lengths"""
    dim: int | None
    """number of classes, or of features"""

    @classmethod
    def of(cls, key: str, x: Tensor) -> _Column:
        if not x.have_batch_axis():
            raise ConfigError("hdf_dump: %r has no batch axis: %s" % (key, x.short_repr()))
        x = x.copy_as_batch_major().copy_with_feature_last()
        if x.have_time_axis() and x.time_dim_axis != x.feature_dim_axis:
            x = x.copy_with_time_dim_axis(1)
        axes = [d for i, d in enumerate(x.dims) if i not in (0, x.feature_dim_axis)]
        lens = [d.dyn_size for d in axes if d.is_dynamic]
        return cls(key, x.raw_tensor, lens, [d.is_dynamic for d in axes], x.dim)

    def with_values(self, arrays: list[numpy.ndarray], num_seqs: int) -> _Values:
        """
        :param arrays: those of this column are taken away
        :param num_seqs: in the batch
        """
        array = arrays.pop(0)
        lens = [
            numpy.broadcast_to(arrays.pop(0) if dynamic else array.shape[axis], (num_seqs,))
            for axis, dynamic in enumerate(self.is_dynamic, 1)
        ]
        longest = [slice(None), *(slice(0, max(n, default=0)) for n in lens)]
        return _Values(self.key, array[tuple(longest)], lens, any(self.is_dynamic), self.dim)


class _Values(NamedTuple):
    """What a column is in a step."""

    key: str
    array: numpy.ndarray
    """[batch, axes of lengths.., features if there are any], as long as the longest sequence"""
    lens: list[numpy.ndarray]
    """int [batch], of each axis of lengths"""
    has_lens: bool
    """whether any of these is dynamic"""
    dim: int | None
    """number of classes, or of features"""

    def entries(self, *, as_one: bool) -> numpy.ndarray:
        """
        :param as_one: all sequences are one entry, their frames one behind the other
        :return: [entries, frames, ..]; or [entries], numbers
        """
        if as_one:
            merged = self.array.reshape(-1, *self.array.shape[2:]) if self.lens else self.array
            return merged[None]
        return self.array if self.lens or self.array.ndim == 1 else self.array[:, None]


def _hdf_type(array: numpy.ndarray, dim: int | None) -> tuple[int, int, str]:
    """
    :param array: [entries, ..]
    :return: dim, ndim, dtype
    """
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    return dim or 1, max(array.ndim - 1, 1), dtype


def _text(tag: str | bytes) -> str:
    return tag.decode("utf8") if isinstance(tag, bytes) else str(tag)
