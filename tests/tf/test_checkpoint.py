"""Checkpoints are whole or absent, and what does not fit is told before anything is set."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from returnn.tf.checkpoint import (
    DATA_SUFFIX,
    CheckpointSaver,
    DamagedCheckpointError,
    assign_values,
    note,
    read_checkpoint,
    read_note,
    write_checkpoint_state,
)
from returnn.tf.compat import tf, v1
from returnn.util import files
from returnn.util.errors import UserError


@pytest.fixture
def session() -> Iterator[v1.Session]:
    """Variables ``h/W`` [2, 3] = 0..5, ``h/b`` [3] = 0, ``global_step`` = 12."""
    graph = tf.Graph()
    with graph.as_default():
        with v1.variable_scope("h"):
            v1.get_variable("W", initializer=tf.constant(numpy.arange(6, dtype="float32").reshape(2, 3)))
            v1.get_variable("b", shape=(3,), initializer=v1.zeros_initializer())
        v1.get_variable("global_step", initializer=tf.constant(12, tf.int64))
        with v1.Session(graph=graph) as session:
            session.run(v1.global_variables_initializer())
            yield session


def _values(session: v1.Session) -> dict[str, numpy.ndarray]:
    return {var.op.name: session.run(var) for var in v1.global_variables()}


def _save(session: v1.Session, prefix: str, **kwargs) -> None:
    CheckpointSaver(v1.global_variables(), name="save", **kwargs).save(session, prefix)


def test_saved_then_read_equals_before(session: v1.Session, tmp_path: Path) -> None:
    """Names, shapes, types and values come back, and no file but the checkpoint's stays."""
    prefix = str(tmp_path / "m.001")
    _save(session, prefix)
    values = read_checkpoint(prefix)
    assert sorted(values) == ["global_step", "h/W", "h/b"]
    assert values["global_step"] == 12 and values["global_step"].dtype == "int64"
    numpy.testing.assert_array_equal(values["h/W"], [[0, 1, 2], [3, 4, 5]])
    assert sorted(os.listdir(tmp_path)) == ["m.001.data-00000-of-00001", "m.001.index"]


def test_tf_saver_reads_it_and_the_meta_graph_restores(session: v1.Session, tmp_path: Path) -> None:
    """``import_meta_graph`` on the ``.meta`` gives a saver that restores h/W, as with any TF checkpoint."""
    prefix = str(tmp_path / "m.001")
    _save(session, prefix, with_meta=True)
    write_checkpoint_state(prefix)
    with tf.Graph().as_default(), v1.Session() as other:
        saver = v1.train.import_meta_graph(prefix + ".meta")
        saver.restore(other, v1.train.latest_checkpoint(str(tmp_path)))
        numpy.testing.assert_array_equal(other.run("h/W/Read/ReadVariableOp:0"), [[0, 1, 2], [3, 4, 5]])


def test_note_in_the_meta_graph(session: v1.Session, tmp_path: Path) -> None:
    """It is read from the file alone; without file, or of another key, there is none."""
    note("formula", "tanh")
    _save(session, str(tmp_path / "m"), with_meta=True)
    _save(session, str(tmp_path / "plain"))
    (tmp_path / "damaged.meta").write_bytes(b"no proto")
    assert read_note(str(tmp_path / "m"), "formula") == "tanh"
    assert read_note(str(tmp_path / "m"), "other") is None
    assert read_note(str(tmp_path / "plain"), "formula") is None
    assert read_note(str(tmp_path / "damaged"), "formula") is None


def test_assign_makes_no_op_and_sets_only_what_is_given(session: v1.Session) -> None:
    """The graph is final; h/b becomes 7, the others stay."""
    v1.get_default_graph().finalize()
    assign_values(session, {"h/b": numpy.full(3, 7, "float32")}, v1.global_variables())
    after = _values(session)
    numpy.testing.assert_array_equal(after["h/b"], [7, 7, 7])
    assert after["global_step"] == 12


def test_assign_to_two_variables_that_start_from_one_tensor() -> None:
    """a and b have one initial value tensor, and still get 1 and 2."""
    with tf.Graph().as_default(), v1.Session() as session:
        zero = tf.constant(0.0)
        a, b = v1.get_variable("a", initializer=zero), v1.get_variable("b", initializer=zero)
        assign_values(session, {"a": numpy.float32(1), "b": numpy.float32(2)}, [a, b])
        assert session.run([a, b]) == [1, 2]


def _truncate(path: str, size: int) -> None:
    with open(path, "r+b") as f:
        f.truncate(size)


def _flip_byte(path: str) -> None:
    with open(path, "r+b") as f:
        f.seek(4)
        byte = f.read(1)
        f.seek(4)
        f.write(bytes([byte[0] ^ 255]))


@pytest.mark.parametrize(
    ["suffix", "damage"],
    [
        (DATA_SUFFIX, os.remove),
        (DATA_SUFFIX, lambda path: _truncate(path, 0)),
        (DATA_SUFFIX, lambda path: _truncate(path, 10)),
        (DATA_SUFFIX, _flip_byte),
        (".index", lambda path: _truncate(path, 0)),
        (".index", lambda path: _truncate(path, 40)),
    ],
    ids=["data missing", "data empty", "data short", "data changed", "index empty", "index short"],
)
def test_damage_is_noticed(session: v1.Session, tmp_path: Path, suffix: str, damage) -> None:
    """Each file of a checkpoint removed, cut or changed: one clear error, never wrong values."""
    prefix = str(tmp_path / "m.001")
    _save(session, prefix)
    damage(prefix + suffix)
    with pytest.raises(DamagedCheckpointError, match=r"checkpoint .*m\.001' is damaged: "):
        read_checkpoint(prefix)


@pytest.mark.parametrize("suffix", [DATA_SUFFIX, ".index"])
def test_what_the_system_does_not_let_us_read_is_not_damage(session: v1.Session, tmp_path: Path, suffix: str) -> None:
    """A folder where a file should be: the error has its name and the cause, and nobody goes on without it."""
    prefix = str(tmp_path / "m.001")
    _save(session, prefix)
    os.remove(prefix + suffix)
    os.mkdir(prefix + suffix)
    with pytest.raises(UserError, match=rf"cannot be read: .*m\.001{suffix}': Is a directory") as exc_info:
        read_checkpoint(prefix)
    assert not isinstance(exc_info.value, DamagedCheckpointError)


@pytest.mark.parametrize(
    ["text", "is_damage"],
    [
        ("/x/m.001.index; Stale file handle", False),
        ("/x/m.001.data-00000-of-00001; Input/output error", False),
        ("Unable to read file (/x). Perhaps the file is corrupt (failed to seek): /x; Input/output error", False),
        ("something new", False),
        ("Unable to read file (/x). Perhaps the file is corrupt (failed to seek): block checksum mismatch", True),
        ("truncated block read", True),
    ],
)
def test_kinds_of_errors(
    session: v1.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_damage: bool
) -> None:
    """Trouble of the file system, and what nobody knows, is not damage."""
    prefix = str(tmp_path / "m.001")
    _save(session, prefix)

    def fail(_prefix: str) -> None:
        raise tf.errors.OpError(None, None, text, tf.errors.UNKNOWN)

    monkeypatch.setattr("returnn.tf.checkpoint.v1.train.NewCheckpointReader", fail)
    with pytest.raises(UserError) as exc_info:
        read_checkpoint(prefix)
    assert isinstance(exc_info.value, DamagedCheckpointError) == is_damage


def test_missing_checkpoint_is_a_user_error(tmp_path: Path) -> None:
    """The message has the file that should be there."""
    with pytest.raises(UserError, match=r"There is no checkpoint .*m\.001'.*m\.001\.index' does not exist"):
        read_checkpoint(str(tmp_path / "m.001"))


def test_full_disk_leaves_the_older_checkpoint_whole(
    session: v1.Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no space left for m.002 the retries end, the message says so, m.001 can be read, nothing else is left."""
    saver = CheckpointSaver(v1.global_variables(), name="save")
    saver.save(session, str(tmp_path / "m.001"))
    before = sorted(os.listdir(tmp_path))

    def no_space(src: str, dst: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("returnn.tf.checkpoint.rename_durable", no_space)
    monkeypatch.setattr(
        "returnn.tf.checkpoint.retry_on_disk_full",
        lambda func, what: files.retry_on_disk_full(func, what=what, max_seconds=0, sleep=lambda _: None),
    )
    with pytest.raises(UserError, match=r"Cannot save checkpoint .*m\.002'.*No space left"):
        saver.save(session, str(tmp_path / "m.002"))
    assert sorted(os.listdir(tmp_path)) == before
    read_checkpoint(str(tmp_path / "m.001"))


def test_errors_of_tensorflow_about_files_become_user_errors(session: v1.Session, tmp_path: Path) -> None:
    """A name longer than a file system allows: one message, no TensorFlow exception."""
    with pytest.raises(UserError, match="Cannot save checkpoint .*File name too long"):
        _save(session, str(tmp_path / ("m" * 300)))
