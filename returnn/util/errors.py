"""The border between mistakes of a user and faults of this program.

A :class:`UserError` is shown as its message alone, exit code 1. Everything else that reaches the main program is a bug
(or an accident of the machine) and gets a full report with the variables of each frame.
"""

from __future__ import annotations


class UserError(Exception):
    """A mistake in a config, on the command line, or in data.

    The message is all that the user sees: say what is wrong, where, the nearest valid names, and how to mend it.
    """


class ConfigError(UserError, AssertionError):
    """A mistake in the config. Also an ``AssertionError``, since scripts around older configs catch that."""
