"""The directives ``layer-options``, ``layer-classes``, ``layer-losses``, ``layer-units`` and ``optimizers``.

They write the reference of the layer dict from the classes themselves: names from the registries, text from docstrings,
options from the typed class attributes with their defaults. So it cannot say anything else than the program does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from docstring_text import escape_markup
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from returnn.layers import loss as losses
from returnn.layers import options, registry
from returnn.layers.base import LayerBase
from returnn.layers.concat_input import ConcatInputLayer
from returnn.layers.recurrent.units import UNITS
from returnn.tf.updater import optimizers
from returnn.tf.updater.base import BaseCustomOptimizer

Lines = Iterator[str]

_set_by_config = {"epsilon", "momentum"}
"""Options of optimizers whose default is a config key, not that of the class."""


class _Reference(SphinxDirective):
    """Base class: the lines of :meth:`rst` are read as if they stood in the page."""

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Called by Sphinx."""
        lines = list(self.rst())
        return self.parse_text_to_nodes(StringList(lines, source=type(self).__name__), allow_section_headings=True)


class LayerOptions(_Reference):
    """``.. layer-options:: base`` or ``input``: what all layers have, or all layers with an input that they join."""

    required_arguments = 1

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        cls = {"base": LayerBase, "input": ConcatInputLayer}[self.arguments[0]]
        yield from _option_list(cls, [cls])


class LayerClasses(_Reference):
    """All layer classes, in the order of their names."""

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        names_of: dict[type, list[str]] = {}
        for name in registry.get_layer_class_name_list():
            if not name.startswith(":"):  # made by the program, not by configs
                names_of.setdefault(registry.get_layer_class(name), []).append(name)
        for cls, names in sorted(names_of.items(), key=lambda item: item[0].layer_class):
            yield from _section(cls.layer_class)
            others = [f"``{name}``" for name in names if name != cls.layer_class]
            if others:
                yield from (f"Also called {' and '.join(others)}.", "")
            yield from _docstring(cls)
            own = [base for base in cls.__mro__ if issubclass(base, LayerBase)]
            common = {LayerBase, ConcatInputLayer} - {cls}
            yield from _option_list(cls, [base for base in own if base not in common])
            if issubclass(cls, ConcatInputLayer):
                yield from ("And the :ref:`options of the input <input-options>`.", "")


class LayerLosses(_Reference):
    """All losses, with their options."""

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        yield from ("All losses have these options:", "")
        yield from _parameter_list(losses.Loss.__init__)
        found = (cls for cls in vars(losses).values() if isinstance(cls, type) and issubclass(cls, losses.Loss))
        for cls in sorted(set(found) - {losses.Loss}, key=lambda cls: cls.class_name):
            yield from _section(cls.class_name)
            yield from _docstring(cls)
            if "__init__" in vars(cls):
                yield from _parameter_list(cls.__init__)


class LayerUnits(_Reference):
    """The units of the recurrent layer."""

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        names_of: dict[int, list[str]] = {}
        for name, unit in UNITS.items():
            names_of.setdefault(id(unit), []).append(name)
        for names in names_of.values():
            unit = UNITS[names[0]]
            yield ", ".join(f"``{name}``" for name in names)
            yield f"   Parameters: {escape_markup(_one_line(inspect.getdoc(unit.compute)))}."
            yield ""
            opts = ", ".join(f"``{key}`` = ``{value!r}``" for key, value in unit.options.items())
            yield f"   ``unit_opts``: {opts or 'none'}."
            yield ""


class Optimizers(_Reference):
    """The names of the optimizers, and their options."""

    def rst(self) -> Lines:
        """
        :return: lines of the page
        """
        by_name = {cls.__name__.lower(): cls for cls in vars(optimizers).values() if _is_optimizer(cls)}
        for name, cls in sorted(by_name.items()):
            opts = [
                f"``{p.name}``"
                if p.default is p.empty or p.name in _set_by_config
                else f"``{p.name}`` = ``{p.default!r}``"
                for p in inspect.signature(cls).parameters.values()
                if p.name not in ("learning_rate", "name", "use_locking")
            ]
            yield f"- ``{name}``{': ' if opts else ''}{', '.join(opts)}"
        yield ""


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseCustomOptimizer) and value is not BaseCustomOptimizer


def _section(title: str) -> Lines:
    yield from (title, "~" * len(title), "")


def _docstring(cls: type) -> Lines:
    yield from (escape_markup(line) for line in (inspect.getdoc(cls) or "").splitlines())
    yield ""


def _option_list(cls: type, declared_in: Iterable[type]) -> Lines:
    """
    :param cls: layer class, whose defaults count
    :param declared_in: the classes whose options are listed
    """
    names = options.option_names(cls)
    for base in declared_in:
        docs = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
        for name in vars(base).get("__annotations__", {}):
            if name not in names:
                continue
            text = " ".join(docs[base.__qualname__, name]).strip()
            yield from _option(name, repr(getattr(cls, name)), text)


def _parameter_list(init: Callable[..., None]) -> Lines:
    texts: dict[str, str] = {}
    name = ""
    for line in (inspect.getdoc(init) or "").splitlines():
        if line.startswith(":param "):
            name, _, text = line.removeprefix(":param ").partition(":")
            texts[name] = text.strip()
        elif texts:
            texts[name] += " " + line.strip()
    for name, parameter in inspect.signature(init).parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            yield from _option(name, repr(parameter.default), texts[name])


def _option(name: str, default: str, text: str) -> Lines:
    yield from (f"``{name}`` = ``{default}``", f"   {escape_markup(text)}", "")


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("layer-options", LayerOptions)
    app.add_directive("layer-classes", LayerClasses)
    app.add_directive("layer-losses", LayerLosses)
    app.add_directive("layer-units", LayerUnits)
    app.add_directive("optimizers", Optimizers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
