"""Sequences from the library ``datasets`` of Hugging Face: from its hub, from folders, from Arrow files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.tensor import Tensor
from returnn.util import file_cache
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean, file_not_found
from returnn.util.user_functions import failures_in_users_code

from .cached2 import CachedDataset2
from .data_templates import check_array, data_templates, num_outputs_of
from .seq import DatasetSeq


class HuggingFaceDataset(CachedDataset2):
    """A sequence a row, a data key a column. Needs the library ``datasets``.

    String columns with a vocabulary give its labels, audio columns samples, or bytes if they are not decoded. All data
    keys count as targets. Memory: the tags; the rest stays in its files.
    """

    def __init__(
        self,
        dataset_opts: Mapping[str, Any] | str | os.PathLike[str] | Sequence[str] | Callable[[], Any],
        *,
        use_file_cache: bool = False,
        map_func: Callable[[Any], Any] | None = None,
        rename_columns: Mapping[str, str] | None = None,
        cast_columns: Mapping[str, Any] | None = None,
        data_format: Mapping[str, Any],
        seq_tag_column: str | None = "id",
        sorting_seq_len_column_data: str | None = None,
        sorting_seq_len_column: str | None = None,
        **kwargs: Any,
    ):
        """
        :param dataset_opts: dict: arguments of ``datasets.load_dataset``; folder: for ``datasets.load_from_disk``;
            list: Arrow files; or a function that gives one of these, or the dataset itself
        :param use_file_cache: read local copies of the files
        :param map_func: ``datasets.Dataset`` -> ``datasets.Dataset``
        :param rename_columns: old name -> new name, behind ``map_func``
        :param cast_columns: column -> type, as ``datasets.Audio(sampling_rate=16000)``, behind ``rename_columns``
        :param data_format: column -> options of a Tensor without batch axis: ``shape``, ``dim``, ``dtype``,
            ``sparse``, ``vocab``
        :param seq_tag_column: None: tags are ``seq-<row>``
        :param sorting_seq_len_column_data: orders by length use the lengths of the values in this column
        :param sorting_seq_len_column: they use the numbers in this column
        """
        super().__init__(**kwargs)
        if not data_format:
            raise ConfigError(f"{self.describe()}: data_format must name at least one column")
        if sorting_seq_len_column and sorting_seq_len_column_data:
            raise ConfigError(
                f"{self.describe()}: sorting_seq_len_column and sorting_seq_len_column_data exclude each other"
            )
        self.dataset_opts = dataset_opts
        self.use_file_cache = use_file_cache
        self.map_func = map_func
        self.rename_columns = rename_columns
        self.cast_columns = cast_columns
        self.data_format = data_format
        self.seq_tag_column = seq_tag_column
        self.sorting_seq_len_column_data = sorting_seq_len_column_data
        self.sorting_seq_len_column = sorting_seq_len_column
        self._templates = data_templates(data_format, f"{self.describe()}: data_format")
        self.num_outputs = num_outputs_of(self._templates)
        self.labels = {key: x.vocab.labels for key, x in self._templates.items() if x.vocab is not None}
        self._text_keys: set[str] = set()  # of those with a vocabulary
        self._rows: Any = None
        self._tags: list[str] | None = None
        self._lens: numpy.ndarray | None = None
        self._order: Sequence[int] = []
        self._num_seqs = 0

    # Loading.

    def initialize(self) -> None:
        """Opens the files."""
        if self._rows is None:
            self._rows = self._load()
        super().initialize()

    def _load(self) -> Any:
        try:
            import datasets  # noqa: PLC0415  # heavy, and an extra
        except ImportError as exc:
            raise UserError(
                f'{self.describe()} needs the library "datasets": pip install "returnn[huggingface]" ({exc})'
            ) from exc
        opts = self.dataset_opts
        if callable(opts):
            with failures_in_users_code(f"{self.describe()}: dataset_opts"):
                opts = opts()
        rows = self._open(datasets, opts)
        if isinstance(rows, Mapping):
            raise ConfigError(
                f"{self.describe()}: dataset_opts gives several splits: {', '.join(map(repr, rows))}. Choose one, for"
                ' example by "split" in dataset_opts, or by map_func.'
            )
        if self.map_func is not None:
            with failures_in_users_code(f"{self.describe()}: map_func"):
                rows = self.map_func(rows)
        self._check_columns(rows, "rename_columns", self.rename_columns or ())
        rows = rows.rename_columns(dict(self.rename_columns)) if self.rename_columns else rows
        self._check_columns(rows, "cast_columns", self.cast_columns or ())
        for column, feature in (self.cast_columns or {}).items():
            rows = rows.cast_column(column, feature)
        self._check_columns(rows, "data_format", self._templates)
        more = {
            name: getattr(self, name)
            for name in ("seq_tag_column", "sorting_seq_len_column", "sorting_seq_len_column_data")
            if getattr(self, name) is not None
        }
        for name, column in more.items():
            self._check_columns(rows, name, [column])
        rows = rows.select_columns(list(dict.fromkeys([*self._templates, *more.values()])))
        for key, template in self._templates.items():
            self._check_type(key, template, rows.features[key])
        return rows.with_format("numpy")

    def _open(self, datasets: Any, opts: Any) -> Any:
        if isinstance(opts, Mapping):
            return datasets.load_dataset(**opts)
        if isinstance(opts, (str, os.PathLike)):
            path = os.fspath(opts)
            if not os.path.isdir(path):
                raise ConfigError(f"{self.describe()}: {file_not_found('folder', path)}")
            return datasets.load_from_disk(self._local_folder(path))
        if isinstance(opts, (list, tuple)):
            missing = next((name for name in opts if not os.path.exists(name)), None)
            if missing is not None or not opts:
                what = file_not_found("Arrow file", str(missing)) if opts else "the list of Arrow files is empty"
                raise ConfigError(f"{self.describe()}: {what}")
            files = [file_cache.get_instance().get_file(name) if self.use_file_cache else name for name in opts]
            return datasets.concatenate_datasets([datasets.Dataset.from_file(name) for name in files])
        if hasattr(opts, "features"):
            return opts
        raise ConfigError(
            f"{self.describe()}: dataset_opts must be a dict, a folder, a list of Arrow files, or a function that gives"
            f" one of them, but is {opts!r:.100}"
        )

    def _local_folder(self, path: str) -> str:
        if not self.use_file_cache:
            return path
        cache = file_cache.get_instance()
        for folder, _, names in os.walk(path):
            for name in names:
                cache.get_file(os.path.join(folder, name))
        return cache.path_of(path)

    def _check_columns(self, rows: Any, option: str, columns: Any) -> None:
        for column in columns:
            if column not in rows.column_names:
                raise ConfigError(
                    f"{self.describe()}: {option}: there is no column {column!r}."
                    f"{did_you_mean(column, rows.column_names)} There are: {', '.join(rows.column_names)}"
                )

    def _check_type(self, key: str, template: Tensor, feature: Any) -> None:
        ndim, inner = 0, feature
        while type(inner).__name__ in ("List", "LargeList", "Sequence") and hasattr(inner, "feature"):
            ndim, inner = ndim + 1, inner.feature
        if type(inner).__name__.startswith("Array") and hasattr(inner, "shape"):
            ndim += len(inner.shape)
        column_dtype = getattr(inner, "dtype", None)
        is_text = column_dtype in ("string", "large_string")
        if template.vocab is not None and is_text and not ndim:
            self._text_keys.add(key)
            return
        if type(inner).__name__ in ("Audio", "Image"):
            return  # known only with the value
        if (template.dtype == "string") != is_text or ndim != template.ndim:
            raise ConfigError(
                f"{self.describe()}: data_format: {key!r} is declared as {template.dtype} with {template.ndim} axes,"
                f" but its column is {feature}"
            )

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._order = self._corpus_order(
            epoch,
            seq_list,
            seq_order,
            num_seqs=len(self._rows),
            get_seq_len=self._get_len if self.supports_seq_order_sorting() else None,
        )
        self._num_seqs = len(self._order)
        return True

    def _get_len(self, corpus_seq_idx: int) -> float:
        if self._lens is None:
            if self.sorting_seq_len_column:
                self._lens = numpy.asarray(self._rows.with_format("numpy")[self.sorting_seq_len_column][:])
            else:
                column = self._rows.with_format("arrow").select_columns([self.sorting_seq_len_column_data])
                lens = [_arrow_lens(table.column(0)) for table in column.iter(batch_size=10_000)]
                self._lens = numpy.concatenate(lens) if lens else numpy.zeros(0, dtype="int64")
        return self._lens[corpus_seq_idx].item()

    # Sequences.

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        seq = self.get_corpus_seq(int(self._order[seq_idx]))
        seq.seq_idx = seq_idx
        return seq

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        row = self._rows[corpus_seq_idx]
        tag = f"seq-{corpus_seq_idx}" if self.seq_tag_column is None else str(row[self.seq_tag_column])
        features = {key: self._value(key, template, row[key], tag) for key, template in self._templates.items()}
        return DatasetSeq(corpus_seq_idx, features, seq_tag=tag)

    def _value(self, key: str, template: Tensor, value: Any, tag: str) -> numpy.ndarray:
        what = f"{self.describe()}: sequence {tag!r}: {key!r}"
        if value is None:
            raise UserError(f"{what} is missing in its row")
        if key in self._text_keys:
            try:
                return numpy.array(template.vocab.get_seq(str(value)), dtype=template.dtype)
            except UserError as exc:
                raise UserError(f"{what}: {exc}") from exc
        if isinstance(value, dict) and "array" in value:
            value = value["array"]
        elif isinstance(value, dict) and "bytes" in value:
            value = numpy.frombuffer(_bytes_of(value), dtype="uint8")
        elif hasattr(value, "get_all_samples"):
            value = value.get_all_samples().data.numpy()
            value = value[0] if template.ndim == 1 and len(value) == 1 else value.T
        array = numpy.asarray(value)
        if template.dtype != "string" and array.dtype.kind in "iufb":
            array = array.astype(template.dtype)
        return check_array(template, array, what)

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: rows
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: row
        """
        return int(self._order[seq_idx])

    def get_estimated_seq_length(self, seq_idx: int) -> float:
        """
        :return: what orders by length use
        """
        return self._get_len(int(self._order[seq_idx]))

    def get_all_tags(self) -> list[str]:
        """
        :return: by row
        """
        if self._tags is None:
            if self.seq_tag_column is None:
                self._tags = [f"seq-{i}" for i in range(len(self._rows))]
            else:
                self._tags = [str(tag) for tag in self._rows.with_format(None)[self.seq_tag_column]]
        return self._tags

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: number of rows
        """
        return len(self._rows)

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: whether a column for that is given
        """
        return bool(self.sorting_seq_len_column or self.sorting_seq_len_column_data)

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    def get_data_keys(self) -> list[str]:
        """
        :return: those of ``data_format``
        """
        return list(self._templates)

    def get_target_list(self) -> list[str]:
        """
        :return: all
        """
        return list(self._templates)

    def get_data_dim(self, key: str) -> int:
        """
        :return: number of features or classes, as in ``data_format``
        """
        return self._templates[key].dim or 0

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: as in ``data_format``
        """
        return self._templates[key].sparse

    def get_data_dtype(self, key: str) -> str:
        """
        :return: as in ``data_format``
        """
        return self._templates[key].dtype

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: shape of a frame, as in ``data_format``
        """
        return list(self._templates[key].shape[1:])


def _arrow_lens(column: Any) -> numpy.ndarray:
    """:return: [row] lengths of lists or texts"""
    import pyarrow.compute  # noqa: PLC0415  # comes with datasets

    is_text = str(column.type) in ("string", "large_string")
    count = pyarrow.compute.utf8_length if is_text else pyarrow.compute.list_value_length
    return count(column).to_numpy()


def _bytes_of(value: dict[str, Any]) -> bytes:
    if value["bytes"] is not None:
        return value["bytes"]
    with open(value["path"], "rb") as f:
        return f.read()
