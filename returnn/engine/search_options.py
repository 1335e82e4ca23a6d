"""What can be known about the output file of a search before anything is built."""

from __future__ import annotations

import os
from collections.abc import Sequence

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean

FILE_FORMATS = ("txt", "py")


def check_search_output_file(filename: str, file_format: str, layer_names: str | Sequence[str]) -> None:
    """
    :param filename: config key ``search_output_file``
    :param file_format: config key ``search_output_file_format``
    :param layer_names: config key ``search_output_layer``
    :raises ConfigError: no such format, or it has no place for several layers
    :raises UserError: the file exists, or its folder does not
    """
    if file_format not in FILE_FORMATS:
        raise ConfigError(
            f"search_output_file_format: {file_format!r} is unknown.{did_you_mean(file_format, FILE_FORMATS)}"
            f" There are: {', '.join(FILE_FORMATS)}"
        )
    if file_format == "txt" and not isinstance(layer_names, str):
        raise ConfigError(
            "Text format not supported in the case of multiple output layers."
            f' Set search_output_file_format = "py", or search_output_layer to one name instead of {layer_names!r}.'
        )
    if os.path.exists(filename):
        raise UserError(f"output file {filename!r} exists already. Remove it, or set another `search_output_file`.")
    folder = os.path.dirname(filename)
    if folder and not os.path.isdir(folder):
        raise UserError(f"search_output_file {filename!r}: there is no folder {folder!r}. Make it first.")
