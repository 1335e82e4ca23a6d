"""Layers inside of layers: parts of an output, and networks inside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from returnn.layers import registry
from returnn.layers.base import LayerBase
from returnn.layers.concat_input import ConcatInputLayer
from returnn.layers.missing import LayerMissing
from returnn.layers.source import DataNotAvailableLayer, InternalLayer, WrappedInternalLayer
from returnn.layers.subnetwork import Subnetwork
from returnn.network.errors import (
    LayerNotFound,
    NetworkConstructionDependencyLoopException,
    NetworkLayerException,
)
from returnn.tensor import Tensor
from returnn.tf.network import GetLayer, TFNetwork

from .net import Net

LINEAR = {"class": "linear", "activation": None, "n_out": 2, "from": "data"}
COPY = {"class": "copy", "from": "data"}


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone behind it."""
    registry.get_layer_class_name_list()
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    yield


class Twice(ConcatInputLayer):
    """Two parts, made with the output: x + 1 and x * 10. Works on templates too."""

    def compute(self, x: Tensor) -> Tensor:
        self.parts = {"plus": x + 1.0, "times": x * 10.0}
        return x

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        if layer_name not in self.parts:
            return None
        name = "%s/%s" % (self.name, layer_name)
        return InternalLayer(name=name, network=self.network, output=self.parts[layer_name], sources=[self])

    @classmethod
    def get_available_sub_layer_names(cls, parent_layer_kwargs: dict[str, Any]) -> list[str]:
        return ["plus", "times"]


class Unit(ConcatInputLayer):
    """One layer inside, given by its options, whose data is another one than outside: 100 x."""

    unit: dict[str, Any]

    class Inside(Subnetwork):
        @property
        def net_dict(self) -> dict[str, Any]:
            return {"output": {**self.opts["unit"], "name_scope": ""}}

        def data_layer(self, name: str) -> LayerBase | None:
            if name != "data":
                return None
            source = self.parent_net.get_layer_or_missing(self.opts["from"])
            output = source.output * 100.0
            return InternalLayer(name=name, network=self.net, output=output, sources=[source])

    @classmethod
    def cls_get_sub_network(cls, name: str, network: Any, layer_desc: dict[str, Any]) -> Subnetwork:
        return cls.Inside(network, name, layer_desc)

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        d["_inner"] = cls.Inside(network, d["_name"], dict(d)).get_layer("output")
        super().transform_config_dict(d, network, get_layer)

    def compute(self, x: Tensor) -> Tensor:
        return self._inner.output.copy_template() if self._is_template else self._inner.output


def test_parts_of_a_layer() -> None:
    """x + 1 and 10 x; other names are no parts."""
    network = {
        "twice": {"class": Twice, "from": "data"},
        "output": {"class": "copy", "from": ["twice", "twice/plus", "twice/times"]},
    }
    with Net(network) as net:
        assert net.out()[0, 0].tolist() == [1, 2, 2, 3, 10, 20]
        assert [layer.name for layer in net.layers["twice"].get_sub_layers()] == ["twice/plus", "twice/times"]
        assert net.net.get_layer("twice/times").output.dim == 2
        with pytest.raises(LayerNotFound, match="'twice/minus' not found .*: layer 'twice' has no such part"):
            net.net.get_layer("twice/minus")
    bad = {**network, "output": {"class": "copy", "from": "twice/minus"}}
    with pytest.raises(LayerNotFound, match=r"layer 'twice' has no such part[\s\S]*needed by network\[\"output\"\]"):
        Net(bad)


def test_template_of_a_part() -> None:
    """From the options alone; the class is that of the part."""
    with Net({"output": COPY}) as net:
        kwargs = {"name": "x", "network": net.net, "sources": [net.layers["data"]]}
        found = Twice.get_sub_layer_out_data_from_opts("plus", kwargs)
        assert found is not None
        template, layer_class, opts = found
        assert template.raw_tensor is None and template.dim == 2 and layer_class is InternalLayer and opts == {}
        assert Twice.get_sub_layer_out_data_from_opts("minus", kwargs) is None
        assert "x" not in net.layers


def test_parts_of_a_layer_without_value() -> None:
    """It depends on targets, and there are none: neither has its part a value, but a template."""
    data = {"data": {"dim": 2}, "more": {"dim": 3, "available_for_inference": False}}
    network = {
        "twice": {"class": Twice, "from": "data:more"},
        "more": {"class": "linear", "activation": None, "n_out": 4, "from": "twice/plus", "is_output_layer": True},
        "output": COPY,
    }
    with Net(network, data) as net:
        assert isinstance(net.layers["more"], DataNotAvailableLayer) and net.layers["more"].output.dim == 4
        part = net.net.get_layer("twice/times")
        assert isinstance(part, DataNotAvailableLayer) and part.output.dim == 3
        with pytest.raises(LayerNotFound, match="has no such part"):
            net.net.get_layer("twice/minus")


def test_a_class_with_a_network_inside() -> None:
    """Its layers are built before it, by name; parameters are in its scope, as the inner layer has none of its own."""
    network = {
        "unit": {"class": Unit, "from": "data", "unit": {**LINEAR, "from": ["data", "base:data"]}},
        "output": {"class": "copy", "from": ["unit", "unit/output"]},
    }
    with Net(network) as net:
        assert net.param_shapes() == {"unit/W": [4, 2], "unit/b": [2]}
        net.set(unit__W=[[1, 0], [0, 1], [1, 0], [0, 1]])
        assert net.out()[0, 0].tolist() == [101, 202, 101, 202]
        assert sorted(net.layers) == ["data", "output", "unit", "unit/output"]
        assert repr(net.layers["unit/output"].network.inside) == "<Inside 'unit'>"


def test_subnetwork_by_hand() -> None:
    with Net({"sub": {"class": "subnetwork", "from": "data", "subnetwork": {"output": LINEAR}}, "output": COPY}) as net:
        inside = Subnetwork(net.net, "sub")
        assert inside.net is net.net.subnet("sub") is Subnetwork(net.net, "sub").net
        with pytest.raises(LayerMissing):
            inside.get_layer("output")
        with net.graph.as_default():
            layer = inside.construct_layer("output")
        assert inside.get_layer("output") is layer is net.layers["sub/output"]
        assert GetLayer(net.net)("sub/output") is layer


def test_hooks_of_a_subnetwork() -> None:
    layers = {"b": {**LINEAR, "is_output_layer": True}, "output": LINEAR, "#comment": 1, "not_built": LINEAR}
    sub = {"class": "subnetwork", "from": "data", "subnetwork": layers}
    with Net({"output": sub}) as net:
        layer = net.layers["output"]
        assert [x.name for x in layer.get_sub_layers()] == ["b", "data", "output"]
        assert layer.get_sub_networks() == [net.net.subnets["output"]]
        assert layer.get_sub_layer("b") is net.layers["output/b"] and layer.get_sub_layer("c") is None
        assert layer.get_available_sub_layer_names(layer.kwargs) == ["b", "not_built", "output"]
        assert net.layers["output/output"] in layer.get_dep_layers()
        assert sorted(layer.params) == ["b/W", "b/b", "output/W", "output/b"]


def test_encapsulate() -> None:
    """As a whole, the subnetwork depends on what depends on a part of it; else its layers are on their own."""
    sub = {"class": "subnetwork", "from": "data", "subnetwork": {"a": LINEAR, "output": {**COPY, "from": "base:b"}}}
    network = {"sub": sub, "b": {"class": "copy", "from": "sub/a"}, "output": {"class": "copy", "from": "b"}}
    with Net(network) as net:
        assert {"sub", "sub/a", "sub/output"} <= set(net.layers)
    with pytest.raises(NetworkConstructionDependencyLoopException, match="dependency loop on layer 'b'"):
        Net({**network, "sub": {**sub, "encapsulate": True}})


@pytest.mark.parametrize("given", ["some/file", {"filename": "some/file", "ignore_missing": True}])
@pytest.mark.parametrize("by_function", [False, True])
def test_load_on_init(given: Any, by_function: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name, options, or a function that gives them; asked for once, when all parameters are there."""
    calls = []
    monkeypatch.setattr(
        TFNetwork,
        "load_params_on_init",
        lambda self, layer, opts: calls.append((layer.name, sorted(layer.params), opts)),
    )
    sub = {"class": "subnetwork", "from": "data", "subnetwork": {"output": LINEAR}}
    with Net({"output": {**sub, "load_on_init": (lambda: given) if by_function else given}}):
        opts = given if isinstance(given, dict) else {"filename": given}
        assert calls == [("output", ["output/W", "output/b"], opts)]
    with pytest.raises(
        NetworkLayerException, match="load_on_init must be the name of a checkpoint or a dict, but is 3"
    ):
        Net({"output": {**sub, "load_on_init": 3}})


def test_batch_norm_of_a_subnetwork_has_its_own_parameters() -> None:
    sub = {"class": "subnetwork", "from": "data", "subnetwork": {"output": LINEAR}}
    with Net({"output": {**sub, "batch_norm": {"masked_time": True, "param_version": 2}}}) as net:
        names = [name for name in net.layers["output"].params if name.startswith("batch_norm")]
        assert sorted(names) == ["batch_norm/v2_" + name for name in ("beta", "gamma", "mean", "variance")]


def test_reuse_params_of_a_subnetwork_gets_a_warning(capsys: pytest.CaptureFixture) -> None:
    sub = {"class": "subnetwork", "from": "data", "subnetwork": {"output": LINEAR}}
    with Net({"a": sub, "output": {**sub, "from": "a", "reuse_params": "a"}}) as net:
        assert sorted(net.param_shapes()) == ["a/output/W", "a/output/b", "output/output/W", "output/output/b"]
    assert capsys.readouterr().out.count("layer output: reuse_params has no effect on a subnetwork") == 1


def test_wrapped_layers() -> None:
    """The output is their own, the rest is that of the other layer."""
    with Net({"output": LINEAR}) as net:
        base = net.layers["output"]
        wrapped = WrappedInternalLayer(base_layer=base, name="w", network=net.net, output=base.output.copy("w"))
        assert wrapped.params == base.params and wrapped.sources == [base] == wrapped.get_dep_layers()
        assert wrapped.output.name == "w" and wrapped.search_choices is None
        assert wrapped.get_sub_layer("x") is None and wrapped.get_last_hidden_state("*") is None
        assert wrapped.get_hidden_state() is None


def test_one_part_of_a_subnetwork_shares_parameters_with_another() -> None:
    """Whoever wants the one gets the other too; nobody asked for the output of the subnetwork."""
    layers = {
        "linear": {**LINEAR, "n_out": 1, "from": "base:data:data"},
        "linear_0": {**LINEAR, "n_out": 1, "from": "linear", "reuse_params": "linear"},
        "output": {"class": "copy", "from": "linear"},
    }
    data = {"data": {"dim": 1}}
    sub = {"class": "subnetwork", "from": [], "subnetwork": layers}
    with Net({"sub": sub, "output": {"class": "copy", "from": "sub/linear_0"}}, data) as net:
        assert net.param_shapes() == {"sub/linear/W": [1, 1], "sub/linear/b": [1]}
        net.set(sub__linear__W=[[3]])
        assert net.out(feed=net.feed(data=[[[2]]])).tolist() == [[[18]]]
