"""Names of layers as parts of names of variables and operations."""

from __future__ import annotations


def scope_text(name: str) -> str:
    """
    :param name: of a layer
    :return: with the characters that names of variables may have
    """
    text = name.encode("ascii", "ignore").decode("ascii")
    for char in ":(){}&+-*'\", ":
        text = text.replace(char, "__")
    if text[:1] in ("_", "-", "\\", "/"):
        text = ".%i.%s" % (ord(text[0]), text[1:])
    return text


def op_scope(path: str) -> str:
    """
    :param path: of a layer, from the root on
    :return: in front of the names of its operations, whatever its option ``name_scope`` says; without "/" at the end
    """
    return "/".join(scope_text(name) for name in path.split("/"))
