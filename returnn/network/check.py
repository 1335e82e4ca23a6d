"""Finds mistakes in a layer dict before anything is built: all of them at once, without backend and without data.

Contract: layer dict and data keys in; problems out, each with its place. What the pass cannot tell for sure is no
problem: it is found later, when the layer is built. So nothing is said about layer classes of users that translate
their dict themselves, nor about options whose meaning depends on the class.
Algorithm: the dict and the dicts of its sub-networks and recurrent units are scopes. Names lead from the output layers
and losses to the layers that will be built. Problems of these are errors; those of all other layers are told as
warnings only, as old configs carry layers of all kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.loss import get_loss_class
from returnn.layers.options import options_text, unknown_options
from returnn.layers.registry import get_layer_class, unknown_layer_class
from returnn.layers.target import target_not_found_text
from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.suggest import nearest_names

from .errors import LayerNotFound, LayerOptionError, NetworkLayerException, layer_not_found_text
from .extern_data import data_not_found_text
from .extra_nets import entries_of_extra_net, searches, split_extra_prefix

if TYPE_CHECKING:
    from .network import Network

_TRANSLATED = {"class", "from", "loss", "loss_opts", "loss_scale", "loss_only_on_non_search"}
"""options that are not passed to a layer as they are"""
_SOURCES_BESIDES_FROM = ("extra_deps", "shape_deps", "initial_state", "initial_output")
"""options that may name layers"""
_OPTION_WITH_NETWORK = {"subnetwork": "subnetwork", "rec": "unit"}
"""layer class -> option that may be a layer dict"""
_ALWAYS_THERE = {"seq_tag", "seq_idx"}
"""data keys that every network has"""


@dataclass(frozen=True)
class Problem:
    """Something wrong with a layer."""

    prefix: str
    """path of the sub-network with "/" at the end, or "": the root"""
    name: str
    """of the layer in there"""
    text: str
    """one line"""
    needed: bool
    """whether the layer will be built; else this is no more than a warning"""
    kind: type[NetworkLayerException]
    """what to raise"""
    note: str
    """lines with all valid names, or "": to be shown once, behind the last problem that has it"""
    net_dict: dict[str, Any]
    """that the layer is in"""

    @property
    def path(self) -> str:
        """of the layer, from the root network on"""
        return self.prefix + self.name

    @property
    def line(self) -> str:
        """with the place in front"""
        return 'network["%s"]: %s' % (self.path, self.text)


def check_net_dict(
    net_dict: dict[str, Any],
    extern_data_keys: Iterable[str],
    *,
    default_input: str = "data",
    default_target: str = "classes",
    evaluation: bool = True,
    search: bool = False,
    network_text: Callable[[str], str] | None = None,
) -> list[Problem]:
    """
    :param net_dict: layer dict; keys with "#" in front are not layers
    :param extern_data_keys: data keys
    :param default_input: data key that ``from: "data"`` means
    :param default_target: data key that losses without ``target`` use
    :param evaluation: losses will be built
    :param search: it is for a search
    :param network_text: path of a network inside ("" for the whole network, else it begins with "/", or with "(" for an
        extra net) -> what messages call it
    :return: sorted by path
    """
    checker = _Checker(
        net_dict, extern_data_keys, default_input, default_target, evaluation, search, network_text or _plain_text
    )
    return sorted(checker.problems(), key=lambda problem: problem.path)


def report_problems(problems: list[Problem], *, network: Network | None = None) -> None:
    """
    Prints those of layers that nothing needs.

    :param problems: of :func:`check_net_dict`
    :param network: for the exception
    :raises NetworkLayerException: naming all the others; of the kind of the first one
    """
    for problem in problems:
        if not problem.needed:
            print("%s (not built, nothing needs it)" % problem.line, file=log.v2)
    errors = [problem for problem in problems if problem.needed]
    if errors:
        first = errors[0]
        raise first.kind(problems_text(errors), layer_name=first.name, network=network, net_dict=first.net_dict)


def problems_text(problems: list[Problem]) -> str:
    """
    :return: one line per problem, and the notes, each once
    """
    lines: list[str] = []
    notes = [problem.note for problem in problems]
    for i, problem in enumerate(problems):
        lines.append(problem.line)
        if problem.note and problem.note not in notes[i + 1 :]:
            lines.append(problem.note)
    return "\n".join(lines)


def is_allowed(desc: dict[str, Any], *, evaluation: bool, search: bool) -> bool:
    """
    :param desc: options of a layer
    :param evaluation: losses are built
    :param search: it is for a search
    :return: False: not to be built, unless another layer needs it
    """
    return (search or not desc.get("only_on_search")) and (evaluation or not desc.get("only_on_eval"))


def is_root(name: str, desc: dict[str, Any]) -> bool:
    """
    :param name: of a layer
    :param desc: its options
    :return: whether it is built though no layer needs it
    """
    return name == "output" or name.endswith(":output") or bool(desc.get("loss")) or bool(desc.get("is_output_layer"))


def layer_class_of(desc: dict[str, Any]) -> type[LayerBase]:
    """
    :param desc: options of a layer
    :return: what "class" says: a name, or a class
    :raises ConfigError: it is missing, or unknown
    """
    if "class" not in desc:
        near = nearest_names("class", (key for key in desc if isinstance(key, str)), max_names=1)
        raise ConfigError('option "class" is missing%s' % (': is "%s" meant?' % near[0] if near else ""))
    name = desc["class"]
    if isinstance(name, type) and issubclass(name, LayerBase):
        return name
    layer_class = get_layer_class(name, raise_exception=False) if isinstance(name, str) else None
    if layer_class is None:
        raise unknown_layer_class(name)
    return layer_class


class _Scope:
    """A layer dict, and the scopes of the networks in it. Or an overlay: what one of its extra nets is made of."""

    def __init__(
        self,
        net_dict: dict[str, Any],
        *,
        parent: _Scope | None = None,
        name: str = "",
        is_unit: bool = False,
        main: _Scope | None = None,
        extra_prefix: str = "",
    ):
        """
        :param net_dict: as in the config; of an overlay that of ``main``
        :param parent: of a network inside
        :param name: of the layer that a network inside is in
        :param is_unit: of a network inside: it is computed frame by frame
        :param main: of an overlay: the network
        :param extra_prefix: of an overlay
        """
        self.is_unit = is_unit
        self.net_dict = net_dict
        self.main = main
        self.extra_prefix = extra_prefix
        self.parent: _Scope | None = main.parent if main else parent
        self.name = name
        self.layers: dict[str, Any] = {key: desc for key, desc in net_dict.items() if not key.startswith("#")}
        self.prefix = self.text = ""
        if main:
            self.layers = entries_of_extra_net(self.layers, extra_prefix)
            self.prefix, self.text = "%s%s:" % (main.prefix, extra_prefix), "%s(%s)" % (main.text, extra_prefix)
        elif parent:
            self.prefix, self.text = "%s%s/" % (parent.prefix, name), "%s/%s" % (parent.text, name)
        self._inner: dict[str, _Scope] = {}
        self._overlays: dict[str, _Scope] = {}

    def has(self, name: str) -> bool:
        """whether there is a layer of that name; as :func:`Network.has_layer`"""
        scope, name = self.home_of(name)
        return name in scope.layers or bool(scope.main and name in scope.main.layers)

    def desc(self, name: str) -> Any:
        """its options"""
        return self.layers[name] if name in self.layers or self.main is None else self.main.layers[name]

    def entry(self, name: str) -> tuple[int, str]:
        """which entry of which dict of the config that is"""
        own = self.main is not None and name in self.layers
        return id(self.net_dict), "%s:%s" % (self.extra_prefix, name) if own else name

    def home_of(self, name: str) -> tuple[_Scope, str]:
        """scope, and name in it, of an entry with or without the prefix of an extra net"""
        prefix, rest = split_extra_prefix(name)
        if prefix is None:
            return self, name
        main = self.main or self
        if prefix not in main._overlays:
            main._overlays[prefix] = _Scope(main.net_dict, main=main, extra_prefix=prefix)
        return main._overlays[prefix], rest

    def inner(self, name: str) -> _Scope | None:
        """of the network in a layer"""
        desc = self.desc(name)
        layer_class = desc.get("class") if isinstance(desc, dict) else None
        option = _OPTION_WITH_NETWORK.get(layer_class) if isinstance(layer_class, str) else None
        net_dict = desc.get(option) if option else None
        if not isinstance(net_dict, dict):
            return None
        if name not in self._inner:
            self._inner[name] = _Scope(net_dict, parent=self, name=name, is_unit=option == "unit")
        return self._inner[name]

    def is_in_unit(self) -> bool:
        """whether there is a frame before"""
        return self.is_unit or (self.parent is not None and self.parent.is_in_unit())

    def is_in_search(self) -> bool:
        """because of an extra net around"""
        return searches(self.extra_prefix) or (self.parent is not None and self.parent.is_in_search())

    def is_in_extra_net(self) -> bool:
        """there, losses of sub-networks do not count"""
        return self.main is not None or (self.parent is not None and self.parent.is_in_extra_net())

    def all_layers(self) -> Iterator[tuple[_Scope, str, Any]]:
        """of all entries, also those of the networks inside"""
        for key, desc in self.layers.items():
            scope, name = self.home_of(key)
            yield scope, name, desc
            inner = scope.inner(name)
            if inner is not None:
                yield from inner.all_layers()


class _Checker:
    def __init__(
        self,
        net_dict: dict[str, Any],
        data_keys: Iterable[str],
        default_input: str,
        default_target: str,
        evaluation: bool,
        search: bool,
        network_text: Callable[[str], str],
    ):
        self._root = _Scope(net_dict)
        self._layers = list(self._root.all_layers())
        registered = [desc.get("register_as_extern_data") for _, _, desc in self._layers if isinstance(desc, dict)]
        self._data_keys = {*data_keys, *(key for key in registered if isinstance(key, str))}
        self._default_input, self._default_target = default_input, default_target
        self._evaluation, self._search = evaluation, search
        self._network_text = network_text

    def problems(self) -> Iterator[Problem]:
        needed = self._needed()
        for scope, name, desc in self._layers:
            if not isinstance(desc, dict):
                text = "the options must be a dict, but are %r" % (desc,)
                yield Problem(scope.prefix, name, text, True, NetworkLayerException, "", scope.layers)
                continue
            for exc in self._problems_of(scope, name, desc):
                text, _, note = str(exc).partition("\n")
                kind = type(exc) if isinstance(exc, NetworkLayerException) else NetworkLayerException
                yield Problem(scope.prefix, name, text, scope.entry(name) in needed, kind, note, scope.layers)

    # ---- which layers will be built

    def _needed(self) -> set[tuple[int, str]]:
        todo = list(self._roots_of(self._root))
        for key, desc in self._root.layers.items():
            if isinstance(desc, dict) and desc.get("register_as_extern_data") and self._is_allowed(desc):
                todo.append(self._root.home_of(key))
        found: set[tuple[_Scope, str]] = set()
        while todo:
            scope, name = todo.pop()
            if (scope, name) in found:
                continue
            found.add((scope, name))
            if isinstance(scope.desc(name), dict):
                todo += self._needed_by(scope, name)
        return {scope.entry(name) for scope, name in found}

    def _roots_of(self, scope: _Scope) -> Iterator[tuple[_Scope, str]]:
        for key, desc in scope.layers.items():
            if not isinstance(desc, dict):
                continue
            if (self._is_allowed(desc) and is_root(key, desc)) or (scope.is_unit and desc.get("need_last")):
                yield scope.home_of(key)

    def _needs_end(self, scope: _Scope, desc: dict[str, Any], unit: _Scope) -> bool:
        """whether the loop ends by that layer"""
        if desc.get("axis") is not None or desc.get("size_target"):
            return False
        layers = [x for x in unit.layers.values() if isinstance(x, dict) and x.get("class") == "choice"]
        given = any(x.get("cheating") or x.get("search") is False for x in layers)
        return not desc.get("target") or ((self._search or scope.is_in_search()) and not given)

    def _is_allowed(self, desc: dict[str, Any]) -> bool:
        return is_allowed(desc, evaluation=self._evaluation, search=self._search)

    def _needed_by(self, scope: _Scope, name: str) -> Iterator[tuple[_Scope, str]]:
        desc = scope.desc(name)
        inner = scope.inner(name)
        if inner is not None:
            if inner.is_unit or not (scope.is_in_extra_net() or scope.is_in_unit()):
                yield from self._roots_of(inner)
            for key in ["output", *(["end"] if inner.is_unit and self._needs_end(scope, desc, inner) else [])]:
                if key in inner.layers:
                    yield inner, key
        try:
            cls = layer_class_of(desc)
        except ConfigError:
            cls = None
        if cls is not None and _translates_itself(cls):
            sure, names = [], _strings(desc)  # any of them may be a layer
        else:
            sure = self._sure_names(scope, name, desc, cls)
            keys = (*_SOURCES_BESIDES_FROM, *(cls._layer_options if cls else ()))
            names = sure + _strings([desc.get(key) for key in keys])
            if desc.get("class") == "choice" and self._reads_scores(scope, desc):
                names += _strings(desc.get("explicit_search_sources"))
            if self._builds_loss(desc) and isinstance(desc.get("loss_opts"), dict):
                names += _layers_of_loss(desc)
        for source in names:
            try:
                yield from self._resolve(scope, source)
            except ConfigError:  # a problem of this layer, or no layer at all
                if source in sure:  # a slip in the name: mistakes of the layer that was meant count too
                    yield from (scope.home_of(near) for near in nearest_names(source, scope.layers, max_names=1))

    # ---- what a name means; compare .lookup

    def _resolve(self, scope: _Scope, name: str) -> list[tuple[_Scope, str]]:
        """
        :return: layers that are built for it
        :raises ConfigError: there is no such one
        """
        if scope.main and name not in scope.layers and name.split("/", 1)[0] not in scope.layers:
            return self._resolve(scope.main, name)
        return self._resolve_own(scope, name)

    def _resolve_own(self, scope: _Scope, name: str) -> list[tuple[_Scope, str]]:
        if name.startswith("base:"):
            if scope.parent is None:
                raise self._not_found(scope, name, "there is no network around this one")
            return self._resolve(scope.parent, name[len("base:") :])
        home, rest = scope.home_of(name)
        if home is not scope:
            return self._resolve_own(home, rest)
        if name == ":i" or name.startswith("prev:"):
            if not scope.is_in_unit():
                raise self._not_found(scope, name, "it is there only within the unit of a recurrent layer")
            before = name[len("prev:") :]
            return [] if name == ":i" or before.startswith("prev:") else self._resolve(scope, before)
        if scope.has(name):
            return [(scope, name)]
        if name == "data" or name.startswith("data:"):
            return self._resolve_data(scope, name)
        if "/" in name:
            outer, inner_name = name.split("/", 1)
            inner = scope.inner(outer) if scope.has(outer) else None
            if inner is not None:
                return [(scope, outer), *self._resolve(inner, inner_name)]
            return self._resolve_own(scope, outer)
        raise self._not_found(scope, name)

    def _resolve_data(self, scope: _Scope, name: str) -> list[tuple[_Scope, str]]:
        if scope.main is not None:
            return self._resolve(scope.main, name)
        if scope.parent is None:
            key = name.partition(":")[2] or self._default_input
            if key not in self._data_keys | _ALWAYS_THERE:
                raise ConfigError(data_not_found_text(key, self._data_keys))
            return []
        desc = scope.parent.desc(scope.name)
        if scope.is_unit:
            is_source = name == "data:source" or (name == "data" and bool(_names_of_from(desc.get("from", "data"))))
        elif desc.get("concat_sources", True):
            is_source = name == "data"
        else:
            sources = _names_of_from(desc.get("from", "data"))
            numbered = ["data:%i" % i for i in range(len(sources))]
            is_source = name in [*numbered, *("data:" + n for n in sources)] or (name == "data" and bool(sources))
        return [] if is_source else self._resolve(scope.parent, name)  # sources are those of the layer outside

    def _not_found(self, scope: _Scope, name: str, why: str = "") -> LayerNotFound:
        known = [*scope.layers, *(scope.main.layers if scope.main else ())]
        return LayerNotFound(layer_not_found_text(name, self._network_text(scope.text), known, why))

    # ---- the options of a layer

    def _sure_names(self, scope: _Scope, name: str, desc: dict[str, Any], cls: type[LayerBase] | None) -> list[str]:
        """what can only be names of layers"""
        names = _names_of_from(desc.get("from", cls._default_source if cls else None))
        if desc.get("class") == "choice" and not self._reads_scores(scope, desc):
            names = []
        names += _names_of_reuse_params(desc.get("reuse_params"))
        if self._evaluation or (desc.get("n_out") is None and desc.get("out_dim") is None):
            for target in _strings(desc.get("target")):
                if target.startswith("layer:"):
                    names.append(target[len("layer:") :])
                elif target != name and scope.has(target):
                    names.append(target)
        return names

    def _reads_scores(self, scope: _Scope, desc: dict[str, Any]) -> bool:
        """whether a layer of class choice does not just give the target"""
        search = self._search or scope.is_in_search()
        options = [desc.get("search"), desc.get("add_to_beam_scores"), desc.get("scheduled_sampling")]
        return search or any(options)

    def _builds_loss(self, desc: dict[str, Any]) -> bool:
        if not desc.get("loss") or not self._evaluation:
            return False
        return not (self._search and desc.get("loss_only_on_non_search"))

    def _problems_of(self, scope: _Scope, name: str, desc: dict[str, Any]) -> Iterator[ConfigError]:
        cls = None
        try:
            cls = layer_class_of(desc)
        except ConfigError as exc:
            yield exc
        if cls is not None:
            if _translates_itself(cls):
                return
            passed_on = {key: value for key, value in desc.items() if key not in _TRANSLATED}
            for text in unknown_options(cls, passed_on):
                yield LayerOptionError("%s\n%s" % (text, options_text(cls)))
        for source in dict.fromkeys(self._sure_names(scope, name, desc, cls)):
            try:
                self._resolve(scope, source)
            except ConfigError as exc:
                yield exc
        yield from self._problems_of_loss(scope, name, desc)

    def _problems_of_loss(self, scope: _Scope, name: str, desc: dict[str, Any]) -> Iterator[ConfigError]:
        if not desc.get("loss") or not isinstance(desc["loss"], str):
            return
        try:
            loss_class = get_loss_class(desc["loss"])
        except ConfigError as exc:
            yield exc
            return
        if not loss_class.need_target or not self._builds_loss(desc):
            return
        targets = _strings(desc.get("target"))
        target = targets[0] if targets else self._default_target
        is_layer = target.startswith("layer:") or (target != name and scope.has(target))
        if not is_layer and target not in self._data_keys:
            yield ConfigError(target_not_found_text(target, self._data_keys, is_default=not targets))


def _layers_of_loss(desc: dict[str, Any]) -> list[str]:
    """names of layers in its options"""
    try:
        loss_class = get_loss_class(desc["loss"])
    except ConfigError:
        return []
    return _strings([desc["loss_opts"].get(key) for key in loss_class._layer_options])


def _plain_text(path: str) -> str:
    return 'network["%s"]' % path.strip("/") if path else "network"


def _translates_itself(cls: type[LayerBase]) -> bool:
    """a class of a user: only its ``transform_config_dict`` knows what its options mean"""
    owner = next(base for base in cls.__mro__ if "transform_config_dict" in vars(base))
    return owner.__module__.partition(".")[0] != "returnn"


def _names_of_from(value: Any) -> list[str]:
    return [name for name in ([value] if isinstance(value, str) else _items(value)) if name != "none"]


def _items(value: Any) -> list[str]:
    return [x for x in value if isinstance(x, str)] if isinstance(value, (list, tuple)) else []


def _names_of_reuse_params(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, dict):
        return []
    names = _strings([value.get("reuse_layer"), value.get("layer_output")])
    sources = value.get("map")
    for source in sources.values() if isinstance(sources, dict) else ():
        names += _names_of_reuse_params(source)
    return names


def _strings(value: Any) -> list[str]:
    """all strings in lists, tuples and values of dicts"""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, dict):
        value = list(value.values())
    return [text for x in value for text in _strings(x)] if isinstance(value, (list, tuple)) else []
