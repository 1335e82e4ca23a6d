"""Values of the units: numbers that hold for checkpoints made elsewhere."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.layers.recurrent.common import NetworkRun, fresh_graph, last, outputs_of, rec

ZONEOUT = {"zoneout_factor_cell": 0.5, "zoneout_factor_output": 0.25}


def close(value: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(value, expected, atol=6e-6)


def test_standardlstm() -> None:
    """input rows first, i j f o, forget bias 1"""
    y, c = outputs_of({"r": rec("standardlstm"), "c": last("r", 2, key="c")}, "r", "c")
    close(y[0], [[-0.01229, 0.03182], [-0.07352, 0.21867], [-0.0956, 0.31099]])
    close(y[1], [[-0.03853, 0.17687], [-0.08969, 0.15394], [0, 0]])
    close(c, [[-0.16804, 0.72777], [-0.134, 0.29903]])


def test_standardlstm_backwards() -> None:
    """from the own end of each sequence; the last h is that of frame 0"""
    net = {"r": rec("standardlstm", unit_opts={"forget_bias": 0.0}, direction=-1), "h": last("r", 2, key="h")}
    y, h = outputs_of(net, "r", "h")
    close(y[1], [[-0.05987, 0.19136], [-0.05681, 0.03893], [0, 0]])
    close(h, y[:, 0])


@pytest.mark.parametrize("unit", ["nativelstm2", "vanillalstm", "lstmp", "LSTMBlock", "lstm"])
def test_native_lstm(unit: str) -> None:
    """j i f o, no forget bias; the state is c, then h"""
    y, state = outputs_of({"r": rec(unit), "s": last("r", 4)}, "r", "s")
    close(y[0], [[-0.03179, 0.01327], [-0.18774, 0.0992], [-0.20004, 0.08967]])
    close(state[0], [-0.35936, 0.1851, -0.20004, 0.08967])


def test_native_lstm_backwards() -> None:
    """zero behind the end, c of frame 0"""
    y, c = outputs_of({"r": rec("nativelstm2", direction=-1), "c": last("r", 2, key="c")}, "r", "c")
    close(y[1], [[-0.13621, 0.05308], [-0.19104, 0.10889], [0, 0]])
    close(c[1], [-0.26513, 0.11011])


def test_gru_and_basicrnn() -> None:
    y, z = outputs_of({"g": rec("gru"), "b": rec("basicrnn")}, "g", "b")
    close(y[0], [[-0.06373, 0.02342], [-0.43482, 0.08178], [-0.51584, 0.08557]])
    close(z[1, 1], [-0.63153, 0.60921])


def test_zoneout_in_evaluation() -> None:
    """the mean of the noise; the output is the new h, or with use_zoneout_output what is carried; c is that of both"""
    net = {
        "r": rec("zoneoutlstm", unit_opts=ZONEOUT),
        "out": rec("ZoneoutLSTM", unit_opts=dict(ZONEOUT, use_zoneout_output=True)),
        "c": last("r", 2, key="c"),
        "out_c": last("out", 2, key="c"),
    }
    y, out, c, out_c = outputs_of(net, "r", "out", "c", "out_c")
    close(y[0, 2], [-0.07326, 0.25761])
    close(out[0, 2], [-0.0683, 0.23414])
    close(c[0], [-0.09351, 0.40831])
    close(out_c, c)


def test_zoneout_output_from_behavior_version_17_on() -> None:
    """default of use_zoneout_output: False up to 16, True from 17"""
    net = {"r": rec("zoneoutlstm", unit_opts=ZONEOUT)}
    close(outputs_of(net, "r", behavior_version=16)[0][0, 2], [-0.07326, 0.25761])
    close(outputs_of(net, "r", behavior_version=17)[0][0, 2], [-0.0683, 0.23414])


@pytest.mark.parametrize(
    ("opts", "name"), [({}, "beta_input_below"), ({"global_norm": False, "global_norm_joined": True}, "beta_lstm_in")]
)
@pytest.mark.parametrize(("version", "beta"), [(30, [2.5] * 8), (31, [0.5, 0.5, 0.5, 0.5, 2.5, 2.5, 0.5, 0.5])])
def test_forget_bias_of_global_norms(version: int, beta: list[float], opts: dict[str, Any], name: str) -> None:
    """norm_shift 0.5 for all gates; forget_bias 2 on top for the forget gate; up to version 30, for all"""
    unit_opts = {"forget_bias": 2.0, "norm_shift": 0.5, **opts}
    with fresh_graph(behavior_version=version):
        run = NetworkRun({"r": rec("layernormvariantslstm", unit_opts=unit_opts)})
        (var,) = (x for x in run.network.get_params_list() if x.op.name == "r/rec/" + name)
        assert run.session.run(var.read_value()).tolist() == beta


def test_layernormvariantslstm_rhn_and_peepholes() -> None:
    net = {
        "norm": rec("layernormvariantslstm"),
        "rhn": rec("rhn", unit_opts={"depth": 2}),
        "peep": rec("standardlstm", unit_opts={"use_peepholes": True}),
    }
    norm, rhn, peep = outputs_of(net, "norm", "rhn", "peep")
    close(norm[1], [[0, 0.18997], [-0.63979, 0], [0, 0]])
    close(rhn[0, 2], [-0.03589, 0.09074])
    close(peep[0, 2], [-0.10154, 0.34449])


def test_low_mem_lstm_has_the_rows_of_both_matrices() -> None:
    """W [D + n, 4n] = [W; W_re] of the native one"""
    with fresh_graph():
        run = NetworkRun({"a": rec("nativelstm2"), "b": rec("NativeLstmLowMem", direction=1)})
        run.fill_params()
        params = {v.op.name: v for v in run.network.get_params_list()}
        rows = numpy.concatenate([run.session.run(params["a/rec/W"]), run.session.run(params["a/rec/W_re"])])
        run.session.run([params["b/rec/W"].assign(rows), params["b/rec/b"].assign(params["a/rec/b"])])
        a, b = run("a", "b")
    assert numpy.abs(a).max() > 0.1
    close(b, a)


def test_native_lstm_v1_gives_c_alone() -> None:
    """the last state has n_out 2, and there is no initial state"""
    old, new = outputs_of(
        {"r": rec("nativelstm"), "s": last("r", 2), "q": rec("lstm"), "c": last("q", 2, key="c")}, "s", "c"
    )
    close(old, new)
    with fresh_graph(), pytest.raises(ConfigError, match="unit 'nativelstm' always starts at zero"):
        NetworkRun({"r": rec("nativelstm", initial_state="ones")})


@pytest.mark.parametrize("opts", [{"dropout": 0.5}, {"dropout_h": 0.5}, {"dropout": 0.5, "is_training": False}])
def test_layer_norm_lstm_drops_with_one_mask_for_all_frames(opts: dict[str, Any]) -> None:
    """
    Bias 1, W_ff 0, n = 50, no norms. Dropout 0.5 on tanh(j): the masks are 0 or 2, so c and h stay 0 in all frames
    where the mask is 0. dropout_h 0.5: frame 0 (h = 0) is the same everywhere, frame 1 is not. is_training False: no
    dropout.
    """
    n = 50
    opts = {"global_norm": False, "cell_norm": False, **opts}
    with fresh_graph():
        run = NetworkRun({"r": rec("layernormvariantslstm", n_out=n, unit_opts=opts)}, train_flag=True)
        for var in run.network.get_params_list():
            run.session.run(var.assign(numpy.full(var.shape, 0.0 if "W_ff" in var.op.name else 1.0)))
        (y,) = run("r")
        (again,) = run("r")
    assert (y == again).all()
    zero = y[0] == 0  # [frame, n]
    if opts.get("dropout_h"):
        assert len(set(y[0, 0].round(5))) == 1 and not zero.any()
        assert numpy.abs(y[0, 1] - y[0, 0]).max() > 1e-3
    elif "is_training" in opts:
        assert not zero.any()
    else:
        assert 10 < zero[0].sum() < 40
        assert (zero == zero[:1]).all()
        assert (zero[0] != (y[1, 0] == 0)).any()


def test_rhn_drops_the_same_elements_in_all_frames() -> None:
    """depth 1, weights W only: dropout is on what enters the other matrix, so frame 0 (state 0) is as without"""
    with fresh_graph():
        net = {
            "a": rec("rhn", n_out=20, unit_opts={"depth": 1}),
            "b": rec("rhn", n_out=20, unit_opts={"depth": 1, "dropout": 0.5}),
        }
        run = NetworkRun(net, train_flag=True)
        run.fill_params()
        a, b = run("a", "b")
        assert (run("b")[0] == b).all()
    close(a[:, 0], b[:, 0])
    assert numpy.abs(a[0, 1] - b[0, 1]).max() > 1e-3


def test_weight_dropout_is_for_training_only() -> None:
    """
    All weights 1, n = 7. Shape (None, 1) drops whole rows, times 2: all columns stay alike, and their sum is even,
    never 7. Frame 0 (h = 0) is that of a layer without.
    """
    opts = {"rec_weight_dropout": 0.5, "rec_weight_dropout_shape": (None, 1)}
    results = {}
    for flag in (True, False):
        with fresh_graph():
            run = NetworkRun({"a": rec("lstm", n_out=7), "b": rec("lstm", n_out=7, unit_opts=opts)}, train_flag=flag)
            for var in run.network.get_params_list():
                run.session.run(var.assign(numpy.ones(var.shape)))
            results[flag] = run("a", "b")
    close(results[False][0], results[False][1])
    a, b = results[True]
    close(a[:, 0], b[:, 0])
    assert numpy.abs(a[0, 1] - b[0, 1]).max() > 1e-3
    assert numpy.ptp(b[0, 1]) < 1e-6


def test_no_input_projection() -> None:
    """input 2 times as W would give it: the same output; no W and no b"""
    gates = {"class": "linear", "activation": None, "n_out": 8, "from": "data"}
    with fresh_graph():
        run = NetworkRun(
            {"gates": gates, "a": rec("lstm"), "b": rec("lstm", input_projection=False, **{"from": "gates"})}
        )
        run.fill_params()
        a, b = run("a", "b")
        assert sorted(v.op.name for v in run.network.get_params_list() if v.op.name.startswith("b/")) == ["b/rec/W_re"]
    close(a, b)


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({"unit": "LSTMCell"}, "unknown cell 'LSTMCell'.*known cells: \\['basiclstm'"),
        ({"unit": "grru"}, "unknown cell 'grru'. Did you mean \"gru\"?"),
        (
            {"unit_opts": {"forget": 1}},
            "unit 'standardlstm' has no option 'forget'.*Options: activation, forget_bias, use_peepholes",
        ),
        ({"unit": "lstm", "unit_opts": {"forget_bias": 1}}, "no forget_bias other than 0, but got 1"),
        ({"unit": "zoneoutlstm", "unit_opts": {"zoneout_factor_cell": 2}}, "zoneout_factor_cell must be in \\[0, 1\\]"),
        (
            {"unit": "layernormvariantslstm", "unit_opts": {"per_gate_norm": True}},
            "global_norm and per_gate_norm exclude each other \\(global_norm is the default: set it to False\\)",
        ),
        (
            {
                "unit": "layernormvariantslstm",
                "unit_opts": {"global_norm": False, "global_norm_joined": True, "per_gate_norm": 1},
            },
            "global_norm_joined and per_gate_norm exclude each other$",
        ),
        ({"unit": "rhn", "unit_opts": {"depth": 0}}, "depth must be a positive integer, but is 0"),
        ({"unit": "lstm", "unit_opts": {"rec_weight_dropout": 1.5}}, "rec_weight_dropout must be in \\[0, 1\\)"),
        ({"input_projection": False}, "input_projection: unit 'standardlstm' cannot do without"),
        ({"unit": "lstm", "input_projection": False}, "the input must have 4 \\* 2 features"),
        ({"unit": "gru", "from": "data:labels"}, "unit 'gru' does not take labels as input"),
    ],
)
def test_messages(opts: dict[str, Any], message: str) -> None:
    """each with the name of the layer"""
    extern_data = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True}}
    with fresh_graph(), pytest.raises(ConfigError, match='(?s)network\\["r"\\].*' + message):
        NetworkRun({"r": {**rec("standardlstm"), **opts}}, extern_data=extern_data)
