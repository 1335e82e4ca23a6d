"""The history of learning rates and scores as a file: one Python dict expression.

::

    {
    1: EpochData(learningRate=0.01, error={
    ':meta:epoch_num_train_steps': 5,
    'dev_score': 0.7156151533126831,
    'train_score': 0.8056151533126831,
    }),
    2: EpochData(learningRate=0.005, error={}),
    }

It is parsed, never run. What is written is read by every version; what any version wrote is read here.
"""

from __future__ import annotations

import ast
import math
import numbers
from collections.abc import Mapping
from typing import Any

from returnn.util.better_repr import better_repr
from returnn.util.errors import UserError

OLD_FORMAT_KEY = "old_format_score"
"""Score key of an epoch in files of the first version, which had a single score without a name."""

_META_PREFIX = ":meta:"


class EpochData:
    """What is known of one epoch."""

    def __init__(
        self,
        learning_rate: float,
        error: Mapping[str, float] | None = None,
        meta: Mapping[str, Any] | None = None,
    ):
        """
        :param learning_rate: of the whole epoch
        :param error: score key, as ``"dev_score"``, -> value
        :param meta: facts that are no scores, as ``"global_train_step"``; values that a Python literal can express
        """
        self.learning_rate = to_float(learning_rate, "learning rate")
        self.error: dict[str, float] = dict(error or {})
        self.meta: dict[str, Any] = dict(meta or {})

    def __repr__(self) -> str:
        """As in the file. Meta entries are stored as error keys with a prefix."""
        stored = {_META_PREFIX + key: value for key, value in self.meta.items()}
        stored.update(self.error)
        return f"EpochData(learningRate={better_repr(self.learning_rate)}, error={better_repr(stored)})"


def to_float(value: Any, what: str) -> float:
    """
    :param value: float, int or numpy scalar
    :param what: for the error message
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return float(value)
    raise TypeError(f"{what}: expected a number, got {value!r} of type {type(value).__name__}")


def format_epoch_data(epoch_data: Mapping[int, EpochData]) -> str:
    """
    :param epoch_data: epoch -> data
    :return: content of the file
    """
    return better_repr(dict(epoch_data)) + "\n"


def read_learning_rate_file(filename: str) -> dict[int, EpochData]:
    """
    :return: epoch -> data
    :raises UserError: missing, or damaged; names the line and what was expected there
    """
    try:
        with open(filename, encoding="utf8") as f:
            return _parse(f.read())
    except OSError as exc:
        raise UserError(f"Cannot read the learning-rate file {filename!r}: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        problem = f"{exc.reason} at byte {exc.start}, expected text in UTF-8"
    except _FormatError as exc:
        problem = str(exc)
    raise UserError(
        f"Learning-rate file {filename!r} is damaged: {problem}.\n"
        "It holds the learning rates and scores of the finished epochs, so nothing was changed.\n"
        "Restore it from a copy; or move it away, then training goes on without that history."
    )


class _FormatError(Exception):
    """Its text says where, and what was expected."""


def _expected(what: str, node: ast.expr) -> _FormatError:
    return _FormatError(f"line {node.lineno}: expected {what}, found {ast.unparse(node)[:60]!r}")


def _parse(text: str) -> dict[int, EpochData]:
    expression = text.lstrip()
    leading_lines = text[: len(text) - len(expression)].count("\n")
    if not expression:
        raise _FormatError("it is empty, expected {epoch: EpochData(..), ..}")
    try:
        root = ast.parse("\n" * leading_lines + expression, mode="eval").body
    except SyntaxError as exc:
        raise _FormatError(f"line {exc.lineno}: {exc.msg}") from exc
    except (ValueError, RecursionError, MemoryError) as exc:  # zero bytes; absurd nesting
        raise _FormatError(f"expected {{epoch: EpochData(..), ..}}, but {exc}") from exc
    if not isinstance(root, ast.Dict):
        raise _expected("{epoch: EpochData(..), ..}", root)
    data = {}
    for key, value in zip(root.keys, root.values, strict=True):
        epoch = _parse_literal(key) if key else None
        if type(epoch) is not int:
            raise _expected("an epoch number", key or value)
        data[epoch] = _parse_epoch_data(value)
    return data


def _parse_epoch_data(node: ast.expr) -> EpochData:
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "EpochData" or node.args:
        raise _expected("EpochData(learningRate=.., error=..)", node)
    args = {keyword.arg: keyword.value for keyword in node.keywords}
    learning_rate = args.pop("learningRate", None) or args.pop("learning_rate", None)
    error, meta = args.pop("error", None), args.pop("meta", None)
    if learning_rate is None or args:
        raise _expected("EpochData(learningRate=.., error=..)", node)
    data = EpochData(_parse_number(learning_rate))
    if isinstance(error, ast.Dict):
        for key, value in _parse_items(error):
            if key.startswith(_META_PREFIX):
                data.meta[key.removeprefix(_META_PREFIX)] = _parse_literal(value)
            else:
                data.error[key] = _parse_number(value)
    elif error is not None:
        data.error[OLD_FORMAT_KEY] = _parse_number(error)
    if isinstance(meta, ast.Dict):
        data.meta.update((key, _parse_literal(value)) for key, value in _parse_items(meta))
    elif meta is not None:
        raise _expected("a dict", meta)
    return data


def _parse_items(node: ast.Dict) -> list[tuple[str, ast.expr]]:
    items = []
    for key, value in zip(node.keys, node.values, strict=True):
        name = _parse_literal(key) if key else None
        if not isinstance(name, str):
            raise _expected("a name in quotes", key or value)
        items.append((name, value))
    return items


def _parse_number(node: ast.expr) -> float:
    value = _parse_literal(node)
    if type(value) not in (float, int):
        raise _expected("a number", node)
    return float(value)


_names = {"nan": math.nan, "inf": math.inf}

_calls = {"float": float, "np.float32": float, "np.float64": float, "np.int32": int, "np.int64": int}
"""NumPy 2 writes its scalars like this."""


def _parse_literal(node: ast.expr) -> Any:
    """A number, text, None, True, False; or a list, tuple or dict (with names as keys) of such values."""
    match node:
        case ast.Constant(value=int() | float() | str() | None as value):
            return value
        case ast.Name(id=name) if name in _names:
            return _names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _parse_literal(operand)
            if type(value) in (float, int):
                return -value
        case ast.Call(func=func, args=[arg], keywords=[]) if ast.unparse(func) in _calls:
            try:
                return _calls[ast.unparse(func)](_parse_literal(arg))
            except (TypeError, ValueError, OverflowError):
                raise _expected("a number", node) from None
        case ast.List(elts=elements):
            return [_parse_literal(element) for element in elements]
        case ast.Tuple(elts=elements):
            return tuple(_parse_literal(element) for element in elements)
        case ast.Dict():
            return {key: _parse_literal(value) for key, value in _parse_items(node)}
    raise _expected("a number, a text, or another plain value", node)
