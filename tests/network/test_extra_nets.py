"""Layers once more under other flags, with the same parameters."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.network.check import check_net_dict
from returnn.network.errors import LayerNotFound, NetworkConstructionDependencyLoopException
from returnn.network.extra_nets import split_extra_prefix, without_extra_prefixes

from .net import Net

DATA = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True, "available_for_inference": False}}
FEED = {"data": [[[1, 2], [3, 4]]], "classes": [[0, 1]]}


def linear(source: str = "data", n_out: int = 2, **options: Any) -> dict[str, Any]:
    return {"class": "linear", "activation": None, "n_out": n_out, "from": source, **options}


def ce(source: str = "data", **options: Any) -> dict[str, Any]:
    return {"class": "softmax", "loss": "ce", "target": "classes", "from": source, **options}


def costs(network: dict[str, Any]) -> list[str]:
    """names of the losses"""
    with Net(network, DATA, train=True) as net:
        return [key[len("cost:") :] for key in sorted(net.net.get_fetches_dict()) if key.startswith("cost:")]


def test_prefixes() -> None:
    """``extra``, or ``extra.`` and letters, digits, dots, underscores, brackets; then a colon."""
    assert split_extra_prefix("extra:a:b") == ("extra", "a:b")
    assert split_extra_prefix("extra.search_(2).x:output") == ("extra.search_(2).x", "output")
    for name in ("extra", "extra/a:b", "extraa:b", "extra.:b", "extra-a:b", "an_extra:b", "data:extra"):
        assert split_extra_prefix(name) == (None, name)
    assert without_extra_prefixes("extra.a:x/extra:y/my_extra:z") == "x/y/my_extra:z"


def test_prefix_is_in_the_name_of_a_loss_only_where_names_are_equal() -> None:
    """Those of the network itself keep theirs."""
    both = {"output": ce(), "extra:output": ce()}
    assert costs(both) == ["extra:output", "output"]
    assert costs({**both, "extra.a:foo": ce()}) == ["extra:output", "foo", "output"]
    two = {"output": linear(), "extra.a:foo": ce(), "extra.b:foo": ce()}
    assert costs(two) == ["extra.a:foo", "extra.b:foo"]


def test_the_same_parameters() -> None:
    """x W and relu(x W), W = [[1, 0], [0, -1]]: [1, -2] and [1, 0]. There is one W, and one name in both networks."""
    network = {"output": linear(), "extra:output": linear(activation="relu")}
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["output/W", "output/b"]
        net.set(output__W=[[1, 0], [0, -1]])
        assert net.out()[0, 0].tolist() == [1, -2]
        assert net.out("extra:output")[0, 0].tolist() == [1, 0]
        main, extra = net.net, net.net.extra_nets["extra"]
        assert main.layers["extra:output"] is extra.layers["output"] is not main.layers["output"]
        assert repr(extra.layers["output"]).startswith("<LinearLayer extra:'output' out_type=")
        assert extra.layers["output"].get_absolute_name() == "extra:output"
        assert extra.layers["output"].get_absolute_name_scope_prefix() == "output/"


def test_what_it_depends_on_is_of_the_network_itself_unless_there_is_an_entry() -> None:
    """
    a: x + 1, extra:a: x + 2; b only in the network: 10 x. What is asked for with the prefix is built in the extra net,
    from the plain entry, and that changes nothing for others.
    """
    network = {
        "a": {"class": "eval", "eval": "source(0) + 1", "from": "data"},
        "extra:a": {"class": "eval", "eval": "source(0) + 2", "from": "data"},
        "b": {"class": "eval", "eval": "source(0) * 10", "from": "data"},
        "sum": {"class": "combine", "kind": "add", "from": ["a", "b"]},
        "extra:copied": {"class": "copy", "from": ["a", "b"]},
        "output": {"class": "copy", "from": ["extra:b", "extra:sum", "extra:copied"]},
    }
    with Net(network) as net:
        assert net.out(feed=net.feed(data=[[[1, 2]]]))[0, 0].tolist() == [10, 20, 13, 24, 3, 4, 10, 20]
        copied = net.layers["extra:copied"]
        assert copied.sources == [net.layers["extra:a"], net.layers["b"]]
        assert "a" not in net.layers and net.net.get_layer("extra:sum") is net.layers["extra:sum"]


@pytest.mark.parametrize("search", [False, True])
def test_flags(search: bool) -> None:
    """It searches if its prefix says so, whatever the network does; the others are those of the network."""
    prefixes = ["extra", "extra.search", "extra.search.a", "extra.a"]
    network = {prefix + ":output": linear() for prefix in prefixes} | {"output": linear()}
    with Net(network, train="dynamic", evaluation=True, search=search) as net:
        extra_nets = net.net.extra_nets
        assert {prefix: n.search_flag for prefix, n in extra_nets.items()} == {p: ".search" in p for p in prefixes}
        assert all(n.train_flag is net.train_flag and n.eval_flag for n in extra_nets.values())
        assert all(n.get_root_network() is net.net and n.extra_parent_net is net.net for n in extra_nets.values())
        assert repr(extra_nets["extra.search"]) == "<TFNetwork 'root(extra.search)' train=dynamic search>"


def test_a_loss_that_is_not_for_searches_is_none_in_an_extra_search() -> None:
    options = {"loss_only_on_non_search": True}
    network = {"output": linear(), "extra.search:a": ce(**options), "extra.a:a": ce(**options)}
    assert costs(network) == ["a"]


def test_in_and_around_subnetworks() -> None:
    """
    base: of a subnetwork in an extra net is the extra net: x + 5, not x. Of an extra net in a subnetwork, data and base
    mean the same as in the subnetwork.
    """
    subnet = {
        "a": {"class": "eval", "eval": "source(0) * 2", "from": "base:x"},
        "extra.q:a": {"class": "eval", "eval": "source(0) * 3 + source(1)", "from": ["base:x", "data"]},
        "extra.q:b": {"class": "copy", "from": "a", "is_output_layer": True},
        "output": {"class": "copy", "from": "a"},
    }
    network = {
        "x": {"class": "copy", "from": "data"},
        "extra.p:x": {"class": "eval", "eval": "source(0) + 5", "from": "data"},
        "sub": {"class": "subnetwork", "from": "data", "subnetwork": subnet},
        "output": {"class": "copy", "from": ["sub", "extra.p:sub", "extra.p:sub/a", "sub/extra.q:b"]},
    }
    with Net(network) as net:
        assert net.out(feed=net.feed(data=[[[1, 2]]]))[0, 0].tolist() == [2, 4, 12, 14, 12, 14, 4, 8]
        b = net.layers["sub/extra.q:b"]
        assert b.get_absolute_name() == "sub/extra.q:b"
        assert repr(b.network) == "<TFNetwork 'root/sub(extra.q)'>"
        assert repr(net.net.extra_nets["extra.p"].subnets["sub"]) == "<TFNetwork 'root(extra.p)/sub'>"


def test_losses_in_subnetworks_of_an_extra_net_do_not_count() -> None:
    """Else a loss and a constraint of the network would count twice; the output of the subnetwork may have a loss."""
    subnet = {"a": linear(L2=0.1), "l": linear("a", loss="as_is"), "output": {"class": "copy", "from": "l"}}
    network = {
        "extra:sub": {"class": "subnetwork", "from": "data", "subnetwork": subnet, "loss": "as_is"},
        "output": linear(),
    }
    assert costs(network) == ["sub"]
    with Net(network, DATA, train=True) as net:
        assert net.net.get_total_constraints() == 0


def test_names_that_are_not_there() -> None:
    """The nearest names of both."""
    network = {"output": {"class": "copy", "from": "extra:hiden"}, "hidden": linear(), "extra:hidden2": linear()}
    with pytest.raises(LayerNotFound, match=r"'hiden' not found in <TFNetwork 'root\(extra\)'>. Did you mean \"hidd"):
        Net(network)
    assert [p.line for p in check_net_dict({"output": {"class": "copy", "from": "sub/extra.a:b"}}, ["data"])] == [
        "network[\"output\"]: layer 'sub' not found in network. Layers: output"
    ]


def test_a_circle() -> None:
    """extra:b depends on b, which is itself."""
    network = {"b": linear(), "extra:b": linear("b"), "output": linear("extra:b")}
    with pytest.raises(NetworkConstructionDependencyLoopException) as info:
        Net(network)
    assert str(info.value).splitlines() == [
        "<TFNetwork 'root(extra)'>: Error: There is a dependency loop on layer 'b'.",
        "Construction stack (most recent first):",
        "  extra:b",
        "  output",
    ]


def test_mistakes_are_found_before_anything_is_built() -> None:
    """In its entries, and in what only it needs; in a subnetwork of it, too."""
    network = {
        "only_extra": linear(foo=1),
        "not_needed": linear(bar=1),
        "in_sub": linear(baz=1),
        "extra.a:sub": {
            "class": "subnetwork",
            "subnetwork": {"output": linear("base:in_sub"), "loss": linear("base:not_needed", loss="as_is")},
            "from": "data",
        },
        "extra.a:output": linear("only_extra", n_outt=2),
        "output": linear("extra.a:sub"),
    }
    problems = check_net_dict(network, ["data"])
    assert [(p.path, p.needed) for p in problems] == [
        ("extra.a:output", True),
        ("in_sub", True),
        ("not_needed", False),
        ("only_extra", True),
    ]


def test_data_made_in_an_extra_net() -> None:
    network = {
        "extra.search:found": {**linear(), "register_as_extern_data": "found"},
        "output": {"class": "copy", "from": "data:found"},
    }
    with Net(network) as net:
        net.set(found__W=3 * numpy.eye(2))
        assert net.out()[0, 0].tolist() == [3, 6]
        assert net.net.get_used_data_keys() == {"data"}


def test_its_layers_are_in_the_log(capsys: pytest.CaptureFixture) -> None:
    with Net({"output": linear(), "extra.a:output": linear()}) as net:
        net.net.print_network_info()
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("layer root(extra.a)/'output': [B,T|") for line in lines)
    start = lines.index("Network layer topology:")
    assert lines[start + 3 : start + 9] == [
        "  layers:",
        "    layer source 'data' #: 2",
        "    layer linear 'extra.a:output' #: 2",
        "    layer linear 'output' #: 2",
        "  'root(extra.a)' layers:",
        "    layer linear 'output' #: 2",
    ]


def test_frozen_in_one_of_them() -> None:
    """Whoever makes a parameter says whether it is trained: that is the first by name."""
    with Net({"output": linear("z"), "z": linear(trainable=False), "extra:z": linear(loss="as_is")}, train=True) as net:
        names = [var.op.name for var in net.net.get_trainable_params()]
        assert names == ["output/W", "output/b", "z/W", "z/b"]


def test_parameters_of_its_own_name_are_its_own() -> None:
    """reuse_params says what is so anyway; it is no circle."""
    network = {"output": linear(), "extra.search:output": linear(reuse_params="output")}
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["output/W", "output/b"]
        net.set(output__W=numpy.eye(2) * 2)
        assert net.out("extra.search:output")[0, 0].tolist() == [2, 4]
