"""The formulas, their options, and what a config may say."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.updater import BaseCustomOptimizer, get_optimizer_class, optimizers, register_optimizer_class
from returnn.tf.updater.registry import default_optimizer_options
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import UserError
from tests.tf.updater.common import setup

_gs = [(1, -2), (0.5, 0), (0, 1)]

_all_names = [
    *("sgd", "gradientdescent", "momentum", "adam", "customadam", "adamw", "nadam", "nadamkeras", "adamax", "amsgrad"),
    *("adagrad", "adadelta", "rmsprop", "lion", "lamb", "adafactor", "ftrl", "proximaladagrad"),
    *("proximalgradientdescent", "normalizedsgd", "neuraloptimizer1", "gradvariancescaled"),
]


def run(optimizer: Any, gs: Any, x: Any = (1, 2), **config: Any) -> list[numpy.ndarray]:
    """Parameter after each step, with lr 0.1."""
    with setup({"optimizer": optimizer, **config}, x) as s:
        return s.steps(gs)


@pytest.mark.parametrize(
    ("optimizer", "gs", "expected"),
    [
        ({"class": "sgd"}, [(1, 1)] * 3, [(0.9, 1.9), (0.8, 1.8), (0.7, 1.7)]),
        ({"class": "momentum", "momentum": 0.9}, [(1, 1)] * 3, [(0.9, 1.9), (0.71, 1.71), (0.439, 1.439)]),
        ({"class": "adam"}, _gs, [(0.9, 2.1), (0.8067823, 2.1670056), (0.7347251, 2.1847322)]),
        ({"class": "customadam"}, _gs, [(0.9, 2.1), (0.8067823, 2.1670056), (0.7347251, 2.1847322)]),
        ({"class": "nadam"}, _gs, [(0.81, 2.19), (0.6928117, 2.2503052), (0.6279597, 2.2376678)]),
        ({"class": "rmsprop"}, [(1, 1)] * 3, [(0.9, 1.9), (0.8, 1.8), (0.7, 1.7)]),
        ({"class": "adagrad"}, [(1, 1)] * 3, [(x, x + 1) for x in (0.9046537, 0.8356472, 0.7788510)]),
        ({"class": "normalizedsgd"}, [(3, 4)], [(0.94, 1.92)]),
        ({"class": "neuraloptimizer1"}, [(1, 1), (-0.1, -0.1), (-3, -3)], [(0.9, 1.9), (0.901, 1.901), (1.201, 2.201)]),
    ],
)
def test_published_steps(optimizer: dict[str, Any], gs: Any, expected: Any):
    assert_allclose(run(optimizer, gs), expected, rtol=0, atol=2e-6)


def test_momentum_nesterov():
    """v = 1: x = 1 - 0.1 (1 + 0.9 * 1) = 0.81; v = 1.9: 0.81 - 0.1 (1 + 0.9 * 1.9) = 0.539"""
    xs = run({"class": "momentum", "momentum": 0.9, "use_nesterov": True}, [(1, 1)] * 2)
    assert_allclose([x[0] for x in xs], [0.81, 0.539], atol=1e-6)


def test_sgd_keeps_the_rate_inside_its_momentum():
    """v = -0.1, then with rate 0: v = -0.05, x = 0.9 - 0.05 (class momentum would stand still). Nesterov: twice v."""
    for nesterov, expected in ((False, [0.9, 0.85]), (True, [0.85, 0.825])):
        with setup({"optimizer": {"class": "sgd", "momentum": 0.5, "nesterov": nesterov}}) as s:
            first = s.step((1, 1))[0]
            s.updater.set_learning_rate(0.0, s.session)
            assert_allclose([first, s.step((1, 1))[0]], expected, atol=1e-6)


def test_adamw():
    """x (1 - 0.1 * 0.5), then a first Adam step of 0.1."""
    assert_allclose(run({"class": "adamw", "weight_decay": 0.5}, [(1, -2)]), [(0.85, 2.0)], atol=1e-6)
    assert_allclose(run({"class": "adamw"}, [(1, -2)]), [(0.9 - 0.0004, 2.1 - 0.0008)], atol=1e-6)


def test_nadamkeras():
    """
    u1 = 0.9 (1 - 0.48) = 0.468, u2 = 0.9 (1 - 0.5 * 0.9216) = 0.48528; m = 0.1, v / (1 - beta2) = 1;
    step 0.1 (u2 m / (1 - u1 u2) + (1 - u1) / (1 - u1)).
    """
    step = 0.1 * (0.48528 * 0.1 / (1 - 0.468 * 0.48528) + 1)
    assert_allclose(run({"class": "nadamkeras"}, [(1, -2)]), [(1 - step, 2 + step)], atol=1e-6)


def test_nadamkeras_second_step():
    """The same formula in double precision, for two steps."""
    m = v = 0.0
    x, product = 1.0, 1.0
    u = [0.9 * (1 - 0.5 * 0.96**t) for t in range(4)]
    for t, g in enumerate([1.0, 0.5], start=1):
        m, v, product = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g, product * u[t]
        mean = u[t + 1] * m / (1 - product * u[t + 1]) + (1 - u[t]) * g / (1 - product)
        x -= 0.1 * mean / math.sqrt(v / (1 - 0.999**t))
    assert_allclose(run({"class": "nadamkeras"}, [(1, 1), (0.5, 0.5)])[-1][0], x, atol=1e-5)


def test_adamax():
    """m = 0.1, v = 1: step 0.1 / 0.1 * 0.1 = 0.1; then g = 0.5: m = 0.14, v = 0.999: 0.1 / 0.19 * 0.14 / 0.999."""
    xs = run({"class": "adamax"}, [(1, 1), (0.5, 0.5)])
    assert_allclose([x[0] for x in xs], [0.9, 0.9 - 0.1 / 0.19 * 0.14 / 0.999], atol=1e-6)


def test_amsgrad():
    """g = 1: m = 0.1, v = 0.01: 0.1 * 0.1 / 0.1. g = 0: m = 0.09, v = 0.0099, but the maximum stays 0.01."""
    xs = run({"class": "amsgrad"}, [(1, 0), (0, 0)])
    assert_allclose(xs, [(0.9, 2), (0.81, 2)], atol=1e-6)


def test_adadelta():
    """a = 0.05, d = sqrt(1e-2) / sqrt(0.05 + 1e-2); lr 0.1. With the default epsilon 1e-16 it does not move."""
    xs = run({"class": "adadelta", "epsilon": 1e-2}, [(1, 1)])
    assert_allclose([x[0] for x in xs], [1 - 0.1 * math.sqrt(1e-2 / 0.06)], atol=1e-6)
    assert_allclose(run({"class": "adadelta"}, [(1, 1)]), [(1, 2)], atol=1e-6)


def test_rmsprop_with_momentum_and_centered():
    """
    s = 0.9 + 0.1 * 4 = 1.3; step 0.2 / sqrt(1.3); again s = 1.57: mom = 0.5 mom + 0.2 / sqrt(1.57).
    Centered: s - (0.1 * 2)^2 = 1.26.
    """
    first = 0.2 / math.sqrt(1.3)
    xs = run({"class": "rmsprop", "momentum": 0.5}, [(2, 2)] * 2)
    second = 0.5 * first + 0.2 / math.sqrt(1.57)
    assert_allclose([x[0] for x in xs], [1 - first, 1 - first - second], atol=1e-6)
    xs = run({"class": "rmsprop", "centered": True}, [(2, 2)])
    assert_allclose([x[0] for x in xs], [1 - 0.2 / math.sqrt(1.26)], atol=1e-6)


def test_lion():
    """m = 0, g = (1, -2): signs; m = (0.01, -0.02). Then g = (-0.05, 0): 0.009 - 0.005 > 0, -0.018 < 0."""
    assert_allclose(run({"class": "lion"}, [(1, -2), (-0.05, 0)]), [(0.9, 2.1), (0.8, 2.2)], atol=1e-6)


def test_lamb():
    """r = (1, -1), |r| = sqrt 2, |x| = 5: x - 0.1 * 5 / sqrt 2 r. A parameter of zeros: x - 0.1 r."""
    step = 0.5 / math.sqrt(2)
    assert_allclose(run({"class": "lamb"}, [(1, -2)], (3, 4)), [(3 - step, 4 + step)], atol=1e-5)
    assert_allclose(run({"class": "lamb"}, [(1, -2)], (0, 0)), [(-0.1, 0.1)], atol=1e-6)


def test_adafactor_vector():
    """t = 1: b = 0, v = g^2, u = sign(g), rms 1; scale rms(x) min(lr, 1) = sqrt(2.5) * 0.1."""
    step = 0.1 * math.sqrt(2.5)
    assert_allclose(run({"class": "adafactor"}, [(1, -2)]), [(1 - step, 2 + step)], atol=1e-6)


def test_adafactor_matrix():
    """Means of g^2: rows 2.5, 12.5, columns 5, 10, all 7.5; v = rows columns / 7.5; u clipped to rms 1."""
    g = numpy.array([[1.0, 2.0], [-3.0, 4.0]])
    v = numpy.outer([2.5, 12.5], [5, 10]) / 7.5
    u = g / numpy.sqrt(v)
    u /= max(1.0, math.sqrt(numpy.mean(u**2)))
    x = numpy.array([[1.0, 2.0], [3.0, 4.0]])
    expected = x - 0.1 * math.sqrt(numpy.mean(x**2)) * u
    assert_allclose(run({"class": "adafactor"}, [g], x), [expected], atol=1e-5)


def test_adafactor_relative_step():
    """lr 0.1 is below 1 / sqrt(t) for t < 100, so at lr 2 it matters: min(2, 1) against 2."""
    for relative, rate in ((True, 1.0), (False, 2.0)):
        optimizer = {"class": "adafactor", "relative_step": relative}
        with setup({"optimizer": optimizer}, learning_rate=2.0) as s:
            assert_allclose(s.step((1, 1)), numpy.array([1, 2]) - rate * math.sqrt(2.5), atol=1e-5)


def test_gradvariancescaled():
    """m = 0.1, (g - m)^2 = 0.81, v = 0.001 * 0.81: step 0.1 * 0.001; constant g after long: factor 1."""
    assert_allclose(run({"class": "gradvariancescaled"}, [(1, 1)])[0][0], 1 - 1e-4, atol=1e-7)


def test_ftrl():
    """w = 0.1 + 1, z = 1 - (sqrt w - sqrt 0.1) / 0.1 * x; x = -z / (sqrt w / 0.1)"""
    z = 1 - (math.sqrt(1.1) - math.sqrt(0.1)) / 0.1 * 1
    assert_allclose(run({"class": "ftrl"}, [(1, 1)])[0][0], -z / (math.sqrt(1.1) / 0.1), atol=1e-5)


def test_proximal():
    """x - 0.1 = 0.9, shrunk by 0.1 * 0.5, divided by 1 + 0.1 * 2; Adagrad: rate 0.1 / sqrt(1.1)."""
    opts = {"l1_regularization_strength": 0.5, "l2_regularization_strength": 2.0}
    x = run({"class": "proximalgradientdescent", **opts}, [(1, 1)])[0][0]
    assert x == pytest.approx(0.85 / 1.2)
    rate = 0.1 / math.sqrt(1.1)
    x = run({"class": "proximaladagrad", **opts}, [(1, 1)])[0][0]
    assert x == pytest.approx((1 - rate - rate * 0.5) / (1 + rate * 2))


def test_each_name_is_covered():
    assert {get_optimizer_class(name) for name in _all_names} == {
        cls
        for cls in vars(optimizers).values()
        if isinstance(cls, type) and issubclass(cls, BaseCustomOptimizer) and cls is not BaseCustomOptimizer
    }


@pytest.mark.parametrize("name", _all_names)
def test_goes_downhill(name: str):
    """Gradient x of x^2 / 2: |x| gets smaller, and stays finite; zero gradients, too."""
    optimizer = {"class": name, **({"momentum": 0.5} if name == "momentum" else {})}
    x = numpy.array([[1.0, -2.0], [0.5, 3.0]])
    with setup({"optimizer": optimizer, "optimizer_epsilon": 1e-3}, x, learning_rate=0.01) as s:
        norms = [numpy.linalg.norm(x)]
        for _ in range(5):
            norms.append(numpy.linalg.norm(s.step(s.value())))
        assert norms == sorted(norms, reverse=True) and norms[0] > norms[-1]
        for _ in range(3):
            assert numpy.all(numpy.isfinite(s.step(numpy.zeros_like(x))))


@pytest.mark.parametrize("name", _all_names)
def test_zero_gradient_from_the_start_is_finite(name: str):
    """Also with the default epsilon, 1e-16."""
    optimizer = {"class": name, **({"momentum": 0.5} if name == "momentum" else {})}
    xs = run(optimizer, [numpy.zeros((2, 2))] * 2, numpy.ones((2, 2)))
    assert numpy.all(numpy.isfinite(xs))


_only_touched_rows = [
    *("momentum", "adagrad", "adadelta", "rmsprop", "ftrl", "proximaladagrad", "proximalgradientdescent"),
    *("neuraloptimizer1", "gradvariancescaled", "gradientdescent"),
]


_one_op = ["momentum", "adam", "nadam", "adagrad", "rmsprop", "ftrl", "adadelta", "proximaladagrad"]


@pytest.mark.parametrize(
    ("name", "use_resource"),
    [
        *((name, True) for name in _all_names if name != "normalizedsgd"),
        *((name, False) for name in _one_op),  # reference variables
    ],
)
def test_sparse_gradient(name: str, use_resource: bool):
    """
    Rows 2, 0, 2 (a duplicate) as the dense gradient that holds their sum. Where only touched rows move, rows 1 and 3
    stay; elsewhere they are as with zeros in a dense gradient, also in the next step.
    """
    optimizer = {"class": name, **({"momentum": 0.5} if name in ("momentum", "rmsprop") else {})}
    rng = numpy.random.RandomState(1)
    x, values, other = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.normal(size=(1, 3))
    rows, dense, dense_other = [2, 0, 2], numpy.zeros((4, 3)), numpy.zeros((4, 3))
    numpy.add.at(dense, rows, values)
    dense_other[3] = other
    options = {"optimizer": optimizer, "optimizer_epsilon": 1e-3}
    with setup(options, x, use_resource=use_resource) as s:
        expected = s.steps([dense, dense_other])
    with setup(options, x, sparse=True, use_resource=use_resource) as s:
        actual = s.steps([(rows, values), ([3], other)])
    if name in _only_touched_rows:
        assert_allclose(actual[0][[0, 2]], expected[0][[0, 2]], atol=1e-6)
        assert_allclose(actual[0][[1, 3]], x[[1, 3]], atol=1e-6)
        assert_allclose(actual[1][:3], actual[0][:3], atol=1e-6)
    else:
        assert_allclose(actual, expected, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"gradient_clip": 0.5},
        {"gradient_clip_norm": 0.5},
        {"gradient_clip_avg_norm": 0.05},
        {"gradient_noise": 0.5},
        {"accum_grad_multiple_step": 2},
        {"accum_grad_multiple_step": 2, "optimizer": "adam", "gradient_clip": 0.5},
    ],
)
def test_sparse_gradient_is_treated_as_the_dense_one(options: dict[str, Any]):
    """Duplicates are summed before clipping: rows 2, 0, 2."""
    rng = numpy.random.RandomState(1)
    x, values, dense = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), numpy.zeros((4, 3))
    numpy.add.at(dense, [2, 0, 2], values)
    with setup(options, x) as s:
        expected = s.steps([dense] * 3)
    with setup(options, x, sparse=True) as s:
        assert_allclose(s.steps([([2, 0, 2], values)] * 3), expected, atol=1e-6)


def test_sparse_gradient_enters_the_global_norm_by_its_stored_rows():
    """Rows (3), (4) of one row: norm 5, not 7: x - 0.1 * 7 / 5."""
    with setup({"gradient_clip_global_norm": 1}, [[1.0]], sparse=True) as s:
        assert_allclose(s.step(([0, 0], [[3.0], [4.0]])), [[1 - 0.14]], atol=1e-6)


# What a config may say


@pytest.mark.parametrize(
    "optimizer",
    [
        *("adam", "Adam", {"class": "ADAM"}, {"class": "AdamOptimizer"}, {"class": lambda: "adam"}),
        *({"class": optimizers.Adam}, {"class": lambda: optimizers.Adam}, optimizers.Adam),
        *({"class": "adam", "beta_1": 0.9, "beta_2": 0.999}, {"class": v1.train.AdamOptimizer}),
    ],
)
def test_ways_to_say_adam(optimizer: Any):
    expected = [(0.9, 2.1), (0.8067823, 2.1670056), (0.7347251, 2.1847322)]
    with setup({"optimizer": optimizer}) as s:
        assert_allclose(s.steps(_gs), expected, rtol=0, atol=2e-6)
        names = ["optimize/beta1_power", "optimize/beta2_power", "optimize/layer/x/Adam", "optimize/layer/x/Adam_1"]
        assert [var.op.name for var in s.updater.get_optimizer_vars()] == names


def test_name_from_the_command_line():
    """Untyped, as text."""
    config = Config()
    config.add_line("optimizer", "momentum")
    config.add_line("momentum", "0.9")
    assert default_optimizer_options(config) == ({"class": "momentum"}, None)


def test_v1_optimizer_under_accumulation():
    """x - 0.1 (1 + 2), then v = 0.9 * 3 + 3: 0.7 - 0.57"""
    optimizer = {"class": v1.train.MomentumOptimizer, "momentum": 0.9}
    xs = run(optimizer, [(1, 0), (2, 0), (2, 0), (1, 0)], accum_grad_multiple_step=2)
    assert_allclose([x[0] for x in xs], [1, 0.7, 0.7, 0.13], atol=1e-6)


@pytest.mark.parametrize(
    ("config", "first_steps", "log_line"),
    [
        ({"adam": True}, [0.9, 0.8], "Create Adam optimizer.\n"),
        ({"nadam": True}, [0.81], "Create NAdam optimizer.\n"),
        ({"adagrad": True}, [0.9046537], "Create Adagrad optimizer.\n"),
        ({"adadelta": True, "optimizer_epsilon": 1e-2}, [1 - 0.1 * math.sqrt(1e-2 / 0.06)], "Create Adadelta optim"),
        ({"rmsprop": True}, [0.9, 0.8], "Create RMSProp optimizer.\n"),
        ({"rmsprop": 0.5, "momentum": 0.5}, [0.9, 0.75], "Create RMSProp optimizer. With Decay 0.500000\n"),
        ({"momentum": 0.9}, [0.9, 0.71], "Create Momentum optimizer.\n"),
        ({"momentum": 0.0, "adam": False}, [0.9, 0.8], "Create SGD optimizer.\n"),
        ({"adam": True, "rmsprop": True}, [0.9], "Create Adam optimizer.\n"),
    ],
)
def test_old_style(config: dict[str, Any], first_steps: list[float], log_line: str, capsys):
    """g = 1 in each step."""
    xs = run(None, [(1, 1)] * len(first_steps), **config)
    assert_allclose([x[0] for x in xs], first_steps, atol=2e-6)
    assert log_line in capsys.readouterr().out


def test_old_style_is_forbidden_from_behavior_version_2():
    BehaviorVersion._reset(2)
    try:
        with pytest.raises(UserError, match='use optimizer = {"class": "adam"'):
            run(None, [], adam=True)
        run(None, [])
    finally:
        BehaviorVersion._reset()


def test_old_style_adam_with_momentum():
    with pytest.raises(AssertionError, match="does not go with momentum = 0.9"):
        run(None, [], adam=True, momentum=0.9)


def test_momentum_key_reaches_an_optimizer_that_has_it():
    xs = run("momentum", [(1, 1)] * 2, momentum=0.9)
    assert_allclose([x[0] for x in xs], [0.9, 0.71], atol=1e-6)
    assert_allclose(run("adam", [(1, 1)], momentum=0.9)[0], (0.9, 1.9), atol=1e-6)


def test_epsilon_key_reaches_an_optimizer_that_has_it():
    """0.1 * m / (sqrt v + 1) * sqrt(0.001) / 0.1, m = 0.1, v = 0.001; options in the dict win."""
    step = 0.1 * math.sqrt(0.001) / (math.sqrt(0.001) + 1)
    assert run("adam", [(1, 1)], optimizer_epsilon=1.0)[0][0] == pytest.approx(1 - step)
    assert run({"class": "adam", "epsilon": 1e-9}, [(1, 1)], optimizer_epsilon=1.0)[0][0] == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        ({"class": "adamm"}, "There is no optimizer 'adamm'. Did you mean \"adam\""),
        ("adamm", "Optimizers: adadelta, adafactor, "),
        ({"class": "adam", "epsiloon": 1}, "option 'epsiloon' is unknown to Adam. Did you mean \"epsilon\""),
        ({"class": "adam", "learning_rate": 0.1}, "learning_rate will be set implicitly"),
        ({"class": "momentum"}, "Momentum needs the option 'momentum'"),
        ({"class": "adam", "beta1": "x"}, "beta1 = 'x' is not possible"),
        ({"beta1": 0.9}, 'lacks the key "class"'),
        ({"class": 3}, "class 3 is neither a name"),
        ({"class": dict}, "is no optimizer class"),
        ({"class": v1.train.AdamOptimizer, "foo": 1}, "option 'foo' is unknown to AdamOptimizer"),
    ],
)
def test_errors(optimizer: Any, message: str):
    with pytest.raises(UserError, match=message):
        run(optimizer, [])


def test_keras_optimizer_is_refused_with_the_name_to_use():
    keras = pytest.importorskip("keras")
    with pytest.raises(UserError, match='Keras.*optimizer = {"class": "adam"}'):
        run({"class": keras.optimizers.Adam}, [])


def test_own_optimizer():
    """Written as users do: x -= lr sign(m), m the sum of gradients; sparse rows by indices."""

    @dataclasses.dataclass(eq=False, kw_only=True)
    class SumSign(BaseCustomOptimizer):
        scale: float = 1.0

        def _create_slots(self, var_list):
            for var in var_list:
                self._make_slot(var, "m")

        def _apply(self, grad, var, indices=None):
            m = self._gather(self.get_slot(var, "m"), indices) + grad
            step = self._option("learning_rate", var) * self._option("scale", var) * tf.sign(m)
            return tf.group(self._assign(self.get_slot(var, "m"), m, indices), self._assign_sub(var, step, indices))

    with setup({"optimizer": {"class": SumSign, "scale": 2.0}}) as s:
        assert_allclose(s.steps([(3, -1), (-1, 2)]), [(0.8, 2.2), (0.6, 2.0)], atol=1e-6)
        assert [var.op.name for var in s.updater.get_optimizer_vars()] == ["optimize/layer/x/SumSign"]
    with setup({"optimizer": {"class": SumSign}}, [[1.0], [2.0]], sparse=True) as s:
        assert_allclose(s.step(([1, 1], [[1.0], [1.0]])), [[1.0], [1.9]], atol=1e-6)
    register_optimizer_class(SumSign)
    assert get_optimizer_class("sumsign") is SumSign
    with pytest.raises(UserError, match="There is an optimizer 'adam' already"):
        register_optimizer_class(SumSign, "Adam")


def test_own_optimizer_with_own_init():
    class Fixed(BaseCustomOptimizer):
        def __init__(self, step, **kwargs):
            super().__init__(**kwargs)
            self.step = step

        def _apply(self, grad, var, indices=None):
            return self._assign_add(var, tf.zeros_like(grad) + self.step, indices)

    assert_allclose(run({"class": Fixed, "step": 3.0}, [(1, 1)]), [(4, 5)], atol=1e-6)
