"""From config files to keys: Python, JSON, or lines ``key value``. Which of them it is follows from the content.

Mistakes end in a :class:`ConfigError` that names file, line and column.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import file_not_found
from returnn.util.user_functions import users_frames

CONFIG_MODULE_NAME = "__returnn_config__"
"""``__name__`` of Python configs."""

_shebang_hint = "If this is a Python config, let its first line be: #!rnn.py"
_json_token = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')
_looks_like_python = re.compile(
    r"\s*(?:[A-Za-z_]\w*\s*=[^=]|(?:def|class)\s+\w+.*:|from\s+\S+\s+import\s|import\s+\S+$)"
)


@dataclass(frozen=True)
class Source:
    """The text of a config file, as it was when it was read."""

    name: str
    """The path as given, or a name for a text that has none."""
    text: str
    path: str | None
    """None if the text did not come from a file."""

    @property
    def kind(self) -> str:
        """:return: ``"py"``, ``"js"`` or ``"txt"``"""
        content = self.text.strip()
        if content.startswith("#!") or (self.path or "").endswith(".py"):
            return "py"
        if content.startswith("{"):
            return "js"
        return "py" if _is_python(content) else "txt"


def read_source(file: str | os.PathLike[str] | TextIO) -> Source:
    """
    :param file: a path, or something with ``read()``
    :raises ConfigError: there is no such file, or it is no text
    """
    if not isinstance(file, (str, os.PathLike)):
        return Source(name="<config string>", text=file.read(), path=None)
    path = os.fspath(file)
    try:
        with open(path, encoding="utf8") as f:
            return Source(name=path, text=f.read(), path=path)
    except FileNotFoundError:
        raise ConfigError(file_not_found("config file", path)) from None
    except OSError as exc:
        raise ConfigError(f"config file {path!r}: {exc.strerror or exc}") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"config file {path!r} is no UTF-8 text: {exc}") from exc


def _is_python(content: str) -> bool:
    """:param content: of a file that does not say what it is"""
    try:
        statements = ast.parse(content).body
    except SyntaxError:
        lines = [line for line in content.splitlines() if line.strip() and not line.lstrip().startswith("#")]
        return bool(lines and _looks_like_python.match(lines[0]))
    except ValueError:  # null bytes
        return False
    return any(not isinstance(statement, ast.Expr) for statement in statements)


# Python


def exec_python(source: Source, namespace: dict[str, Any], config: object) -> None:
    """Runs a Python config.

    :param source: its text
    :param namespace: its global variables, before and after
    :param config: what it finds as ``config``
    """
    if source.path is not None and _is_in_package(source.path):
        _import_from_package(source, source.path, namespace)
        return
    # Tracebacks and inspect.getsource show the lines that were run, even if the file is edited later.
    lines = source.text.splitlines(keepends=True)
    linecache.cache[source.name] = (len(source.text), None, lines, source.name)
    namespace.update(config=config, __file__=source.name, __name__=CONFIG_MODULE_NAME, __package__="returnn")
    with _mistakes_of(source):
        exec(compile(source.text, source.name, "exec", dont_inherit=True), namespace)


def _is_in_package(path: str) -> bool:
    return path.endswith(".py") and os.path.exists(os.path.join(os.path.dirname(path), "__init__.py"))


def _import_from_package(source: Source, path: str, namespace: dict[str, Any]) -> None:
    """A file of a package is imported as its module, so that its relative imports work."""
    folder, file_name = os.path.split(os.path.abspath(path))
    names = [file_name.removesuffix(".py")]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, name = os.path.split(folder)
        names.insert(0, name)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    with _mistakes_of(source):
        module = importlib.import_module(".".join(name for name in names if name != "__init__"))
    namespace.update((key, value) for key, value in vars(module).items() if not key.startswith("__"))


@contextlib.contextmanager
def _mistakes_of(source: Source) -> Iterator[None]:
    """An exception inside becomes a ConfigError that shows where in the user's files it happened."""
    try:
        yield
    except Exception as exc:
        raise ConfigError(_describe(exc, source)) from exc


def _describe(exc: Exception, source: Source) -> str:
    if isinstance(exc, SyntaxError) and exc.filename:
        return _describe_syntax_error(exc, exc.filename)
    what = traceback.TracebackException.from_exception(exc).format_exception_only()
    message = str(exc) if isinstance(exc, UserError) and str(exc) else "".join(what).strip()
    frames = users_frames(exc.__traceback__)
    if not frames:
        return f"{source.name}: {message}"
    lines = [f"{frames[-1].filename}, line {frames[-1].lineno}: {message}"]
    for frame in frames:
        if len(frames) > 1:
            function = "" if frame.name == "<module>" else f", in {frame.name}"
            lines.append(f"  {frame.filename}, line {frame.lineno}{function}")
        lines.append(f"    {frame.line}")
    return "\n".join(lines)


def _describe_syntax_error(exc: SyntaxError, file: str) -> str:
    line = (exc.text or linecache.getline(file, exc.lineno or 0)).rstrip("\n")
    return _point_at(file, exc.lineno or 0, exc.offset or 1, line, f"{type(exc).__name__}: {exc.msg}")


def _point_at(file: str, line_number: int, column: int, line: str, message: str) -> str:
    """:param column: counts from 1"""
    code = line.lstrip()
    caret = " " * max(column - 1 - (len(line) - len(code)), 0) + "^"
    return f"{file}, line {line_number}: {message}\n    {code}\n    {caret}"


def names_read_by(source: Source) -> set[str]:
    """
    :param source: of a Python config
    :return: the names that its code reads somewhere
    """
    try:
        nodes = ast.walk(ast.parse(source.text))
    except (SyntaxError, ValueError):
        return set()
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


# JSON, lines


def parse_json(source: Source) -> dict[str, Any]:
    """:return: the keys; comments ``// ...`` are allowed"""
    text = _json_token.sub(lambda match: match.group() if match.group().startswith('"') else "", source.text)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as exc:
        line = source.text.splitlines()[exc.lineno - 1] if exc.lineno <= len(source.text.splitlines()) else ""
        message = f"looks like JSON, but is not valid: {exc.msg}"
        raise ConfigError(_point_at(source.name, exc.lineno, exc.colno, line, message)) from None
    if not isinstance(content, dict):
        raise ConfigError(f"{source.name}: a JSON config is an object, {{...}}, not {type(content).__name__}.")
    return content


def parse_lines(source: Source) -> Iterator[tuple[str, str]]:
    """:return: key and value of each line ``key value``; ``#`` starts a comment"""
    for number, line in enumerate(source.text.splitlines(), start=1):
        fields = line.partition("#")[0].split(None, 1)
        if len(fields) == 1:
            raise ConfigError(
                f"{source.name}, line {number}: unable to parse config line: {fields}\n"
                f"    A line is a key and its value, with a blank between. {_shebang_hint}"
            )
        if fields:
            yield fields[0], fields[1].strip()
