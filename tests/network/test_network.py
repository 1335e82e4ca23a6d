"""From a layer dict to layers, losses and fetches."""

from __future__ import annotations

import numpy
import pytest

import returnn.network.construct as construct
from returnn.layers.base import LayerBase
from returnn.network import Network
from returnn.network.errors import LayerNotFound
from returnn.tensor import Dim, VerifyOutShapeException, batch_dim
from returnn.tf.compat import tf

from .net import Net

CLASSES = {"dim": 3, "sparse": True, "available_for_inference": False}
EXTERN_DATA = {"data": {"dim": 4}, "classes": CLASSES}
X4 = (12 * numpy.arange(2)[:, None, None] + 4 * numpy.arange(3)[:, None] + numpy.arange(4)) / 10 - 1
Y = [[0, 1, 2], [2, 1, 0]]
W43 = (3 * numpy.arange(4)[:, None] + numpy.arange(3)) / 12 - 0.4
LENS = {"data": [3, 2], "classes": [3, 2]}
OUTPUT = {"class": "softmax", "loss": "ce", "target": "classes", "from": "data"}


def net_with_params(network: dict, **options: object) -> Net:
    net = Net(network, EXTERN_DATA, train=True, **options)
    net.__enter__()
    net.set(output__W=W43, output__b=[0.1, -0.2, 0.3])
    return net


@pytest.fixture
def feed4():
    return lambda net: net.feed(LENS, data=X4, classes=Y)


def test_only_what_is_needed_is_built() -> None:
    """l1: 4*5 + 5 parameters, output: 5*3 + 3, together 43."""
    network = {
        "l1": {"class": "linear", "n_out": 5, "activation": None, "from": "data"},
        "output": {**OUTPUT, "from": "l1"},
        "unused": {"class": "linear", "n_out": 5, "activation": None, "from": "data"},
    }
    with Net(network, EXTERN_DATA, train=True) as net:
        assert sorted(net.layers) == ["data", "data:classes", "l1", "output"]
        assert net.param_shapes() == {"l1/W": [4, 5], "l1/b": [5], "output/W": [5, 3], "output/b": [3]}
        assert [var.op.name for var in net.net.get_saveable_params_list()] == [*net.param_shapes(), "global_step"]
        assert net.net.get_num_params() == 43
        assert sorted(net.net.get_fetches_dict()) == ["cost:output", "error:output", "loss", "loss_norm_factor:output"]
        assert net.net.get_used_data_keys() == {"data", "classes"}
    with Net(network, EXTERN_DATA) as net:
        assert net.net.get_fetches_dict() == {}
        assert net.net.get_used_data_keys() == {"data"}


def test_a_layer_that_is_not_built() -> None:
    """The name is right, so no other one is suggested."""
    network = {"unused": {**OUTPUT, "loss": None}, "used": OUTPUT, "output": OUTPUT}
    with Net(network, EXTERN_DATA, train=True) as net, pytest.raises(LayerNotFound) as info:
        net.net.get_layer("unused")
    assert str(info.value) == (
        "layer 'unused' not found in <TFNetwork 'root' train>: it was not built, as nothing needs it."
    )


def test_loss_is_a_sum_and_its_norm_factor_stands_beside(feed4) -> None:
    """5 frames: 1 / 5. L2 0.1 of W and b: 0.1 * (sum W^2 + 0.14) = 0.11738888."""
    for l2, loss in [(None, 5.3065343), (0.1, 5.423923)]:
        net = net_with_params({"output": {**OUTPUT, "L2": l2}})
        try:
            got = net.fetches(feed4(net))
            constraint = net.net.get_total_constraints()
            assert got["cost:output"] == pytest.approx(5.3065343, rel=1e-5)
            assert got["error:output"] == 2
            assert got["loss_norm_factor:output"] == pytest.approx(0.2)
            assert got["loss"] == pytest.approx(loss, rel=1e-5)
            if l2:
                assert net.session.run(constraint) == pytest.approx(0.11738888, rel=1e-5)
            else:
                assert constraint == 0
        finally:
            net.__exit__(None, None, None)


def test_scale_and_normalisation_concern_the_objective_only(feed4) -> None:
    """0 * 5.3065 + 0.5 * 5.3065 / 5 = 0.5306534; reported are the sums."""
    network = {
        "output": {**OUTPUT, "loss_scale": 0},
        "other": {
            **OUTPUT,
            "reuse_params": "output",
            "loss_opts": {"scale": 0.5, "use_normalized_loss": True},
        },
    }
    net = net_with_params(network)
    try:
        got = net.fetches(feed4(net))
        assert got["loss"] == pytest.approx(0.5306534, rel=1e-5)
        assert got["cost:output"] == got["cost:other"] == pytest.approx(5.3065343, rel=1e-5)
    finally:
        net.__exit__(None, None, None)


def test_initial_values_are_a_function_of_the_seed_42() -> None:
    """The values that other programs with this seed formula have."""
    draws = numpy.random.RandomState(42)
    assert [draws.randint(2**31) for _ in range(3)] == [1608637542, 1273642419, 1935803228]
    with Net(
        {"output": {"class": "linear", "n_out": 2, "activation": None, "from": "data"}}, {"data": {"dim": 4}}
    ) as net:
        w = net.get("output/W")
    numpy.testing.assert_allclose(w[[0, 3]], [[0.0761664, 0.0982823], [-0.4261558, 0.9385443]], rtol=1e-5)


def test_variable_names_have_no_special_characters() -> None:
    with Net(
        {"l:x y+1(2)": {"class": "linear", "n_out": 2, "activation": None, "from": "data", "is_output_layer": True}}
    ) as net:
        assert sorted(net.param_shapes()) == ["l__x__y__1__2__/W", "l__x__y__1__2__/b"]


def test_reuse_params_map_with_custom_function() -> None:
    """l4 takes W of l1 transposed: no l4/W, but its own l4/b."""
    network = {
        "l1": {"class": "linear", "n_out": 3, "activation": None, "from": "data"},
        "output": {
            "class": "linear",
            "n_out": 2,
            "activation": None,
            "from": "l1",
            "reuse_params": {
                "map": {
                    "W": {
                        "reuse_layer": "l1",
                        "custom": lambda reuse_layer, **_: tf.transpose(reuse_layer.params["W"]),
                    },
                    "b": None,
                }
            },
        },
    }
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["l1/W", "l1/b", "output/b"]
        net.set(l1__W=[[1, 0, 0], [0, 2, 0]])
        numpy.testing.assert_allclose(net.out()[0, 0], [1, 8])  # (1, 2) -> (1, 4, 0) -> (1, 8)


@pytest.mark.parametrize("first", ["a", "b"])
def test_reuse_params_of_a_layer_that_depends_on_this_one(first: str) -> None:
    """Who comes first makes the variables, under the name of their owner. [1, 2] times W twice, W = 2 I: [4, 8]."""
    second = {"a": "b", "b": "a"}[first]
    network = {
        first: {"class": "linear", "n_out": 2, "activation": None, "from": "data", "reuse_params": second},
        second: {"class": "linear", "n_out": 2, "activation": None, "from": first},
        "output": {"class": "copy", "from": second},
    }
    with Net(network) as net:
        assert sorted(net.param_shapes()) == [second + "/W", second + "/b"]
        net.set(**{second + "__W": 2 * numpy.eye(2)})
        numpy.testing.assert_allclose(net.out()[0, 0], [4, 8])


def test_reuse_params_layer_output() -> None:
    """W is the output of a constant layer: [[1, 2], [3, 4]]; (1, 2) W = (7, 10)."""
    network = {
        "w": {"class": "constant", "value": numpy.array([[1, 2], [3, 4]], "float32")},
        "output": {
            "class": "linear",
            "n_out": 2,
            "activation": None,
            "with_bias": False,
            "from": "data",
            "reuse_params": {"map": {"W": {"layer_output": "w"}}},
        },
    }
    with Net(network) as net:
        assert net.param_shapes() == {}
        numpy.testing.assert_allclose(net.out()[0, 0], [7, 10])


def test_a_part_of_a_subnetwork_needs_only_what_it_depends_on_at_first() -> None:
    """But then the subnetwork is completed: its own output is a layer too."""
    subnet = {
        "a": {"class": "linear", "n_out": 2, "activation": None, "from": "data"},
        "output": {"class": "linear", "n_out": 3, "activation": None, "from": "a"},
    }
    network = {
        "sub": {"class": "subnetwork", "from": "data", "subnetwork": subnet},
        "output": {"class": "copy", "from": "sub/a"},
    }
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["sub/a/W", "sub/a/b", "sub/output/W", "sub/output/b"]
        assert {"sub", "sub/a", "sub/output"} <= set(net.layers)
        assert net.net.get_layer("sub/a") is net.layers["sub/a"]
        assert repr(net.layers["sub/a"]).startswith("<LinearLayer sub/'a' out_type=[B,T|")


def test_subnetwork_without_joined_sources_hands_on_data_of_the_outer_one() -> None:
    """data:1 of the inner network is not its own, but the second source of the network around it: 10 x."""
    inner = {"class": "subnetwork", "from": "data", "subnetwork": {"output": {"class": "copy", "from": "data:1"}}}
    network = {
        "times10": {"class": "eval", "eval": "source(0) * 10", "from": "data"},
        "output": {
            "class": "subnetwork",
            "from": ["data", "times10"],
            "concat_sources": False,
            "subnetwork": {"inner": inner, "output": {"class": "copy", "from": "inner"}},
        },
    }
    with Net(network) as net:
        numpy.testing.assert_allclose(net.out()[0, 0], [10, 20])


def test_layers_on_targets_have_no_value_when_there_are_none() -> None:
    """Nothing is fed for classes; whoever depends on it is not computed."""
    network = {
        "embed": {"class": "linear", "n_out": 2, "activation": None, "from": "data:classes", "is_output_layer": True},
        "twice": {"class": "copy", "from": ["embed", "embed"], "is_output_layer": True},
        "output": {"class": "copy", "from": "data"},
    }
    with Net(network, EXTERN_DATA) as net:
        assert net.layers["twice"].output.raw_tensor is None
        assert net.layers["twice"].output.dim == 4
        assert net.net.get_used_data_keys() == {"data"}
        assert net.param_shapes() == {}


def test_a_layer_is_never_its_own_target() -> None:
    """A layer wins over a data key of the same name, but this one cannot be built before itself."""
    network = {"classes": {"class": "softmax", "loss": "ce", "target": "classes", "from": "data"}}
    with Net(network, EXTERN_DATA, evaluation=True) as net:
        assert net.param_shapes() == {"classes/W": [4, 3], "classes/b": [3]}


def test_a_chain_of_3000_layers_builds() -> None:
    """No recursion; each layer is tried twice: once to find out what it needs, once when that is there."""
    tried = []
    original = construct.construct_layer

    def counted(net: Network, name: str) -> LayerBase:
        tried.append(name)
        return original(net, name)

    names = ["data", *("l%i" % i for i in range(3000)), "output"]
    network = {name: {"class": "copy", "from": source} for source, name in zip(names, names[1:], strict=False)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(construct, "construct_layer", counted)
        with Net(network) as net:
            assert len(net.layers) == 3002
    assert len(tried) <= 2 * 3001


def test_a_deep_subnetwork_builds() -> None:
    network: dict = {"output": {"class": "linear", "n_out": 2, "activation": None, "from": "data"}}
    for _ in range(30):
        network = {"output": {"class": "subnetwork", "from": "data", "subnetwork": network}}
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["/".join(["output"] * 31) + "/W", "/".join(["output"] * 31) + "/b"]


def test_building_once_more_after_a_failure() -> None:
    """In the same network: parameters that are there already are used again."""
    good = {
        "a": {"class": "linear", "n_out": 2, "activation": None, "from": "data"},
        "output": {"class": "copy", "from": "a"},
    }
    with Net({"output": {"class": "copy", "from": "data"}}) as net:
        again = type(net.net)(config=net.net.get_config())
        with pytest.raises(Exception, match="unknown layer class"):
            again.construct_from_dict({**good, "output": {"class": "no_such", "from": "a"}})
        again.construct_from_dict(good)
        assert [var.op.name for var in again.get_params_list()] == ["a/W", "a/b"]
        assert sorted(again.layers) == ["a", "data", "output"]


def test_log_shows_the_template_of_each_layer(capsys: pytest.CaptureFixture) -> None:
    with Net({"output": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"}}) as net:
        net.net.print_network_info()
    lines = capsys.readouterr().out.splitlines()
    assert "layer root/'output': [B,T|'time:var:extern_data:data'[B]] int32 sparse_dim=Dim{F'feature:data'(2)}" in lines
    assert "  layers:" in lines and "    layer reduce 'output' #: 2" in lines and "net params #: 0" in lines


def test_check_numerics_names_the_layer() -> None:
    network = {
        "log": {"class": "activation", "activation": "log", "from": "data"},
        "output": {"class": "copy", "from": "log"},
    }
    with Net(network, debug_add_check_numerics_on_output=True) as net:
        feed = net.feed(data=[[[-1.0, 2.0]]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="output of layer 'log' : Tensor had NaN"):
            net.out(feed=feed)


def test_out_shape_is_checked() -> None:
    time, feature = Dim(None, name="time"), Dim(2, name="feature", kind=Dim.Types.Feature)
    data = {"data": {"dim_tags": [batch_dim, time, feature], "dtype": "float32"}}
    with Net({"output": {"class": "copy", "from": "data", "out_shape": {time, feature, batch_dim}}}, data):
        pass
    with pytest.raises(Exception, match="Missing dims: Dim{'time'") as info:
        Net({"output": {"class": "copy", "from": "data", "out_shape": {feature, batch_dim}}}, data)
    assert isinstance(info.value.__cause__, VerifyOutShapeException)


def test_control_dependencies_on_output() -> None:
    """The operation runs whenever the output is computed: a counter."""

    def count(layer: object) -> object:
        del layer
        with tf.init_scope():
            var = tf.compat.v1.get_variable("counter", (), initializer=tf.compat.v1.zeros_initializer())
        return var.assign_add(1.0)

    with Net({"output": {"class": "copy", "from": "data", "control_dependencies_on_output": count}}) as net:
        net.out()
        net.out()
        assert net.session.run(tf.compat.v1.global_variables()[-1]) == 2


def test_sizes_and_data_batch_dim() -> None:
    with Net({"output": {"class": "copy", "from": "data"}}, train=True) as net:
        got = net.fetches(with_size=True)
        assert got["size:data:0"].tolist() == [2, 3]
        assert net.session.run(net.net.get_data_batch_dim(), net.feed()) == 2


def test_cond_on_train_computes_one_side_only() -> None:
    """The other one would fail."""
    network = {
        "output": {
            "class": "eval",
            "from": "data",
            "eval": "self.network.cond_on_train(lambda: source(0) * 2, lambda: fail(source(0) / 0, 'x'))",
            "eval_locals": {"fail": tf.debugging.check_numerics},
        }
    }
    with Net(network, train="dynamic", evaluation=True) as net:
        feed = net.feed()
        assert net.out(feed={**feed, net.train_flag: True})[0, 0].tolist() == [2, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match="x : Tensor had Inf"):
            net.out(feed=feed)
