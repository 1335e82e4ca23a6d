"""Law: a layer computes the same on TensorFlow and on PyTorch: output, lengths, axes, gradients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from returnn.layers.registry import get_layer_class, get_layer_class_name_list
from returnn.util.behavior_version import BehaviorVersion

from .minimal_configs import EXTERN_DATA, NETWORKS, OPTIONS, make_data, network_of

EXEMPT = {
    "source": "made by the network for each data key, so each other layer tests it",
    "rand_int": "draws random numbers: each backend has its own; tests/layers/test_random.py",
    "random": "draws random numbers: each backend has its own; tests/layers/test_random.py",
    "random_state_init": "state of a random generator, which is the backend's own; tests/layers/test_random.py",
    "kenlm": "needs a file and an optional package; tests/layers/test_kenlm.py",
    "hdf_dump": "gives its input, and writes a file; tests/layers/test_hdf_dump.py",
    "variable_assign": "has no output but the variable's value after the step; tests/layers/test_variables.py",
}

NAMES = [
    name
    for name in get_layer_class_name_list()
    if not name.startswith(":") and get_layer_class(name).__module__.startswith("returnn.")
]


@pytest.fixture(autouse=True)
def first_version() -> Iterator[None]:
    """the default"""
    BehaviorVersion._reset()
    yield
    BehaviorVersion._reset()


@pytest.mark.parametrize("train", [False, True], ids=["eval", "train"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in EXEMPT])
def test_same_on_both_backends(name: str, train: bool) -> None:
    torch_side = pytest.importorskip("tests.layers.both_backends", reason="needs torch")
    network, keys = _needed(network_of(name))
    data = {key: value for key, value in make_data().items() if key.split(":")[0] in keys}
    extern_data = {key: dict(EXTERN_DATA[key], available_for_inference=True) for key in sorted(keys)}
    on_tf = torch_side.on_tensorflow(network, extern_data, data, train=train)
    on_torch = torch_side.on_torch(network, extern_data, data, train=train)
    assert torch_side.differences(on_tf, on_torch) == []


def _needed(network: dict) -> tuple[dict, set[str]]:
    """:return: "output" and the layers that it needs, and the data keys that these need"""
    needed: dict = {}
    keys, todo = {"data"}, ["output"]
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        needed[name] = network[name]
        for text in _texts(network[name]):
            key = text.removeprefix("data:")
            if key in EXTERN_DATA:
                keys.add(key)
            layer = text.removeprefix("base:").split("/")[0]
            if layer in network:
                todo.append(layer)
    return needed, keys


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _texts(inner)


def test_no_layer_is_forgotten() -> None:
    """The tables name no class that is gone, and each class here has a network, options, or needs none."""
    known = set(NAMES)
    assert set(EXEMPT) <= known and set(OPTIONS) <= known and set(NETWORKS) <= known
