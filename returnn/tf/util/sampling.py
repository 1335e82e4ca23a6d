"""Logits of some classes only."""

from __future__ import annotations

from typing import Any

from returnn.tf.compat import tf


def compute_sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: tuple[Any, Any, Any] | None = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "compute_sampled_logits",
    seed: int | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    For sampled softmax (Jean et al., On Using Very Large Target Vocabulary, 2015) and noise-contrastive estimation.

    :param weights: float [num_classes, dim]
    :param biases: float [num_classes]
    :param labels: int [B, num_true]
    :param inputs: float [B, dim]
    :param num_sampled: number of classes to draw, S
    :param num_classes: all
    :param num_true: labels of a row
    :param sampled_values: what a candidate sampler of TensorFlow gave: classes [S], expected counts of the labels
        [B, num_true] and of the classes [S]; a log-uniform sampler by default
    :param subtract_log_q: subtract the logarithm of the expected counts
    :param remove_accidental_hits: a sampled class that is a label of the row gets the lowest logit
    :param partition_strategy: how weights in several parts are split; here they are one
    :param name: of the operations
    :param seed: of the sampler
    :return: logits float [B, num_true + S], and labels for them: 1 / num_true for the true ones, else 0
    """
    if partition_strategy not in ("mod", "div"):
        raise ValueError("partition_strategy must be 'mod' or 'div', but is %r" % partition_strategy)
    with tf.name_scope(name):
        labels = tf.cast(labels, tf.int64)
        if sampled_values is None:
            sampled_values = tf.random.log_uniform_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes, seed=seed
            )
        sampled, true_count, sampled_count = (tf.stop_gradient(value) for value in sampled_values)
        sampled = tf.cast(sampled, tf.int64)
        true_logits = tf.einsum("bd,btd->bt", inputs, tf.gather(weights, labels)) + tf.gather(biases, labels)
        sampled_logits = tf.matmul(inputs, tf.gather(weights, sampled), transpose_b=True) + tf.gather(biases, sampled)
        if remove_accidental_hits:
            is_label = tf.reduce_any(tf.equal(labels[:, :, None], sampled), axis=1)
            sampled_logits = tf.where(is_label, sampled_logits.dtype.min, sampled_logits)
        if subtract_log_q:
            true_logits -= tf.math.log(true_count)
            sampled_logits -= tf.math.log(sampled_count)
        targets = [tf.ones_like(true_logits) / num_true, tf.zeros_like(sampled_logits)]
        return tf.concat([true_logits, sampled_logits], axis=1), tf.concat(targets, axis=1)
