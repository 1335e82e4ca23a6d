"""A text file with names of data files."""

from __future__ import annotations

import os

from returnn.util.errors import UserError
from returnn.util.suggest import file_not_found


class BundleFile:
    """The name of a file a line."""

    def __init__(self, filename: str):
        """
        :param filename: of the text file
        """
        if not os.path.exists(filename):
            raise UserError(file_not_found("bundle file", filename))
        with open(filename, encoding="utf8") as file:
            self._paths = [line.strip() for line in file if line.strip()]
        if not self._paths:
            raise UserError(f"The bundle file {filename!r} is empty; expected the name of a file a line")

    @property
    def dataset_file_paths(self) -> list[str]:
        """
        :return: the names
        """
        return list(self._paths)

    datasetFilePaths = dataset_file_paths

    @property
    def number_of_dataset_files(self) -> int:
        """
        :return: of files
        """
        return len(self._paths)
