"""One training step: gradients, accumulation, clipping, decay, learning rate, order."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.updater import CustomUpdate, Updater
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import UserError
from tests.tf.updater.common import FakeLayer, FakeNetwork, ancestors, setup


def check_steps(s, gs, expected, *, atol=1e-6):
    """After each gradient, the parameter is as expected."""
    for i, (g, x) in enumerate(zip(gs, expected, strict=True)):
        assert_allclose(s.step(g), x, rtol=0, atol=atol, err_msg=f"step {i}")


def test_sgd_steps_and_counts():
    """x -= 0.1 g, three times with g = (1, 1); the global step is 3."""
    with setup() as s:
        check_steps(s, [(1, 1)] * 3, [(0.9, 1.9), (0.8, 1.8), (0.7, 1.7)])
        assert s.global_step() == 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gradient_clip_norm": 1}, (0.94, 1.92)),  # norm 5: g / 5 = (0.6, 0.8)
        ({"gradient_clip_avg_norm": 1}, (0.88, 1.84)),  # norm 5 over 2 elements = 2.5: g / 2.5 = (1.2, 1.6)
        ({"gradient_clip_global_norm": 1}, (0.94, 1.92)),  # g / 5
        ({"gradient_clip_global_norm": 1, "gradient_clip": 1}, (0.98, 1.98)),  # (1, 1) / 5: the norm is the raw one
        ({"gradient_clip": 3.5}, (0.7, 1.65)),  # (3, 3.5)
        ({"gradient_clip_norm": 10, "gradient_clip_avg_norm": 10, "gradient_clip_global_norm": 10}, (0.7, 1.6)),
    ],
)
@pytest.mark.parametrize("place", ["config", "updater_opts"])
def test_clipping(options: dict[str, Any], expected: tuple[float, float], place: str):
    """g = (3, 4), lr 0.1"""
    with setup(**({"config": options} if place == "config" else {"updater_opts": options})) as s:
        check_steps(s, [(3, 4)], [expected])


def test_clipping_leaves_zero_gradient():
    """The norm is 0, 1 / 0 must not make a nan."""
    options = {"gradient_clip_norm": 1, "gradient_clip_avg_norm": 1, "gradient_clip_global_norm": 1}
    with setup(options) as s:
        check_steps(s, [(0, 0)], [(1, 2)])


def test_global_norm_is_over_all_parameters():
    """|(3, 0, 0, 4)| = 5: each gradient is divided by 5."""
    with setup({"gradient_clip_global_norm": 1}, {"a": (1, 2), "b": (1, 2)}) as s:
        s.step({"a": (3, 0), "b": (0, 4)}, "a")
        assert_allclose([s.value("a"), s.value("b")], [(0.94, 2), (1, 1.92)], atol=1e-6)


def test_global_norm_of_a_tag():
    """Layer a is clipped by the norm of its tag, |(3, 4)| = 5, and not by that of all, |(3, 4, 12, 0)| = 13."""
    opts = {"a": {"tags": ["t"], "gradient_clip_global_norm": 1, "global_norm_tag": "t"}, "b": {}}
    with setup({}, {"a": (1, 2), "b": (1, 2)}, updater_opts=opts) as s:
        s.step({"a": (3, 4), "b": (12, 0)}, "a")
        assert_allclose([s.value("a"), s.value("b")], [(0.94, 1.92), (-0.2, 2)], atol=1e-6)


def test_unknown_tag_is_an_error():
    with pytest.raises(UserError, match="No parameter has the tag 'u'.*: \\['t'\\]"):
        with setup(updater_opts={"tags": ["t"], "gradient_clip_global_norm": 1, "global_norm_tag": "u"}):
            pass


def test_nan_inf_filter():
    """A nan component becomes 0, the other one stays: 2 - 0.1 = 1.9. With gradient_clip before it, too."""
    for options in ({}, {"gradient_clip": 1}):
        with setup({"gradient_nan_inf_filter": True, **options}) as s:
            check_steps(s, [(math.nan, 1)], [(1, 1.9)])
    with setup({"gradient_nan_inf_filter": True}) as s:
        check_steps(s, [(math.inf, 1), (1, -math.inf)], [(1, 1.9), (0.9, 1.9)])


def test_nan_with_global_clipping_zeroes_the_step():
    """The norm is nan, so all components become nan, so all become 0."""
    with setup({"gradient_nan_inf_filter": True, "gradient_clip_global_norm": 1}) as s:
        check_steps(s, [(math.nan, 1)], [(1, 2)])


def test_grad_norm_to_clip_to_zero():
    """Norms 5 and nan: no step. Norm 0.5: x - 0.1 (0.3, 0.4)."""
    with setup({"grad_norm_to_clip_to_zero": 4}) as s:
        check_steps(s, [(3, 4), (math.nan, 0), (0.3, 0.4)], [(1, 2), (1, 2), (0.97, 1.96)])


def test_gradient_noise_is_truncated_normal():
    """A normal cut at 2 sigma has the standard deviation 0.88 sigma."""
    with setup({"gradient_noise": 1}, numpy.zeros(20000), learning_rate=1.0) as s:
        x = s.step(numpy.zeros(20000))
    assert abs(numpy.std(x) - 0.88) <= 0.01
    assert abs(numpy.mean(x)) < 0.03  # 0.88 / sqrt(20000) = 0.006
    assert 1.9 < numpy.max(numpy.abs(x)) <= 2


def test_gradient_noise_depends_on_seed_name_and_step_only():
    zeros = numpy.zeros(20)

    def noise(seed, names, num_steps):
        with setup({"gradient_noise": 1, "random_seed": seed}, {name: zeros for name in names}, learning_rate=1.0) as s:
            for _ in range(num_steps - 1):
                s.step({name: zeros for name in names}, "a")
            before = s.value("a")
            return s.step({name: zeros for name in names}, "a") - before

    assert_allclose(noise(1, ["a"], 2), noise(1, ["b", "a", "c"], 2), atol=1e-6)
    assert numpy.all(noise(1, ["a"], 2) != noise(1, ["a"], 1))
    assert numpy.all(noise(1, ["a"], 1) != noise(2, ["a"], 1))
    with setup({"gradient_noise": 1}, {"a": zeros, "b": zeros}) as s:
        assert numpy.all(s.step({"a": zeros, "b": zeros}, "a") != s.value("b"))


@pytest.mark.parametrize("version", [0, BehaviorVersion._latest_behavior_version])
def test_accumulation_over_two_steps(version: int):
    """x = 1 - 0.1 (1 + 2) = 0.7, then 0.7 - 0.1 (3 + 4) = 0; between them it stays."""
    BehaviorVersion._reset(version)
    try:
        with setup({"accum_grad_multiple_step": 2}) as s:
            xs = [x[0] for x in s.steps([(g, 0) for g in (1, 2, 3, 4, 5)])]
            assert s.global_step() == 5
    finally:
        BehaviorVersion._reset()
    assert_allclose(xs, [1, 0.7, 0.7, 0, 0], atol=1e-6)


def test_accumulation_over_three_steps():
    """g = (3, 4): x - 0.1 (9, 12) after each third step."""
    with setup({"accum_grad_multiple_step": 3}) as s:
        after_3, after_6 = (1 - 0.9, 2 - 1.2), (1 - 1.8, 2 - 2.4)
        check_steps(s, [(3, 4)] * 7, [(1, 2)] * 2 + [after_3] * 3 + [after_6] * 2)


@pytest.mark.parametrize("num_steps", [0, 1])
def test_accumulation_over_one_step_is_off(num_steps: int):
    with setup({"accum_grad_multiple_step": num_steps}) as s:
        check_steps(s, [(1, 1)] * 2, [(0.9, 1.9), (0.8, 1.8)])
        assert s.updater.get_optimizer_vars() == []


def test_accumulation_with_global_clipping():
    """The sum (6, 8) is scaled by 1 / 5, as the norm is that of the last step alone: (1.2, 1.6)."""
    expected = [(1, 2), (0.88, 1.84), (0.88, 1.84), (0.76, 1.68), (0.76, 1.68), (0.64, 1.52)]
    with setup({"accum_grad_multiple_step": 2, "gradient_clip_global_norm": 1}) as s:
        check_steps(s, [(3, 4)] * 6, expected)


def test_accumulation_starts_anew_after_a_nan():
    """nan in window 1 does not reach window 2, where x - 0.1 (1 + 1)."""
    with setup({"accum_grad_multiple_step": 2, "gradient_nan_inf_filter": True}) as s:
        check_steps(s, [(math.nan, 1), (1, 1), (1, 1), (1, 1)], [(1, 2), (1, 1.8), (1, 1.8), (0.8, 1.6)])


def test_accumulation_counts_coupled_l2_in_each_step():
    """Gradients 2 L2 x = 0.2 x in each of two steps: x - 0.1 * 0.4 x."""
    with setup({"accum_grad_multiple_step": 2}, l2=0.1) as s:
        check_steps(s, [(0, 0)] * 2, [(1, 2), (0.96, 1.92)])


def test_optimizer_counts_its_own_updates_under_accumulation():
    """Adam's first update, whatever the sum is, has the size lr; so has the second one for equal sums."""
    with setup({"accum_grad_multiple_step": 2, "optimizer": {"class": "adam"}}) as s:
        check_steps(s, [(1, -3)] * 5, [(1, 2), (0.9, 2.1), (0.9, 2.1), (0.8, 2.2), (0.8, 2.2)], atol=1e-5)
        powers = {k: v for k, v in s.state().items() if k.startswith("optimize/beta")}
    # after two updates: beta^3, for the third one
    assert_allclose([powers["optimize/beta1_power"], powers["optimize/beta2_power"]], [0.9**3, 0.999**3], rtol=1e-6)


def test_accumulation_per_layer():
    """Layer a updates each second step, layer b each step; each with its own Adam."""
    opts = {"a": {"accum_grad_multiple_step": 2}, "b": None}
    with setup({"optimizer": {"class": "adam"}}, {"a": (1.0,), "b": (1.0,)}, updater_opts=opts) as s:
        for _ in range(4):
            s.step({"a": (1,), "b": (1,)}, "a")
        assert_allclose([s.value("a"), s.value("b")], [[0.8], [0.6]], atol=1e-5)


def test_coupled_l2():
    """The gradient of 0.1 x^2 is 0.2 x; 0.1 * 0.2 = 0.02."""
    with setup(l2=0.1) as s:
        check_steps(s, [(0, 0)] * 2, [(0.98, 1.96), (0.98**2, 2 * 0.98**2)])


def test_decoupled_l2():
    """x -= x * 2 * 0.1 * factor * rate / initial rate"""
    with setup({"decouple_constraints": True, "decouple_constraints_factor": 1.0}, l2=0.1) as s:
        check_steps(s, [(0, 0)] * 2, [(0.8, 1.6), (0.64, 1.28)])
    with setup({"decouple_constraints": True}, l2=0.1) as s:
        check_steps(s, [(0, 0)], [(0.995, 1.99)])
        s.updater.set_learning_rate(0.05, s.session)
        check_steps(s, [(0, 0)], [(0.995 * 0.9975, 1.99 * 0.9975)])


def test_decoupled_l2_uses_the_gradient_of_the_undecayed_parameter():
    """Objective x^2 / 2: gradient x = 1. x = 1 * 0.8 - 0.1 * 1 = 0.7, and not 0.8 - 0.08. Many times: no race."""
    config = Config({"decouple_constraints": True, "decouple_constraints_factor": 1.0})
    with tf.Graph().as_default(), v1.Session() as session:
        step = v1.get_variable("global_step", (), tf.int64, v1.zeros_initializer(), trainable=False)
        x = v1.get_variable("layer/x", initializer=numpy.ones([100], "float32"))
        network = FakeNetwork([FakeLayer("layer", {"x": x}, l2=0.1)], tf.reduce_sum(x * x) / 2.0, step)
        updater = Updater(config, network, initial_learning_rate=0.1)
        updater.set_trainable_vars([x])
        optim_op = updater.get_optim_op()
        updater.init_optimizer_vars(session)
        session.run([step.initializer])
        for _ in range(20):
            session.run(x.initializer)
            session.run(optim_op)
            assert_allclose(session.run(x), [0.7] * 100, atol=1e-6)


def test_order_of_the_step():
    """Gradients, decay, optimizer, global step: each op has all of the former ones as ancestors."""
    options = {"decouple_constraints": True, "gradient_clip_global_norm": 1}
    with setup(options, {"a": (1.0, 2.0), "b": (1.0, 2.0)}, l2=0.1) as s:
        kinds = ["AssignSubVariableOp", "ResourceApplyGradientDescent", "AssignAddVariableOp"]
        stages = [[op for op in s.graph.get_operations() if op.type == kind] for kind in kinds]
        assert [len(ops) for ops in stages] == [2, 2, 1] and stages[-1] == [s.optim_op]
        gradients = [op for op in ancestors(s.optim_op) if "/gradients/" in op.name and op.type == "Mul"]
        stages.insert(0, gradients)
        assert len(gradients) >= 2
        for before, after in zip(stages, stages[1:], strict=False):
            for op in after:
                assert ancestors(op).issuperset(before), (before, op)
        step_reads = {op for op in ancestors(s.optim_op) if op.type == "ReadVariableOp" and "global_step" in str(op)}
        assert len(step_reads) == 1


def test_decoupled_l2_only_in_steps_of_the_optimizer():
    with setup(
        {"accum_grad_multiple_step": 2, "decouple_constraints": True, "decouple_constraints_factor": 1.0}, l2=0.1
    ) as s:
        check_steps(s, [(0, 0)] * 3, [(1, 2), (0.8, 1.6), (0.8, 1.6)])


def test_dynamic_learning_rate_as_dict():
    """Rates 0.1, 0.05, 0.1, 0.05."""
    with setup({"dynamic_learning_rate": {"interval": 2, "decay": 0.5}}) as s:
        assert_allclose([x[0] for x in s.steps([(1, 1)] * 4)], [0.9, 0.85, 0.75, 0.7], atol=1e-6)


def test_dynamic_learning_rate_as_function():
    """Rate 0.1 / (step + 1): 0.1, 0.05."""

    def dynamic(*, network, global_train_step, learning_rate, **kwargs):
        assert isinstance(network, FakeNetwork) and not kwargs
        return learning_rate / tf.cast(global_train_step + 1, "float32")

    with setup({"dynamic_learning_rate": dynamic}) as s:
        assert s.session.run(s.updater.effective_learning_rate) == pytest.approx(0.1)
        assert_allclose([x[0] for x in s.steps([(1, 1)] * 2)], [0.9, 0.85], atol=1e-6)
        assert s.session.run(s.updater.effective_learning_rate) == pytest.approx(0.1 / 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda learning_rate: learning_rate, "please specify \\*\\*kwargs in dynamic_learning_rate for future comp"),
        ({"interval": 2, "deccay": 0.5}, "key 'deccay' is unknown. Did you mean \"decay\"?"),
        ({"interval": 2}, "needs the key 'decay'"),
        (3, "dynamic_learning_rate = 3 must be a dict or a function"),
    ],
)
def test_dynamic_learning_rate_errors(value: Any, message: str):
    with pytest.raises(UserError, match=message):
        with setup({"dynamic_learning_rate": value}):
            pass


def test_set_learning_rate_stays_over_init_of_optimizer():
    """0.1, then 0.05; resetting the optimizer keeps the rate."""
    with setup() as s:
        check_steps(s, [(1, 1)], [(0.9, 1.9)])
        s.updater.set_learning_rate(0.05, s.session)
        s.updater.init_optimizer_vars(s.session)
        check_steps(s, [(1, 1)], [(0.85, 1.85)])


def test_unknown_updater_opts_are_named():
    message = "layer 'layer', updater_opts: The keys {'foo'} were not read in the collection {'foo': 1}."
    with pytest.raises(UserError) as exc_info:
        with setup(updater_opts={"foo": 1}):
            pass
    assert message in str(exc_info.value)
    with pytest.raises(UserError, match='Did you mean "gradient_clip"'):
        with setup(updater_opts={"gradient_clp": 1}):
            pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gradient_clip": -1}, "gradient_clip = -1 is not possible. It must be a number >= 0"),
        ({"accum_grad_multiple_step": -2}, "accum_grad_multiple_step = -2 is not possible. It must be an int >= 0"),
        ({"global_norm_tag": 3}, "global_norm_tag = 3 is not possible. It must be a tag"),
        ({"gradient_noise": "x"}, "gradient_noise"),
    ],
)
@pytest.mark.parametrize("place", ["config", "updater_opts"])
def test_impossible_gradient_options(options: dict[str, Any], message: str, place: str):
    with pytest.raises(UserError, match=message):
        with setup(**({"config": options} if place == "config" else {"updater_opts": options})):
            pass


def test_none_in_config_is_off():
    with setup({"gradient_clip": None, "accum_grad_multiple_step": None, "gradient_nan_inf_filter": None}) as s:
        check_steps(s, [(3, 4)], [(0.7, 1.6)])


def test_optimizer_of_a_layer():
    """Layer a by the default gradient descent; b by momentum, second step 0.1 * (0.9 + 1)."""
    opts = {"a": None, "b": {"optimizer": {"class": "momentum", "momentum": 0.9}}}
    with setup({}, {"a": (1.0,), "b": (1.0,)}, updater_opts=opts) as s:
        for _ in range(2):
            s.step({"a": (1,), "b": (1,)}, "a")
        assert_allclose([s.value("a"), s.value("b")], [[0.8], [0.71]], atol=1e-6)


def test_optimizer_of_a_layer_takes_class_of_default():
    """Momentum with 0.5 instead of 0.9: 1 - 0.1 - 0.1 (0.5 + 1). All layers have options, so no default optimizer."""
    opts = {"optimizer": {"momentum": 0.5}}
    with setup({"optimizer": {"class": "momentum", "momentum": 0.9}}, updater_opts=opts) as s:
        check_steps(s, [(1, 1)] * 2, [(0.9, 1.9), (0.75, 1.75)])


def test_learning_rate_multiplier():
    with setup({"optimizer": {"class": "sgd", "learning_rate_multiplier": 0.5}}) as s:
        check_steps(s, [(1, 1)], [(0.95, 1.95)])


def test_no_trainable_parameter_with_gradient():
    with tf.Graph().as_default():
        step = v1.get_variable("global_step", (), tf.int64, v1.zeros_initializer(), trainable=False)
        x = v1.get_variable("layer/x", initializer=numpy.ones([2], "float32"))
        network = FakeNetwork([FakeLayer("layer", {"x": x})], tf.constant(1.0), step)
        updater = Updater(Config(), network)
        for trainable in ([], [x]):
            updater.set_trainable_vars(trainable)
            with pytest.raises(UserError, match="no single variable to train"):
                updater.get_optim_op()
        network.objective = None
        with pytest.raises(UserError, match="no loss defined?"):
            updater.get_optim_op()


def test_change_of_trainable_parameters_keeps_state():
    """Momentum of a goes on after b stopped: v = 1, 1.9, 2.71; 1 - 0.1 * 5.61."""
    momentum = {"optimizer": {"class": "momentum", "momentum": 0.9}}
    with setup(momentum, {"a": (1.0,), "b": (1.0,)}) as s:
        g = {"a": (1,), "b": (1,)}
        for _ in range(2):
            s.step(g, "a")
        with s.graph.as_default():
            s.updater.set_trainable_vars([s.vars["a"]])
            s.optim_op = s.updater.get_optim_op()
            assert s.updater.get_optim_op() is s.optim_op
        assert_allclose(s.step(g, "a"), [0.439], atol=1e-6)
        assert_allclose(s.value("b"), [0.71], atol=1e-6)
        assert s.global_step() == 3


def test_custom_update_replaces_the_gradient():
    """b is doubled in each step, whatever its gradient; a gets gradient descent."""

    class Double(CustomUpdate):
        def update_var(self, var):
            return var.assign_add(var.read_value(), read_value=False)

    with setup({}, {"a": (1.0,), "b": (1.0,)}) as s:
        with s.graph.as_default():
            Double().set_on_var(s.vars["b"])
            s.updater.set_trainable_vars([])  # forgets the op which was made without it
            s.updater.set_trainable_vars(s.network.get_trainable_params())
            s.optim_op = s.updater.get_optim_op()
        s.step({"a": (1,), "b": (1,)}, "a")
        assert_allclose([s.value("a"), s.value("b")], [[0.9], [2]], atol=1e-6)


def test_extra_updates_run_after_the_update():
    """Gradient step to (0.9, 1.9), then clipped to at most 1, and the gradient of this step is at hand."""
    seen = {}

    def clip(var, grad, network, update_ops):
        seen.update(grad=grad, network=network, num_ops=len(update_ops))
        return var.assign(tf.minimum(var.read_value(), 1.0 + 0.0 * grad), read_value=False)

    with setup({"extra_updates": {"layer/x": clip}}) as s:
        check_steps(s, [(1, 1)], [(0.9, 1.0)])
        assert seen["network"] is s.network and seen["num_ops"] == 1


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"layer/y": lambda var: None}, "no trainable parameter 'layer/y'. Did you mean \"layer/x\""),
        ({"layer/x": lambda foo: None}, "argument 'foo' is none of var, network, update_ops, grad"),
    ],
)
def test_extra_updates_errors(extra: dict[str, Any], message: str):
    with pytest.raises(UserError, match=message):
        with setup({"extra_updates": extra}):
            pass


def test_log_grad_norm():
    with setup({"log_grad_norm": True, "gradient_clip": 1}) as s:
        (norm,) = s.updater.get_extra_fetches().values()
        assert s.session.run(norm, {s.grads["layer"]: (3, 4)}) == pytest.approx(5)
    with setup() as s:
        assert s.updater.get_extra_fetches() == {}


def test_maximize_grad_norm_is_refused():
    with pytest.raises(UserError, match="maximize_grad_norm"):
        with setup({"maximize_grad_norm": 0.1}):
            pass


def test_double_precision_parameters():
    """With clipping, noise off, and Adam: as in single precision."""
    options = {"optimizer": {"class": "adam"}, "gradient_clip_global_norm": 100, "accum_grad_multiple_step": 1}
    for _ in range(5):  # no race between reading and updating the powers of beta
        with setup(options, dtype="float64") as s:
            x = s.step((1, -2))
            assert x.dtype == "float64"
            assert_allclose(x, (0.9, 2.1), atol=1e-6)


def test_log_lines(capsys):
    with setup({"optimizer": {"class": "Adam", "epsilon": 1e-8}, "log_verbosity": 3}):
        pass
    out = capsys.readouterr().out
    assert "Create optimizer <class 'returnn.tf.updater.optimizers.Adam'> with options {'epsilon': 1e-08, " in out
    assert "Initialize optimizer (default) with slots ['m', 'v'].\n" in out
    assert "These additional variable were created by the optimizer: [<tf.Variable 'optimize/beta1_power:0' " in out


def test_graph_stays_small():
    """Adam with noise and clipping: at most 20 ops a parameter, slots included, beside the gradients themselves."""

    def num_ops(num_params):
        options = {"optimizer": {"class": "adam"}, "gradient_noise": 0.1, "gradient_clip": 1}
        names = [f"layer{i}" for i in range(num_params)]
        with setup(options, {name: (1.0, 2.0) for name in names}) as s:
            own = [op for op in s.graph.get_operations() if op.name.startswith(("updater/", "optimize/"))]
            return len([op for op in own if "/gradients/" not in op.name])

    assert num_ops(11) - num_ops(1) <= 20 * 10


def test_state_is_complete_and_named_alike():
    """The same network, its layers built in another order: same names."""
    options = {"optimizer": {"class": "adam"}, "accum_grad_multiple_step": 2}
    opts = {"a": None, "b": {"optimizer": {"class": "momentum", "momentum": 0.9}}, "c": None}
    names = []
    for order in ("abc", "cba"):
        with setup(options, {n: (1.0, 2.0) for n in "abc"}, updater_opts=opts, order=order) as s:
            names.append([var.op.name for var in s.updater.get_optimizer_vars()])
    assert names[0] == names[1]
    assert names[0] == sorted(
        [
            *("optimize/a/x/Adam", "optimize/a/x/Adam_1", "optimize/c/x/Adam", "optimize/c/x/Adam_1"),
            *("optimize/b/x/Momentum", "optimize/beta1_power", "optimize/beta2_power"),
            *("optimize/a/x/accum_grad", "optimize/b/x/accum_grad", "optimize/c/x/accum_grad"),
        ]
    )


@pytest.mark.parametrize(
    "options",
    [
        {"optimizer": {"class": "adam"}, "gradient_noise": 0.3},
        {"optimizer": {"class": "nadamkeras"}, "accum_grad_multiple_step": 3},
        {"optimizer": {"class": "adafactor"}, "gradient_noise": 0.1, "accum_grad_multiple_step": 2},
        {"optimizer": {"class": "rmsprop", "momentum": 0.5, "centered": True}},
        {"optimizer": {"class": "adamw"}, "dynamic_learning_rate": {"interval": 3, "decay": 0.5}},
    ],
)
def test_restored_goes_on_bit_identically(options: dict[str, Any]):
    """Stop after step 4 (in the middle of windows of 3), go on in a new graph: the same bits as an unbroken run."""
    rng = numpy.random.RandomState(1)
    gs = [rng.normal(size=(3, 2)) for _ in range(9)]
    x = rng.normal(size=(3, 2))
    with setup(options, x) as s:
        expected = s.steps(gs)
        expected_state = s.state()
    with setup(options, x) as s:
        s.steps(gs[:4])
        state = s.state()
    with setup(options, x) as s:
        s.restore(state)
        for g, x_ in zip(gs[4:], expected[4:], strict=True):
            assert_array_equal(s.step(g), x_)
        for name, value in s.state().items():
            assert_array_equal(value, expected_state[name], err_msg=name)


def test_update_waits_for_all_readers_of_the_step():
    """
    Loss x + stop_gradient(x) y: the gradient of x is there at once, that of y reads x, late.
    It is the old x = 1 in each run, although x becomes 0.9 in the same step.
    """
    with tf.Graph().as_default(), v1.Session() as session:
        step = v1.get_variable("global_step", (), tf.int64, v1.zeros_initializer(), trainable=False)
        x = v1.get_variable("layer/x", initializer=numpy.ones([1000], "float32"))
        y = v1.get_variable("layer/y", initializer=numpy.ones([1000], "float32"))
        late = tf.stop_gradient(tf.reshape(tf.matmul(tf.eye(1000), x.read_value()[:, None]), [-1]))
        network = FakeNetwork([FakeLayer("layer", {"x": x, "y": y})], tf.reduce_sum(x + late * y), step)
        updater = Updater(Config(), network, initial_learning_rate=0.1)
        updater.set_trainable_vars([x, y])
        optim_op = updater.get_optim_op()
        for _ in range(10):
            session.run([x.initializer, y.initializer, step.initializer, updater.learning_rate_var.initializer])
            session.run(optim_op)
            assert_allclose(session.run(y), [0.9] * 1000, atol=1e-6)
