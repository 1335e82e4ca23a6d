"""Config-driven training of sequence models: a Python config declares data and model, one command does the rest.

Importing the package is cheap: no backend, no file format library. Each is imported by the room that works with it.
"""

from returnn import _old_names
from returnn._version import __version__

_old_names.install()

__all__ = ["__version__"]
