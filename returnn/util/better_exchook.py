"""Old home of the package ``better_exchook``: the same names."""

from better_exchook import *  # noqa: F403
