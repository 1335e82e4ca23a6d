"""The optimizers that come with us, by their formulas.

Letters: x parameter, g gradient, lr learning rate, t number of the update from 1, EMA(a, b) = a := b a + (1 - b) new.
Options: fields of each class, and of the base class. Where TensorFlow has a formula as one op, that op does it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from returnn.tf.compat import tf
from returnn.tf.updater.base import BaseCustomOptimizer

_options = dataclasses.dataclass(eq=False, kw_only=True)


@_options
class GradientDescent(BaseCustomOptimizer):
    """x -= lr g"""

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        lr = self._option("learning_rate", var)
        if indices is not None:
            return self._assign_sub(var, lr * grad, indices)
        return self._fused("GradientDescent", var, {}, alpha=lr, delta=grad)


@_options
class Momentum(BaseCustomOptimizer):
    """v = momentum v + g; x -= lr v, or with Nesterov x -= lr (g + momentum v). Sparse: only touched rows move."""

    momentum: float
    use_nesterov: bool = False

    def slot_values(self) -> dict[str, float]:
        return {"momentum": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("Momentum", var, {"accum": "momentum"}),
            indices=indices,
            lr=self._option("learning_rate", var),
            grad=grad,
            momentum=self._option("momentum", var),
            use_nesterov=self.use_nesterov,
        )


@_options
class SGD(BaseCustomOptimizer):
    """
    v = momentum v - lr g; x += v, or with Nesterov x += momentum v - lr g.

    As Keras does it: unlike in :class:`Momentum`, a later change of lr does not act on what v holds already.
    """

    momentum: float = 0.0
    use_nesterov: bool = False
    weight_decay: float = 0.0
    sparse_as_dense = True

    def slot_values(self) -> dict[str, float]:
        return {"momentum": 0.0} if self.momentum else {}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        lr = self._option("learning_rate", var)
        if not self.momentum:
            return self._fused("GradientDescent", var, {}, alpha=lr, delta=grad)
        v = self._option("momentum", var) * self.get_slot(var, "momentum") - lr * grad
        step = self._option("momentum", var) * v - lr * grad if self.use_nesterov else v
        return tf.group(self._update_slot(var, "momentum", v), self._assign_add(var, step))


@_options
class Adagrad(BaseCustomOptimizer):
    """a += g^2; x -= lr g / sqrt(a)"""

    initial_accumulator_value: float = 0.1

    def slot_values(self) -> dict[str, float]:
        return {"accumulator": self.initial_accumulator_value}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        lr = self._option("learning_rate", var)
        return self._fused("Adagrad", var, {"accum": "accumulator"}, indices=indices, lr=lr, grad=grad)


@_options
class Adadelta(BaseCustomOptimizer):
    """
    EMA(a, rho) of g^2; d = g sqrt(u + epsilon) / sqrt(a + epsilon); EMA(u, rho) of d^2; x -= lr d.

    u starts at zero: with an epsilon as small as 1e-16 it does not move. Sparse: only touched rows.
    """

    rho: float = 0.95
    epsilon: float = 1e-8

    def slot_values(self) -> dict[str, float]:
        return {"accum": 0.0, "accum_update": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("Adadelta", var, {"accum": "accum", "accum_update": "accum_update"}),
            indices=indices,
            lr=self._option("learning_rate", var),
            rho=self._option("rho", var),
            epsilon=self._option("epsilon", var),
            grad=grad,
        )


@_options
class RMSProp(BaseCustomOptimizer):
    """
    EMA(s, decay) of g^2, which starts at 1; mom = momentum mom + lr g / sqrt(s + epsilon); x -= mom.

    Centered: EMA(a, decay) of g, and s - a^2 in place of s. Sparse: only touched rows move.
    """

    decay: float = 0.9
    momentum: float = 0.0
    epsilon: float = 1e-10
    centered: bool = False

    def slot_values(self) -> dict[str, float]:
        return {"rms": 1.0, **({"mg": 0.0} if self.centered else {}), "momentum": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            "CenteredRMSProp" if self.centered else "RMSProp",
            var,
            {"ms": "rms", "mom": "momentum", **({"mg": "mg"} if self.centered else {})},
            indices=indices,
            lr=self._option("learning_rate", var),
            rho=self._option("decay", var),
            momentum=self._option("momentum", var),
            epsilon=self._option("epsilon", var),
            grad=grad,
        )


@_options
class Adam(BaseCustomOptimizer):
    """
    EMA(m, beta1) of g; EMA(v, beta2) of g^2; x -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + epsilon).

    Sparse: m and v decay in all rows, and all rows move.
    """

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    sparse_as_dense = True
    _use_nesterov = False

    def slot_values(self) -> dict[str, float]:
        return {"m": 0.0, "v": 0.0}

    def scalar_values(self) -> dict[str, float]:
        return {"beta1_power": self.beta1, "beta2_power": self.beta2}  # beta^t of the next update

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("Adam", var, {"m": "m", "v": "v"}),
            beta1_power=self._option("beta1_power", var),
            beta2_power=self._option("beta2_power", var),
            lr=self._option("learning_rate", var),
            beta1=self._option("beta1", var),
            beta2=self._option("beta2", var),
            epsilon=self._option("epsilon", var),
            grad=grad,
            use_nesterov=self._use_nesterov,
        )

    def _finish(self) -> list[tf.Operation]:
        powers = {name: var for name, var in self._scalars.items() if name.endswith("_power")}
        return [
            self._assign(var, self._option(name, var) * self._option(name.removesuffix("_power"), var))
            for name, var in powers.items()
        ]

    def _moments(self, grad: tf.Tensor, var: tf.Variable) -> tuple[tf.Tensor, tf.Tensor, list[tf.Operation]]:
        """
        :return: new m, new v, and the ops which store them
        """
        beta1, beta2 = self._option("beta1", var), self._option("beta2", var)
        m = beta1 * self.get_slot(var, "m") + (1.0 - beta1) * grad
        v = beta2 * self.get_slot(var, "v") + (1.0 - beta2) * tf.square(grad)
        return m, v, [self._update_slot(var, "m", m), self._update_slot(var, "v", v)]


@_options
class AdamW(Adam):
    """x -= lr weight_decay x, then Adam."""

    weight_decay: float = 0.004


@_options
class Nadam(Adam):
    """Adam with (1 - beta1) g + beta1 m in place of m."""

    _use_nesterov = True


@_options
class NadamKeras(Adam):
    """
    Nadam with the schedule of Keras: u(t) = beta1 (1 - 0.96^t / 2), U(t) = u(1) ... u(t);
    x -= lr (u(t+1) m / (1 - U(t+1)) + (1 - u(t)) g / (1 - U(t))) / (sqrt(v / (1 - beta2^t)) + epsilon).
    """

    def scalar_values(self) -> dict[str, float]:
        return {"iterations": 0.0, "momentum_product": 1.0, "beta2_power": self.beta2}

    def _prepare(self) -> None:
        super()._prepare()
        self._t = self._option("iterations", self._scalars["iterations"]) + 1.0
        u, next_u = (self.beta1 * (1.0 - 0.5 * tf.pow(0.96, t)) for t in (self._t, self._t + 1.0))
        self._product = self._option("momentum_product", self._scalars["momentum_product"]) * u
        self._m_factor = next_u / (1.0 - self._product * next_u)
        self._g_factor = (1.0 - u) / (1.0 - self._product)

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        m, v, updates = self._moments(grad, var)
        numerator = self._option("_m_factor", var) * m + self._option("_g_factor", var) * grad
        denominator = tf.sqrt(v / (1.0 - self._option("beta2_power", var))) + self._option("epsilon", var)
        step = self._option("learning_rate", var) * numerator / denominator
        return tf.group(*updates, self._assign_sub(var, step))

    def _finish(self) -> list[tf.Operation]:
        values = {"iterations": self._t, "momentum_product": self._product}
        return super()._finish() + [self._assign(self._scalars[name], value) for name, value in values.items()]


@_options
class Lamb(Adam):
    """r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon); x -= lr r |x| / |r|; a norm of 0 counts as 1."""

    weight_decay: float = 0.0

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        m, v, updates = self._moments(grad, var)
        denominator = tf.sqrt(v / (1.0 - self._option("beta2_power", var))) + self._option("epsilon", var)
        r = m / (1.0 - self._option("beta1_power", var)) / denominator
        x_norm, r_norm = tf.norm(var.read_value()), tf.norm(r)
        trust = tf.where((x_norm > 0.0) & (r_norm > 0.0), x_norm / r_norm, tf.ones_like(x_norm))
        return tf.group(*updates, self._assign_sub(var, self._option("learning_rate", var) * trust * r))


@_options
class Adamax(Adam):
    """EMA(m, beta1) of g; v = max(beta2 v, |g|); x -= lr / (1 - beta1^t) m / (v + epsilon)."""

    weight_decay: float = 0.0

    def scalar_values(self) -> dict[str, float]:
        return {"beta1_power": self.beta1}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("AdaMax", var, {"m": "m", "v": "v"}),
            beta1_power=self._option("beta1_power", var),
            lr=self._option("learning_rate", var),
            beta1=self._option("beta1", var),
            beta2=self._option("beta2", var),
            epsilon=self._option("epsilon", var),
            grad=grad,
        )


@_options
class AMSGrad(Adam):
    """EMA(m, beta1) of g; EMA(v, beta2) of g^2; w = max(w, v); x -= lr m / (epsilon + sqrt(w)), 0 / 0 = 0."""

    beta2: float = 0.99
    epsilon: float = 0.0

    def slot_values(self) -> dict[str, float]:
        return {"m": 0.0, "v": 0.0, "v_hat": 0.0}

    def scalar_values(self) -> dict[str, float]:
        return {}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        m, v, updates = self._moments(grad, var)
        v_hat = tf.maximum(v, self.get_slot(var, "v_hat"))
        step = tf.math.divide_no_nan(m, tf.sqrt(v_hat) + self._option("epsilon", var))
        updates.append(self._update_slot(var, "v_hat", v_hat))
        return tf.group(*updates, self._assign_sub(var, self._option("learning_rate", var) * step))


@_options
class Lion(BaseCustomOptimizer):
    """x -= lr sign(beta1 m + (1 - beta1) g); then EMA(m, beta2) of g."""

    beta1: float = 0.9
    beta2: float = 0.99
    weight_decay: float = 0.0
    sparse_as_dense = True

    def slot_values(self) -> dict[str, float]:
        return {"m": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        m, beta1, beta2 = self.get_slot(var, "m").read_value(), self._option("beta1", var), self._option("beta2", var)
        step = self._option("learning_rate", var) * tf.sign(beta1 * m + (1.0 - beta1) * grad)
        update_m = self._update_slot(var, "m", beta2 * m + (1.0 - beta2) * grad)
        return tf.group(update_m, self._assign_sub(var, step))


@_options
class Adafactor(BaseCustomOptimizer):
    """
    b = 1 - t^beta_2_decay; EMA(v, b) of g^2 + epsilon_1, for matrices only of its row and column means r and c, where
    v = r c / mean(r); u = g / sqrt(v); u is scaled down to a root mean square of clip_threshold;
    x -= max(epsilon_2, rms(x)) rate u, with rate = lr, or min(lr, 1 / sqrt(t)) if ``relative_step``.
    """

    beta_2_decay: float = -0.8
    epsilon_1: float = 1e-30
    epsilon_2: float = 1e-3
    clip_threshold: float = 1.0
    relative_step: bool = True
    weight_decay: float = 0.0
    sparse_as_dense = True

    def scalar_values(self) -> dict[str, float]:
        return {"iterations": 0.0}

    def _create_slots(self, var_list: Sequence[tf.Variable]) -> None:
        for var in var_list:
            shape = var.shape.as_list()
            if len(shape) >= 2:
                self._make_slot(var, "r", shape=shape[:-1])
                self._make_slot(var, "c", shape=[*shape[:-2], shape[-1]])
            else:
                self._make_slot(var, "v")

    def _prepare(self) -> None:
        super()._prepare()
        self._t = self._option("iterations", self._scalars["iterations"]) + 1.0
        self._beta2 = 1.0 - tf.pow(self._t, self.beta_2_decay)
        self._rate = tf.cast(self.learning_rate, tf.float32)
        if self.relative_step:
            self._rate = tf.minimum(self._rate, tf.math.rsqrt(self._t))

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        squares = tf.square(grad) + self.epsilon_1
        if var.shape.ndims >= 2:
            r, update_r = self._ema(var, "r", tf.reduce_mean(squares, axis=-1))
            c, update_c = self._ema(var, "c", tf.reduce_mean(squares, axis=-2))
            v = tf.expand_dims(r / tf.reduce_mean(r, axis=-1, keepdims=True), -1) * tf.expand_dims(c, -2)
            updates = [update_r, update_c]
        else:
            v, update_v = self._ema(var, "v", squares)
            updates = [update_v]
        u = grad * tf.math.rsqrt(v)
        u /= tf.maximum(1.0, _rms(u) / self.clip_threshold)
        scale = tf.maximum(self.epsilon_2, _rms(var.read_value())) * self._option("_rate", var)
        return tf.group(*updates, self._assign_sub(var, scale * u))

    def _ema(self, var: tf.Variable, slot: str, new: tf.Tensor) -> tuple[tf.Tensor, tf.Operation]:
        beta2 = self._option("_beta2", var)
        value = beta2 * self.get_slot(var, slot) + (1.0 - beta2) * new
        return value, self._update_slot(var, slot, value)

    def _finish(self) -> list[tf.Operation]:
        return [self._assign(self._scalars["iterations"], self._t)]


def _rms(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(tf.reduce_mean(tf.square(x)))


@_options
class Ftrl(BaseCustomOptimizer):
    """
    Follow the regularized leader: w = a + g^2; z += g - (w^-p - a^-p) / lr x; a = w;
    x = (sign(z) l1 - z) / (w^-p / lr + 2 l2) if |z| > l1, else 0; with p = learning_rate_power.
    """

    learning_rate_power: float = -0.5
    initial_accumulator_value: float = 0.1
    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0

    def slot_values(self) -> dict[str, float]:
        return {"accum": self.initial_accumulator_value, "linear": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("Ftrl", var, {"accum": "accum", "linear": "linear"}),
            indices=indices,
            grad=grad,
            lr=self._option("learning_rate", var),
            l1=self._option("l1_regularization_strength", var),
            l2=self._option("l2_regularization_strength", var),
            lr_power=self._option("learning_rate_power", var),
        )


@_options
class ProximalGradientDescent(BaseCustomOptimizer):
    """z = x - lr g; x = sign(z) max(|z| - lr l1, 0) / (1 + lr l2)"""

    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        gradient = {"delta": grad} if indices is None else {"grad": grad}
        return self._fused(
            *("ProximalGradientDescent", var, {}),
            indices=indices,
            alpha=self._option("learning_rate", var),
            l1=self._option("l1_regularization_strength", var),
            l2=self._option("l2_regularization_strength", var),
            **gradient,
        )


@_options
class ProximalAdagrad(BaseCustomOptimizer):
    """a += g^2; then as :class:`ProximalGradientDescent`, with lr / sqrt(a) in place of lr."""

    initial_accumulator_value: float = 0.1
    l1_regularization_strength: float = 0.0
    l2_regularization_strength: float = 0.0

    def slot_values(self) -> dict[str, float]:
        return {"accumulator": self.initial_accumulator_value}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._fused(
            *("ProximalAdagrad", var, {"accum": "accumulator"}),
            indices=indices,
            lr=self._option("learning_rate", var),
            l1=self._option("l1_regularization_strength", var),
            l2=self._option("l2_regularization_strength", var),
            grad=grad,
        )


@_options
class NormalizedSGD(BaseCustomOptimizer):
    """x -= lr g / |g|, with the L2 norm of each tensor"""

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        step = self._option("learning_rate", var) * tf.math.divide_no_nan(grad, tf.norm(grad))
        return self._assign_sub(var, step, indices)


@_options
class NeuralOptimizer1(BaseCustomOptimizer):
    """EMA(m, beta1) of g; x -= lr g, times decrease_factor where m and g differ in sign"""

    beta1: float = 0.9
    decrease_factor: float = 0.1

    def slot_values(self) -> dict[str, float]:
        return {"m": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        beta1 = self._option("beta1", var)
        m = beta1 * self._gather(self.get_slot(var, "m"), indices) + (1.0 - beta1) * grad
        factor = tf.where(tf.equal(tf.sign(m), tf.sign(grad)), tf.ones_like(grad), self._option("decrease_factor", var))
        step = self._option("learning_rate", var) * grad * factor
        return tf.group(self._update_slot(var, "m", m, indices), self._assign_sub(var, step, indices))


@_options
class GradVarianceScaled(BaseCustomOptimizer):
    """EMA(m, beta1) of g; EMA(v, beta2) of (g - m)^2; x -= lr g min(1, v / ((g - m)^2 + epsilon))"""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def slot_values(self) -> dict[str, float]:
        return {"m": 0.0, "v": 0.0}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        beta1, beta2 = self._option("beta1", var), self._option("beta2", var)
        m = beta1 * self._gather(self.get_slot(var, "m"), indices) + (1.0 - beta1) * grad
        distance = tf.square(grad - m)
        v = beta2 * self._gather(self.get_slot(var, "v"), indices) + (1.0 - beta2) * distance
        step = grad * tf.minimum(1.0, v / (distance + self._option("epsilon", var)))
        return tf.group(
            self._update_slot(var, "m", m, indices),
            self._update_slot(var, "v", v, indices),
            self._assign_sub(var, self._option("learning_rate", var) * step, indices),
        )
