"""Wrong options of a search are told before anything is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from returnn.engine.search_options import check_search_output_file
from returnn.util.errors import ConfigError, UserError


def test_good_options(tmp_path: Path) -> None:
    check_search_output_file(str(tmp_path / "out"), "txt", "decision")
    check_search_output_file(str(tmp_path / "out.gz"), "py", ["decision", "output"])
    check_search_output_file("out", "py", "decision")


def test_unknown_format() -> None:
    message = "search_output_file_format: 'text' is unknown. Did you mean \"txt\"? There are: txt, py"
    with pytest.raises(ConfigError, match=message.replace("?", r"\?").replace(".", r"\.")):
        check_search_output_file("out", "text", "decision")


def test_several_layers_need_a_dict_for_each_sequence() -> None:
    with pytest.raises(ConfigError, match="Text format not supported in the case of multiple output layers"):
        check_search_output_file("out", "txt", ["decision", "output"])


def test_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(UserError, match="exists already. Remove it, or set another `search_output_file`"):
        check_search_output_file(str(tmp_path / "out"), "txt", "decision")


def test_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no folder .*/no'"):
        check_search_output_file(str(tmp_path / "no" / "out"), "txt", "decision")
