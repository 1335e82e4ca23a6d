"""Parameters from checkpoints of other networks, on real files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.tf.network import CustomCheckpointLoader
from returnn.tf.network.checkpoint_loader import ParamsDoNotFitError
from returnn.util.errors import UserError
from tests.network.net import Net

LINEAR = {"class": "linear", "n_out": 3, "activation": None, "from": "data"}
LSTM = {"class": "rec", "n_out": 2, "from": "data"}


def saved(path: Path, network: dict[str, Any], **values: Any) -> str:
    """:return: prefix of a checkpoint of that network, with these values"""
    with Net(network) as net:
        net.set(**values)
        net.net.save_params_to_file(str(path), net.session)
    return str(path)


@pytest.fixture
def small(tmp_path: Path) -> str:
    return saved(tmp_path / "small", {"output": {**LINEAR, "name_scope": "l"}}, l__W=2, l__b=3)


def loader(net: Net, filename: str, **opts: Any) -> CustomCheckpointLoader:
    return CustomCheckpointLoader(filename, saveable_params=net.net.get_params_list(), network=net.net, **opts)


def test_missing_ones_are_an_error_that_lists_them(small: str) -> None:
    """The model has l and x, the file l."""
    with Net({"l": LINEAR, "output": {**LINEAR, "from": "l", "name_scope": "x"}}) as net:
        with pytest.raises(ParamsDoNotFitError, match=r"could_not_find_map_list: \['x/W', 'x/b'\]"):
            loader(net, small)
        found = loader(net, small, ignore_missing=True)
        assert found.missing_var_names == ["x/W", "x/b"] and found.obsolete_var_names == ["global_step"]
        found.load_now(net.session)
        assert net.get("l/W").tolist() == [[2, 2, 2]] * 2 and net.get("l/b").tolist() == [3, 3, 3]


def test_nothing_found_is_an_error_with_ignore_missing_too(small: str) -> None:
    with Net({"output": {**LINEAR, "name_scope": "x"}}) as net:
        with pytest.raises(AssertionError, match="none of the parameters is in the file"):
            loader(net, small, ignore_missing=True)


def test_nothing_wanted_is_an_error(small: str) -> None:
    with Net({"output": {**LINEAR, "name_scope": "l"}}) as net:
        with pytest.raises(AssertionError, match=r"no saveable vars.*prefix 'lm_'.*l/W, l/b"):
            loader(net, small, load_if_prefix="lm_")


def test_prefix(small: str) -> None:
    """lm_l/b gets l/b, and l/b is not touched."""
    with Net({"lm_l": LINEAR, "output": {**LINEAR, "from": "lm_l", "name_scope": "l"}}) as net:
        net.set(l__W=0, l__b=0)
        loader(net, small, load_if_prefix="lm_").load_now(net.session)
        assert net.get("lm_l/b").tolist() == [3, 3, 3] and net.get("l/b").tolist() == [0, 0, 0]


def test_first_load_of_a_parameter_wins(small: str, tmp_path: Path) -> None:
    """Neither a later preload nor the checkpoint of the model itself changes it."""
    other = saved(tmp_path / "other", {"output": {**LINEAR, "name_scope": "l"}}, l__W=7, l__b=7)
    with Net({"output": {**LINEAR, "name_scope": "l"}}) as net:
        loader(net, small, ignore_params=["l/b"]).load_now(net.session)
        loader(net, other).load_now(net.session)
        assert net.get("l/W").tolist() == [[2, 2, 2]] * 2 and net.get("l/b").tolist() == [7, 7, 7]
        net.net.load_params_from_file(small, net.session)
        assert net.get("l/b").tolist() == [7, 7, 7]


def test_as_initial_value(small: str) -> None:
    with Net({"output": {**LINEAR, "name_scope": "l"}}) as net:
        loader(net, small).set_as_custom_init()
        net.net.initialize_params(net.session)
        assert net.get("l/b").tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("unit_in_file", "unit_in_model"),
    [("standardlstm", "nativelstm2"), ("nativelstm2", "standardlstm"), ("basiclstm", "lstmp"), ("lstm", "basiclstm")],
)
def test_lstm_units_compute_the_same_from_the_file_of_another(
    tmp_path: Path, unit_in_file: str, unit_in_model: str
) -> None:
    """The forget bias is no parameter: 0 on both sides."""

    def network(unit: str) -> dict[str, Any]:
        cell = unit in ("standardlstm", "basiclstm")
        return {"output": {**LSTM, "unit": unit, "unit_opts": {"forget_bias": 0.0} if cell else None}}

    rnd = numpy.random.RandomState(3)
    with Net(network(unit_in_file)) as net:
        for var in net.net.get_params_list():
            var.load(rnd.normal(size=var.shape.as_list()).astype("float32"), net.session)
        expected = net.out()
        net.net.save_params_to_file(str(tmp_path / "m"), net.session)
    with Net(network(unit_in_model)) as net:
        net.net.load_params_from_file(str(tmp_path / "m"), net.session)
        numpy.testing.assert_allclose(net.out(), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("versions", [(0, 1), (0, 2), (1, 2)])
def test_batch_norm_of_another_version(tmp_path: Path, versions: tuple[int, int]) -> None:
    def network(version: int) -> dict[str, Any]:
        return {"output": {"class": "batch_norm", "from": "data", "param_version": version}}

    with Net(network(versions[0])) as net:
        for i, var in enumerate(net.net.get_params_list()):
            var.load(numpy.full(var.shape.as_list(), i + 1.0, "float32"), net.session)
        expected = net.out()
        net.net.save_params_to_file(str(tmp_path / "m"), net.session)
    with Net(network(versions[1])) as net:
        net.net.load_params_from_file(str(tmp_path / "m"), net.session)
        numpy.testing.assert_allclose(net.out(), expected, rtol=1e-5)


def test_all_that_does_not_fit_is_told_at_once(small: str) -> None:
    network = {"l": {**LINEAR, "n_out": 4}, "output": {**LINEAR, "from": "l", "name_scope": "x"}}
    with Net(network) as net:
        before = net.get("l/W")
        with pytest.raises(ParamsDoNotFitError) as raised:
            net.net.load_params_from_file(small, net.session)
        assert str(raised.value).splitlines() == [
            "Exiting now because model cannot be loaded.",
            "The checkpoint %r is of another network:" % small,
            "checkpoint %r: 1 parameters loaded; 2 new, 2 differs" % small,
            "  new      x/W  (4, 3), keeps its initial value",
            "  new      x/b  (3,), keeps its initial value",
            "  differs  l/W  file (2, 3) float32, network (2, 4) float32",
            "  differs  l/b  file (3,) float32, network (4,) float32",
            "Load a checkpoint of this network, or change the network back, or choose another model name.",
        ]
        assert numpy.array_equal(net.get("l/W"), before)


def test_load_ignore_missing_vars_is_for_missing_ones_only(small: str) -> None:
    network = {"l": LINEAR, "output": {**LINEAR, "from": "l", "name_scope": "x"}}
    with Net(network, load_ignore_missing_vars=True) as net:
        net.net.load_params_from_file(small, net.session)
        assert net.get("l/b").tolist() == [3, 3, 3]
    with Net({"output": {**LINEAR, "n_out": 4, "name_scope": "l"}}, load_ignore_missing_vars=True) as net:
        with pytest.raises(ParamsDoNotFitError, match=r"differs  l/W  file \(2, 3\)"):
            net.net.load_params_from_file(small, net.session)


@pytest.mark.parametrize(
    ("mode", "expected"), [("subset", [[2, 2, 2, 0], [2, 2, 2, 0]]), ("ifpossible", [[0] * 4] * 2)]
)
def test_importer_of_a_layer_by_copy_mode(small: str, mode: str, expected: list[list[int]]) -> None:
    """[2, 3] twos into [2, 4] zeros."""
    layer = {**LINEAR, "n_out": 4, "name_scope": "l", "custom_param_importer": mode}
    with Net({"output": layer}) as net:
        net.set(l__W=0, l__b=0)
        net.net.load_params_from_file(small, net.session)
        assert net.get("l/W").tolist() == expected


def test_importer_of_a_layer_by_function(small: str) -> None:
    """It gets what the file has in the scope of the layer."""

    def importer(layer: Any, values_dict: Any, session: Any) -> None:
        assert {name: value.shape for name, value in values_dict.items()} == {"W": (2, 3), "b": (3,)}
        layer.params["b"].load(values_dict["b"] * 10, session)

    with Net({"output": {**LINEAR, "name_scope": "l", "custom_param_importer": importer}}) as net:
        net.net.load_params_from_file(small, net.session)
        assert net.get("l/b").tolist() == [30, 30, 30]


def subnet(load_on_init: Any) -> dict[str, Any]:
    inner = {"l": LINEAR, "output": {"class": "copy", "from": "l"}}
    return {"output": {"class": "subnetwork", "from": "data", "load_on_init": load_on_init, "subnetwork": inner}}


def test_subnetwork_starts_with_a_checkpoint(small: str) -> None:
    """A name, a dict, or a function without arguments that gives one. Names of parameters are those inside."""
    for load in (
        small,
        {"filename": small + ".index"},
        lambda: small,
        lambda: {"filename": small, "ignore_params": ["l/b"]},
    ):
        with Net(subnet(load)) as net:
            net.net.initialize_params(net.session)
            assert net.get("output/l/W").tolist() == [[2, 2, 2]] * 2
            ignored = callable(load) and isinstance(load(), dict)
            assert net.get("output/l/b").tolist() == ([0, 0, 0] if ignored else [3, 3, 3])


def test_a_checkpoint_of_the_whole_network_overwrites_what_it_started_with(small: str, tmp_path: Path) -> None:
    whole = saved(tmp_path / "whole", subnet(small), output__l__W=9, output__l__b=9)
    with Net(subnet(small)) as net:
        net.net.initialize_params(net.session)
        net.net.load_params_from_file(whole, net.session)
        assert net.get("output/l/b").tolist() == [9, 9, 9]


@pytest.mark.parametrize(
    ("load", "message"),
    [
        ("/nowhere/x", r'network\["output"\].*load_on_init: there is no checkpoint \'/nowhere/x\''),
        ({"file": "x"}, "load_on_init: option 'file' is unknown. Did you mean \"filename\""),
        (3, "load_on_init must be the name of a checkpoint or a dict, but is 3"),
    ],
)
def test_wrong_load_on_init(load: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Net(subnet(load))
