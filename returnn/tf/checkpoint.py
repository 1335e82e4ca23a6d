"""Checkpoints on the disk, in TensorFlow's V2 format, written whole.

    MODEL.003.data-00000-of-00001, MODEL.003.meta, MODEL.003.index      parameters and global_step, by variable name
    MODEL.003.optim.data-00000-of-00001, MODEL.003.optim.index          state of the optimizer

Law: the rename of the ``.index`` is the last step of a save, everything it speaks of is on the disk before. So a
prefix whose ``.index`` exists is a complete checkpoint, except after damage from outside, which
:func:`read_checkpoint` notices (each value carries a checksum).
Which files belong to a checkpoint, and how they go, is in :mod:`returnn.engine.checkpoint_files`.
All ops are made once, by the constructor of :class:`CheckpointSaver`; loading makes none.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy
from google.protobuf.message import DecodeError

from returnn.tf.compat import tf, v1
from returnn.util.errors import UserError
from returnn.util.files import remove_file, rename_durable, retry_on_disk_full, temp_path

INDEX_SUFFIX = ".index"
META_SUFFIX = ".meta"
DATA_SUFFIX = ".data-00000-of-00001"

_SIGNS_OF_DAMAGE = re.compile(
    r"checksum|sstable|corrupt|data loss|truncated|fewer bytes|less bytes|parse", re.IGNORECASE
)
"""In the texts of TensorFlow's errors, which say no more than that about the kind of an error."""


class DamagedCheckpointError(UserError):
    """A checkpoint is there, but cannot be read to its end."""


class CheckpointSaver:
    """Saves a fixed set of variables of the current graph."""

    def __init__(self, variables: Sequence[tf.Variable], *, name: str, with_meta: bool = False):
        """
        :param variables: all to be saved, under their op names
        :param name: scope of the ops
        :param with_meta: also write the graph, as ``.meta``
        """
        self._graph = v1.get_default_graph()
        self._saver_def = v1.train.Saver(
            {var.op.name: var for var in variables}, name=name, max_to_keep=0, write_version=v1.train.SaverDef.V2
        ).as_saver_def()
        self._with_meta = with_meta
        self._meta: bytes | None = None

    def save(self, session: v1.Session, prefix: str) -> None:
        """
        :param session: has the values
        :param prefix: of the file names. An older checkpoint of this name is replaced.
        :raises UserError: the disk is full (after a time of retries), or the files cannot be written
        """
        what = "checkpoint %r" % prefix
        try:
            os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
            retry_on_disk_full(lambda: self._save_once(session, prefix), what=what)
        except OSError as exc:
            raise UserError(f"Cannot save {what}: {exc}. Older checkpoints are untouched.") from exc

    def _save_once(self, session: v1.Session, prefix: str) -> None:
        temp = temp_path(prefix)
        suffixes = [DATA_SUFFIX, META_SUFFIX, INDEX_SUFFIX] if self._with_meta else [DATA_SUFFIX, INDEX_SUFFIX]
        try:
            with _file_errors_as_os_error(temp):
                session.run(self._saver_def.save_tensor_name, {self._saver_def.filename_tensor_name: temp})
            if self._with_meta:
                with open(temp + META_SUFFIX, "wb") as f:
                    f.write(self._serialized_meta())
            remove_file(prefix + INDEX_SUFFIX)  # an old index must never stand beside new data
            for suffix in suffixes:
                rename_durable(temp + suffix, prefix + suffix)
        finally:
            for path in glob.glob(glob.escape(temp) + "*"):
                remove_file(path)

    def _serialized_meta(self) -> bytes:
        if self._meta is None:  # the graph is final by now, so once is enough
            self._meta = v1.train.export_meta_graph(graph=self._graph, saver_def=self._saver_def).SerializeToString()
        return self._meta


_os_error_numbers = {
    os.strerror(number): number
    for number in (
        *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBUSY, errno.EFBIG),
        *(errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG),
    )
}
"""What TensorFlow writes into the text of its errors -> number of the system's error."""


@contextlib.contextmanager
def _file_errors_as_os_error(path: str) -> Iterator[None]:
    """Turns TensorFlow's errors about files into ``OSError``, as the rest of the world knows them."""
    try:
        yield
    except tf.errors.OpError as exc:
        for text, number in _os_error_numbers.items():
            if text in exc.message:
                raise OSError(number, text, path) from exc
        raise


def checkpoint_exists(prefix: str) -> bool:
    """
    :return: whether a checkpoint of that name was finished
    """
    return os.path.exists(prefix + INDEX_SUFFIX)


def read_checkpoint(prefix: str) -> dict[str, numpy.ndarray]:
    """
    :param prefix: of the file names
    :return: variable name -> value
    :raises UserError: no such checkpoint, or its files cannot be read: no permission, a folder of that name, ...
    :raises DamagedCheckpointError: files are missing, too short, or fail their checksum
    """
    if not checkpoint_exists(prefix):
        raise UserError(f"There is no checkpoint {prefix!r}: the file {prefix + INDEX_SUFFIX!r} does not exist.")
    try:
        reader = v1.train.NewCheckpointReader(prefix)
        return {name: reader.get_tensor(name) for name in sorted(reader.get_variable_to_shape_map())}
    except (tf.errors.OpError, RuntimeError, ValueError, IndexError) as exc:
        text = _first_line(getattr(exc, "message", None) or str(exc)) or repr(exc)
        _raise_if_unreadable(prefix)
        is_gone = os.strerror(errno.ENOENT) in text  # the index was there, so it is a file that belongs to it
        has_system_error = any(os.strerror(number) in text for number in errno.errorcode)
        if is_gone or isinstance(exc, IndexError) or (_SIGNS_OF_DAMAGE.search(text) and not has_system_error):
            raise DamagedCheckpointError(f"The checkpoint {prefix!r} is damaged: {text}") from exc
        raise UserError(f"The checkpoint {prefix!r} cannot be read: {text}") from exc


def _raise_if_unreadable(prefix: str) -> None:
    """
    :raises UserError: a file is there, but the system does not let us read it
    """
    for path in [prefix + INDEX_SUFFIX, *sorted(glob.glob(glob.escape(prefix) + ".data-*"))]:
        try:
            with open(path, "rb") as f:
                f.read(1)
        except OSError as exc:
            raise UserError(f"The checkpoint {prefix!r} cannot be read: {path!r}: {exc.strerror}.") from exc


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def assign_values(session: v1.Session, values: Mapping[str, numpy.ndarray], variables: Sequence[tf.Variable]) -> None:
    """
    Sets variables without any new op: runs their initializers, fed with other values.

    :param session: of the graph of the variables
    :param values: variable name -> value of the variable's shape
    :param variables: to set; those not in ``values`` are left alone
    """
    todo = [var for var in variables if var.op.name in values]
    while todo:
        initializers, feed, later = [], {}, []
        for var in todo:
            initial_value = var.initializer.inputs[1]
            if initial_value in feed:  # two variables may start from one tensor
                later.append(var)
                continue
            feed[initial_value] = values[var.op.name]
            initializers.append(var.initializer)
        session.run(initializers, feed)
        todo = later


def note(key: str, text: str) -> None:
    """
    :param key: one of this name only
    :param text: what to remember of the current graph, in the ``.meta`` of its checkpoints
    """
    v1.add_to_collection(key, text)


def read_note(prefix: str, key: str) -> str | None:
    """
    :param prefix: of the file names
    :param key: as of :func:`note`
    :return: None: it was not noted, or there is no ``.meta`` that can be read
    """
    meta = v1.MetaGraphDef()
    try:
        with open(prefix + META_SUFFIX, "rb") as f:
            meta.ParseFromString(f.read())
    except (OSError, DecodeError):
        return None
    texts = meta.collection_def[key].bytes_list.value if key in meta.collection_def else ()
    return texts[0].decode("utf8") if texts else None


def write_checkpoint_state(prefix: str) -> None:
    """Writes the file ``checkpoint`` beside the model, by which TensorFlow's own tools find the newest one."""
    folder, base = os.path.split(prefix)
    state = v1.train.generate_checkpoint_state_proto(folder or ".", base)
    # Other models may be in this folder, so what a killed run leaves must bear the name of this one.
    temp = temp_path(prefix) + ".checkpoint"
    try:
        with open(temp, "w", encoding="utf8") as f:
            f.write(str(state))
        rename_durable(temp, os.path.join(folder, "checkpoint"))
    finally:
        remove_file(temp)
