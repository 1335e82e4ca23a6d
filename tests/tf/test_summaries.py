"""Event files are there for TensorBoard, and a full disk costs only them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from returnn.tf.compat import tf, v1
from returnn.tf.summaries import EventLog
from tests.program import root


def test_events_are_what_tensorboard_reads(tmp_path: Path) -> None:
    """The version first, then the graph, then a value a step."""
    with tf.Graph().as_default() as graph:
        tf.constant(1, name="one")
    log = EventLog(str(tmp_path), graph=graph)
    for step in range(3):
        log.add({"loss": step / 2}, step=step)
    log.close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    version, graph_event, *events = v1.train.summary_iterator(str(path))
    assert version.file_version == "brain.Event:2"
    assert [node.name for node in v1.GraphDef.FromString(graph_event.graph_def).node] == ["one"]
    assert [(e.step, e.summary.value[0].tag, e.summary.value[0].simple_value) for e in events] == [
        (0, "loss", 0),
        (1, "loss", 0.5),
        (2, "loss", 1),
    ]


def test_serialised_summaries_stand_beside_the_values(tmp_path: Path) -> None:
    """As operations for images give them."""
    log = EventLog(str(tmp_path))
    picture = v1.Summary(value=[v1.Summary.Value(tag="picture", image=v1.Summary.Image(width=3, height=2))])
    log.add({"loss": 1.0}, step=7, serialized=[picture.SerializeToString()])
    log.close()
    (path,) = tmp_path.iterdir()
    *_, event = v1.train.summary_iterator(str(path))
    assert event.step == 7 and [value.tag for value in event.summary.value] == ["loss", "picture"]
    assert event.summary.value[1].image.width == 3


def test_nothing_to_write_makes_no_file(tmp_path: Path) -> None:
    """No values, no folder."""
    log = EventLog(str(tmp_path / "logs"))
    log.add({}, step=0)
    log.flush()
    log.close()
    assert list(tmp_path.iterdir()) == []


_FULL_DISK = """
import resource, signal, sys
from returnn.tf.summaries import EventLog
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log = EventLog(sys.argv[1])
for step in range(2000):
    log.add({"loss": 1.0}, step=step)
log.flush()
log.close()
print("done")
"""


def test_full_disk_ends_the_events_not_the_training(tmp_path: Path) -> None:
    """No file may be larger than 20000 bytes: one warning, and 2000 steps go on to their end."""
    code = [sys.executable, "-c", _FULL_DISK, str(tmp_path)]
    result = subprocess.run(code, cwd=root, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and result.stdout.endswith("done\n"), result.stderr
    assert result.stdout.count("Cannot write TensorBoard events to") == 1
