"""How Sphinx builds these pages: ``sphinx-build -W docs OUT``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

docs = Path(__file__).parent
sys.path[:0] = [str(docs.parent), str(docs / "_ext")]

shutil.rmtree(docs / "api" / "generated", ignore_errors=True)  # a page of a module that is gone would be an error

from returnn import __version__  # noqa: E402 - found by the path above

project = "returnn"
author = "the returnn contributors"
project_copyright = "the returnn contributors. MIT license"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "docstring_text",
    "layer_reference",
]
exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
suppress_warnings = ["misc.highlighting_failure"]  # log lines are no language
show_warning_types = True

html_theme = "furo"
html_title = f"returnn {version}"
html_copy_source = False
pygments_style = "friendly"

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autosummary_ignore_module_all = False
add_module_names = False
