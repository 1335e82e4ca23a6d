"""Methods of networks and layers that users' code calls."""

from __future__ import annotations

import importlib
from typing import Any

import numpy
import pytest

from returnn.layers.base import LayerBase
from returnn.layers.options import FORK_OPTIONS
from returnn.layers.search_choices import SearchChoices
from returnn.layers.select_choices import SelectSearchSourcesLayer
from returnn.log import log
from returnn.network import LossHolder
from returnn.network.errors import NetworkLayerException
from returnn.tensor.beam import SearchBeam
from returnn.tf.compat import tf
from returnn.tf.layers import base, basic
from returnn.tf.network import TFNetwork, have_custom_post_init, set_custom_post_init
from returnn.util.errors import ConfigError

from .net import Net

LINEAR = {"class": "linear", "activation": None, "n_out": 2, "from": "data"}
COPY = {"class": "copy", "from": "data"}
CLASSES = {"dim": 3, "sparse": True, "available_for_inference": False}


def test_construct_layer() -> None:
    """With what it depends on, from the other dict; what is there already is taken."""
    with Net({"output": COPY}) as net:
        extra = {"a": LINEAR, "b": {**COPY, "from": ["a", "output"]}, "unused": LINEAR}
        layer = net.net.construct_layer(extra, "b")
        assert layer is net.layers["b"] and layer.sources == [net.layers["a"], net.layers["output"]]
        assert net.net.construct_layer({}, "b") is layer
        assert "unused" not in net.layers and not net.net.has_layer("b")
        with pytest.raises(NetworkLayerException, match="layer 'nix' not found"):
            net.net.construct_layer({"c": {**COPY, "from": "nix"}}, "c")


def test_construct_layer_with_own_functions() -> None:
    """get_layer gives what it depends on; add_layer makes it, and may change it."""
    with Net({"output": COPY}) as net:
        asked, made = [], []

        def get_layer(name: str) -> LayerBase:
            asked.append(name)
            return net.layers["output"]

        def add_layer(name: str, layer_class: type[LayerBase], **options: Any) -> LayerBase:
            made.append((name, layer_class.layer_class, options["n_out"], options["sources"]))
            return net.layers["output"]

        layer = net.net.construct_layer({"a": {**LINEAR, "from": "any"}}, "a", get_layer=get_layer)
        assert layer is net.layers["a"] and layer.sources == [net.layers["output"]] and asked == ["any"]
        other = net.net.construct_layer({"b": LINEAR}, "b", get_layer=get_layer, add_layer=add_layer)
        assert other is net.layers["output"] and "b" not in net.layers
        assert made == [("b", "linear", 2, [net.layers["output"]])]


def test_outside_of_loops_and_searches() -> None:
    with Net({"output": LINEAR}) as net:
        network, layer = net.net, net.layers["output"]
        assert not network.is_inside_rec_layer() and not network.have_rec_step_info()
        assert network.get_rec_parent_layer() is None and network.get_inside_rec_time_dim() is None
        for method in (network.get_rec_step_info, network.get_rec_step_index):
            with pytest.raises(
                ConfigError, match="'root'.*: we expect to be the subnet of a rec layer, but we are not"
            ):
                method()
        assert network.get_search_choices(src=layer) is None is network.get_search_choices(sources=[layer])
        assert layer.get_search_choices() is None
        assert layer.get_hidden_state() is None is layer.get_last_hidden_state("*")
        assert layer.get_dep_layers() == [net.layers["data"]]
        assert layer.get_sub_layers() == [] == layer.get_sub_networks()
        assert layer.get_sub_layer("x") is None and layer.cls_get_sub_network("x", network, {}) is None
        assert LayerBase.get_recent_layer() is layer


def test_what_a_frame_hands_on_to_the_next_one() -> None:
    """By default: zeros, or as initial_output says; nothing more."""
    data = {"data": {"dim": 2}, "labels": {"dim": 3, "sparse": True, "available_for_inference": True}}
    with Net({"output": {**COPY, "initial_output": 1}, "l": {**COPY, "from": "data:labels"}}, data) as net:
        layer = net.layers["output"]
        frame = layer.output.copy_template_excluding_time_dim()
        options = {"batch_dim": 3, "rec_layer": layer, "name": "x"}
        for initial_output, value in [(None, 0), ("zeros", 0), ("ones", 1), (2.5, 2.5)]:
            raw = layer.get_rec_initial_output(**options, output=frame, initial_output=initial_output, n_out=2)
            assert net.session.run(raw).tolist() == [[value] * 2] * 3
        labels = net.net.extern_data.data["labels"].copy_template_excluding_time_dim()
        assert (
            net.session.run(layer.get_rec_initial_output(**options, output=labels, initial_output=2)).tolist()
            == [2] * 3
        )
        with pytest.raises(
            ConfigError, match="'x': you must explicitly provide an initial output value for sparse data"
        ):
            layer.get_rec_initial_output(**options, output=labels)
        with pytest.raises(ConfigError, match='initial_output must be a number, "zeros" or "ones": \'foo\''):
            layer.get_rec_initial_output(**options, output=frame, initial_output="foo")
        assert layer.get_rec_initial_extra_outputs(**options) == {}
        assert layer.get_rec_initial_extra_outputs_shape_invariants(**options) == {}
        assert layer.rec_vars_outputs == {} and layer._rec_previous_layer is None
        assert layer.post_process_final_rec_vars_outputs({"h": 1}, seq_len=2) == {"h": 1}


def test_sequence_tags_and_steps() -> None:
    with Net({"output": COPY}) as net:
        tags, step = net.net.get_seq_tags(), net.net.get_epoch_step()
        assert net.net.get_used_data_keys() == {"data", "seq_tag"}
        assert tags.name == "extern_data/placeholders/seq_tag/seq_tag:0" and step.dtype == tf.int64
        assert net.net.get_epoch_step() is step
        assert net.session.run((tags, step), {tags: ["a", "b"], step: 7})[1] == 7


def test_options_of_a_run_belong_to_the_root_network() -> None:
    called = []
    with Net({"output": {"class": "subnetwork", "from": "data", "subnetwork": {"output": COPY}}}) as net:
        inner = net.net.subnets["output"]
        inner.set_run_opts(epoch=3, dataset_name="dev")
        inner.register_run_finished_callback(lambda: called.append("finished"))
        inner.register_graph_reset_callback(lambda: called.append("reset"))
        assert net.net.get_run_opts() == {"epoch": 3, "dataset_name": "dev"} == inner.get_run_opts()
        net.net.call_run_finished_callbacks()
        for _ in range(2):
            net.net.call_graph_reset_callbacks()
        assert called == ["finished", "reset"]
        assert inner.get_extern_data("seq_idx").dtype == "int32"


def test_custom_post_init() -> None:
    """After the own initial value; the last one counts."""
    with Net({"output": LINEAR}) as net:
        w, b = (net.layers["output"].params[name] for name in ("W", "b"))
        assert not have_custom_post_init(w)
        for value in (1.0, 2.0):
            set_custom_post_init(w, lambda session, value=value: w.load(numpy.full((2, 2), value), session))
        assert have_custom_post_init(w) and not have_custom_post_init(b)
        net.net.initialize_params(net.session)
        assert net.get("output/W").tolist() == [[2, 2], [2, 2]] and net.get("output/b").tolist() == [0, 0]


def test_list_of_layers() -> None:
    """Each on top of the one before; the last one is the output, with the default target."""
    data = {"data": {"dim": 2}, "classes": CLASSES}
    layers = [
        {"class": "hidden", "activation": "tanh", "n_out": 4},
        {"class": "hidden", "activation": "tanh", "n_out": 5, "from": ["data", "layer0"]},
        {"class": "softmax", "loss": "ce"},
    ]
    with Net(layers, data, train=True) as net:
        shapes = {"layer0/W": [2, 4], "layer1/W": [6, 5], "output/W": [5, 3]}
        assert {name: shape for name, shape in net.param_shapes().items() if name.endswith("W")} == shapes
        assert "cost:output" in net.net.get_fetches_dict()
        assert net.layers["output"].target == "classes"
    for bad, message in [([], "empty list"), ([3], r"network\[0\] must be a dict"), (3, "must be a dict, layer name")]:
        with pytest.raises(ConfigError, match=message):
            Net(bad, data)


def test_parameters_in_the_log(capsys: pytest.CaptureFixture) -> None:
    """Name, shape, number; whether they are fixed. The numbers add up to 2 * 10 + 10 + 10 + 1 = 41."""
    network = {
        "a": {**LINEAR, "n_out": 10},
        "output": {**LINEAR, "n_out": 1, "from": "a", "trainable": False},
    }
    with Net(network) as net:
        net.net.print_network_info("Net")
    lines = capsys.readouterr().out.splitlines()
    start = lines.index("  params:")
    assert lines[start : start + 6] == [
        "  params:",
        "    a/W       2x10  20",
        "    a/b         10  10",
        "    output/W  10x1  10  fixed",
        "    output/b     1   1  fixed",
        "net params #: 41",
    ]
    assert lines[start + 6].startswith("net trainable params: [<tf.Variable 'a/W:0' shape=(2, 10)")


def test_all_fixed_in_the_log(capsys: pytest.CaptureFixture) -> None:
    with Net({"output": LINEAR, "#trainable": False}) as net:
        net.net.print_network_info()
    out = capsys.readouterr().out
    assert out.count("  fixed\n") == 2 and "net trainable params: []\n" in out


def test_layers_that_nothing_needs_are_named(capsys: pytest.CaptureFixture) -> None:
    """Those for a search are not expected here."""
    network = {"output": COPY, **{"x%02i" % i: LINEAR for i in range(23)}, "s": {**LINEAR, "only_on_search": True}}
    with Net(network):
        pass
    names = ", ".join("x%02i" % i for i in range(20))
    assert "layers that are not built, as nothing needs them: %s and 3 more\n" % names in capsys.readouterr().out


@pytest.mark.parametrize(
    ("layer", "key"),
    [
        ({"class": "batch_norm", "from": "data", "masked_time": True, "fused_bn": True}, "fused_bn"),
        ({**LINEAR, "batch_norm": {"masked_time": True, "fused": True}}, "fused"),
        ({"class": "softmax", "n_out": 2, "from": "data", "compute_priors": True}, "compute_priors"),
    ],
)
def test_options_of_other_versions_get_one_warning(layer: Any, key: str, capsys: pytest.CaptureFixture) -> None:
    """And have no effect."""
    log._printed_once.clear()
    network = {"output": layer, "again": {**layer, "is_output_layer": True}}
    with Net(network):
        pass
    assert capsys.readouterr().out.count("WARNING: option %s=True of layer class " % key) == 1
    assert all(isinstance(keys, tuple) for keys in FORK_OPTIONS.values())
    with pytest.raises(NetworkLayerException, match="unknown"):
        Net({"output": {**layer, "n_outt": 3}})


def test_what_is_odd_about_old_batch_norm_and_l2_is_told_once(capsys: pytest.CaptureFixture) -> None:
    """Statistics that change in evaluation, unless the config says so; and that L2 makes smaller."""
    log._printed_once.clear()
    changing, steady = {"masked_time": True}, {"masked_time": True, "update_sample_only_in_training": True}
    network = {"a": {**LINEAR, "batch_norm": steady}, "output": {**LINEAR, "from": "a", "batch_norm": steady}}
    with Net(network, evaluation=True):
        pass
    assert "WARNING" not in capsys.readouterr().out
    network = {
        "a": {**LINEAR, "batch_norm": changing},
        "output": {**LINEAR, "from": "a", "batch_norm": changing, "L2": 1},
    }
    with Net(network, evaluation=True) as net:
        for _ in range(2):
            net.net.get_total_constraints()
    out = capsys.readouterr().out
    assert out.count("batch_norm: its running statistics change in evaluation too, unless update_sample") == 1
    assert out.count("WARNING: layer output: L2 concerns the running statistics of its batch_norm too") == 1


class Recorded(basic.LinearLayer):
    """A layer of a user with two losses of its own, and a look at post_init."""

    layer_class = "recorded"

    def post_init(self, layer_desc: dict[str, Any]) -> None:
        super().post_init(layer_desc)
        self.seen = dict(layer_desc)

    @classmethod
    def get_losses(cls, name: str, layer: Any, loss: Any, **kwargs: Any) -> list[LossHolder]:
        first = super().get_losses(name=name, layer=layer, loss=loss, **kwargs)
        value = tf.constant(7.0)
        second = LossHolder(name=name + "/more", loss=loss, layer=layer, loss_value=value, norm_factor=0.5)
        return [*first, second]


def test_hooks_of_users_layers() -> None:
    """7 more in the objective; the second loss has the norm factor that was given."""
    layer = {**LINEAR, "class": Recorded, "loss": "as_is", "forward_weights_init": 0}
    with Net({"sub": {"class": "subnetwork", "from": "data", "subnetwork": {"output": layer}}, "output": COPY}) as net:
        assert net.net.get_fetches_dict() == {}
    network = {"output": {"class": "subnetwork", "from": "data", "subnetwork": {"output": layer}}}
    with Net(network, train=True) as net:
        got = net.fetches()
        assert got["loss"] == 7 == got["cost:output/output/more"] and got["cost:output/output"] == 0
        assert got["loss_norm_factor:output/output/more"] == 0.5
        assert net.layers["output/output"].seen["n_out"] == 2


def test_copy_output_loss_from_source_idx() -> None:
    """The loss that came with a source goes on with the output, and the layer eval may take it."""
    network = {
        "made": {**COPY, "from": "data"},
        "linear": {**LINEAR, "from": "made", "copy_output_loss_from_source_idx": 0},
        "output": {"class": "copy", "from": "linear"},
    }
    with Net(network, train=True) as net:
        assert net.layers["linear"].output_loss is net.layers["made"].output_loss


# ---- choices


def _chooser(net: Net, name: str, source: LayerBase, src_beams: list[list[int]], beam_size: int = 2) -> LayerBase:
    """:return: layer that chose, after its source"""
    raw = tf.constant(numpy.arange(2 * beam_size, dtype="float32").reshape(2 * beam_size, 1))
    output = source.output.copy_template(name) if source.search_choices else net.layers["pooled"].output.copy(name)
    output.raw_tensor = raw
    output.beam = SearchBeam(beam_size=beam_size, name=name)
    layer = base.InternalLayer(name=name, network=net.net, output=output, sources=[source])
    layer.search_choices = SearchChoices(owner=layer, beam_size=beam_size)
    layer.search_choices.set_src_beams(tf.constant(src_beams))
    layer.search_choices.set_beam_scores(tf.zeros((2, beam_size)))
    return layer


NETWORK = {
    "pooled": {"class": "reduce", "mode": "sum", "axis": "T", "from": "one"},
    "one": {"class": "linear", "activation": None, "n_out": 1, "from": "data"},
    "output": {"class": "copy", "from": "pooled"},
}


def test_the_latest_choices_count() -> None:
    """b chose after a. Nothing is behind a decision. c chose too, but neither after b nor before it."""
    with Net(NETWORK) as net:
        a = _chooser(net, "a", net.layers["pooled"], [[0, 0], [0, 0]])
        between = base.InternalLayer(name="x", network=net.net, output=a.output, sources=[a, net.layers["data"]])
        b = _chooser(net, "b", between, [[1, 1], [0, 1]])
        c = _chooser(net, "c", a, [[0, 1], [0, 1]])
        after = base.InternalLayer(name="y", network=net.net, output=b.output, sources=[between, b])
        assert after.get_search_choices() is b.search_choices and between.get_search_choices() is a.search_choices
        assert b.search_choices.src_layer is a and a.search_choices.src_layer is None
        assert repr(b.search_choices) == "<SearchChoices owner='b' beam_size=2>"
        assert net.net.get_search_choices(sources=[a, b]) is b
        with pytest.raises(ConfigError, match="Search choices cannot be compared") as info:
            net.net.get_search_choices(sources=[b, c])
        assert "'b' out_type" in str(info.value) and "after: a" in str(info.value)
        decided = base.InternalLayer(name="d", network=net.net, output=a.output, sources=[b])
        decided.search_choices = SearchChoices(owner=decided, beam_size=2, is_decided=True)
        assert decided.get_search_choices() is None
        assert net.net.get_search_choices(sources=[decided]) is None


def test_outputs_are_selected_for_later_choices() -> None:
    """
    a has values 0 1 | 2 3. b goes on from hypotheses 1 1 | 0 1 of a, d from 1 0 | 1 1 of b: 1 1 | 2 3, then 1 1 | 3 3.
    """
    with Net(NETWORK) as net:
        a = _chooser(net, "a", net.layers["pooled"], [[0, 0], [0, 0]])
        b = _chooser(net, "b", a, [[1, 1], [0, 1]])
        d = _chooser(net, "d", b, [[1, 0], [1, 1]])
        select = SelectSearchSourcesLayer.select_if_needed
        for_b, for_d = select(a, b.search_choices), select(a, d.search_choices)
        assert net.session.run(for_b.output.raw_tensor)[:, 0].tolist() == [1, 1, 2, 3]
        assert net.session.run(for_d.output.raw_tensor)[:, 0].tolist() == [1, 1, 3, 3]
        assert for_d.get_search_choices() is d.search_choices and for_d.output.beam is d.output.beam
        assert select(a, a.search_choices) is a is select(a, None)
        assert select(net.layers["one"], d.search_choices) is net.layers["one"]
        with pytest.raises(ConfigError, match="owner='a'.*does not go on from.*owner='b'"):
            select(b, a.search_choices)


def test_names_that_users_import() -> None:
    """Of tf.network, tf.layers.base, tf.layers.basic; all that is exported is there."""
    network_names = """
        TFNetwork ExternData LayerNotFound DataNotFound NetworkLayerException
        NetworkConstructionDependencyLoopException CustomCheckpointLoader TFNetworkParamsSerialized LossHolder
        Subnetwork GetLayer help_on_tf_exception set_custom_post_init have_custom_post_init
        CannotHandleUndefinedSourcesException
        """
    base_names = """
        LayerBase InternalLayer WrappedInternalLayer DataNotAvailableLayer ReuseParams SearchChoices Loss
        """
    basic_names = """
        SelectSearchSourcesLayer auto_register_layer_classes _ConcatInputLayer register_layer_class get_layer_class
        get_layer_class_name_list get_loss_class concat_sources get_concat_sources_data_template
        """
    import_module = importlib.import_module
    for module_name, names in [
        ("returnn.tf.network", network_names),
        ("returnn.tf.layers.base", base_names),
        ("returnn.tf.layers.basic", basic_names + base_names),
    ]:
        module = import_module(module_name)
        for name in [*names.split(), *module.__all__]:
            assert hasattr(module, name), (module_name, name)
    assert TFNetwork is import_module("TFNetwork").TFNetwork
