"""Files that may be packed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from returnn.util.errors import ConfigError
from returnn.util.packed import DAMAGED, open_unpacked, read_unpacked

TEXT = b"a b\n" * 1000


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_reads_both(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith(".gz") else TEXT)
    assert read_unpacked(str(path), "list") == TEXT
    with open_unpacked(str(path)) as f:
        assert f.readline() == b"a b\n"


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    """Not there; cut short; other bytes inside; not packed at all."""
    packed = gzip.compress(TEXT)
    contents = {"cut": packed[:-9], "bytes": packed[:12] + b"\xff" * 20 + packed[32:], "plain": TEXT}
    with pytest.raises(ConfigError, match="list not found: 'nowhere.gz'"):
        read_unpacked("nowhere.gz", "list")
    for name, content in contents.items():
        path = tmp_path / (name + ".gz")
        path.write_bytes(content)
        with pytest.raises(ConfigError, match=f"^list '.*{name}.gz': damaged or not packed by gzip: "):
            read_unpacked(str(path), "list")
        with open_unpacked(str(path)) as f, pytest.raises(DAMAGED):
            f.read()
