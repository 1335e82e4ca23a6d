"""A zip file or a folder, from which files are read by name."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable

from returnn.util.errors import UserError
from returnn.util.suggest import file_not_found


class Archive:
    """Opened at the first use, and again in another process."""

    def __init__(self, path: str):
        """
        :param path: of a zip file, or of a folder
        :raises UserError: there is no such thing
        """
        if not os.path.exists(path):
            raise UserError(file_not_found("zip file (or folder)", path))
        self.path = path
        self._is_folder = os.path.isdir(path)
        self._zip: zipfile.ZipFile | None = None
        self._pid = 0

    def __repr__(self) -> str:
        return f"<Archive {self.path!r}>"

    def _opened(self) -> zipfile.ZipFile:
        if self._zip is None or self._pid != os.getpid():  # a forked process would share the position in the file
            try:
                self._zip = zipfile.ZipFile(self.path)
            except (zipfile.BadZipFile, OSError) as exc:
                raise UserError(f"Cannot read zip file {self.path}, maybe it is truncated: {exc}") from exc
            self._pid = os.getpid()
        return self._zip

    def names(self) -> Iterable[str]:
        """
        :return: names of all files
        """
        if not self._is_folder:
            return self._opened().namelist()
        return (
            os.path.relpath(os.path.join(folder, name), self.path)
            for folder, _, names in os.walk(self.path)
            for name in names
        )

    def has(self, name: str) -> bool:
        """
        :return: whether there is a file of that name
        """
        if self._is_folder:
            return os.path.isfile(os.path.join(self.path, name))
        return name in self._opened().NameToInfo

    def read(self, name: str) -> bytes:
        """
        :param name: of a file inside
        :return: its content
        :raises UserError: it is not there, or damaged
        """
        try:
            if self._is_folder:
                with open(os.path.join(self.path, name), "rb") as file:
                    return file.read()
            return self._opened().read(name)
        except FileNotFoundError:
            raise UserError(file_not_found("file", os.path.join(self.path, name))) from None
        except KeyError:
            raise UserError(f"There is no file {name!r} in {self.path}.{self._example_like(name)}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as exc:
            raise UserError(f"Cannot read {name!r} in {self.path}, maybe it is truncated: {exc}") from exc

    def _example_like(self, name: str) -> str:
        names = [other for other in self.names() if not other.endswith("/")]
        end = os.path.basename(name)
        same = next((other for other in names if os.path.basename(other) == end), None)
        example = same or next(iter(names), None)
        return f" There is for example {example!r}." if example else " It is empty."

    def close(self) -> None:
        """Closes the file; it is opened again when needed."""
        if self._zip is not None and self._pid == os.getpid():
            self._zip.close()
        self._zip = None
