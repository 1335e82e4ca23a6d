"""Words in graphs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from returnn.tensor.run_table import current_table
from returnn.tf.compat import tf


def get_shared_vocab(vocab_strings: Sequence[str]) -> tf.Tensor:
    """
    :param vocab_strings: words of all labels
    :return: string [labels]; the same tensor for the same words in one graph
    """
    key = ("vocab", tuple(vocab_strings))

    def make() -> tf.Tensor:
        with tf.init_scope(), tf.name_scope("shared_vocab"):
            return tf.constant(numpy.array(list(vocab_strings), dtype=object))

    return current_table().cached(key, make)
