"""Sums and best paths over all paths of automata, in plain TensorFlow ops.

T frames, B sequences, C emissions, E edges; scores [T, B, C] are time-major and +log. Automata are those of
:mod:`returnn.util.fsa`: edges [4, E], weights [E] (-log), start and end states [2, B]. What is stored behind the end of
a sequence never matters.

Before each frame a state has the logarithm of the sum over all paths of the frames so far that end there (or the score
of the best one: then ``join`` is the maximum):
    state[to] = join over edges into it of (state[from] + score of the emission in this frame - weight)
Behind the end of a sequence states stay as they are. So in the end, the end state has the result.

"Impossible" is -1e30, so that differences of such scores stay numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from returnn.tf.compat import tf, v1

from .padding import time_mask

_IMPOSSIBLE = -1e30


def full_sum(
    scores: tf.Tensor, lens: tf.Tensor, edges: tf.Tensor, weights: tf.Tensor, start_end_states: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    Both directions run in one loop: states of the automata, and behind these the states of the reversed ones.

    :param scores: float32 [T, B, C]
    :param lens: int32 [B]
    :param edges: int32 [4, E]
    :param weights: float32 [E]
    :param start_end_states: int32 [2, B]
    :return: posteriors of the emissions [T, B, C], each real frame sums to one, 0 on padding; logarithm of the sum over
        all paths [B]. Without a path: 0, -inf. No gradient.
    """
    fsa = _Fsa.of(edges, weights, start_end_states)
    frames = _frames_of_edges(tf.stop_gradient(scores), lens, fsa)
    both = tf.concat([frames.scores, frames.scores[::-1]], axis=1)
    inside = tf.concat([frames.states_inside, frames.states_inside[::-1]], axis=1)
    num_states, num_frames = fsa.num_states, tf.shape(both)[0]
    starts = tf.concat([start_end_states[0], start_end_states[1] + num_states], axis=0)
    from_state = tf.concat([fsa.from_state, fsa.to_state + num_states], axis=0)
    to_state = tf.concat([fsa.to_state, fsa.from_state + num_states], axis=0)
    per_frame = [tf.TensorArray(x.dtype, num_frames).unstack(x) for x in (both, inside)]

    def step(t: tf.Tensor, state: tf.Tensor, before: tf.TensorArray) -> tuple[Any, ...]:
        score = tf.gather(state, from_state) + per_frame[0].read(t)
        high = tf.maximum(tf.math.unsorted_segment_max(score, to_state, 2 * num_states), _IMPOSSIBLE)
        total = tf.math.unsorted_segment_sum(tf.exp(score - tf.gather(high, to_state)), to_state, 2 * num_states)
        new = high + tf.math.log(tf.maximum(total, 1e-37))  # no edge: stays impossible
        return t + 1, _where(per_frame[1].read(t), new, state), before.write(t, state)

    _, last, before = v1.while_loop(
        lambda t, *_: t < num_frames,
        step,
        (0, _initial(starts, 2 * num_states), tf.TensorArray(tf.float32, num_frames)),
        parallel_iterations=1,
        back_prop=False,
    )
    states = tf.reshape(before.stack(), [num_frames, 2 * num_states])
    forward, backward = states[:, :num_states], states[::-1, num_states:]
    result = tf.gather(last, start_end_states[1])
    has_path = result > _IMPOSSIBLE / 2
    of_edges = (
        tf.gather(forward, fsa.from_state, axis=1) + frames.scores + tf.gather(backward, fsa.to_state, axis=1)
    ) - tf.gather(result, fsa.seq)
    is_used = tf.logical_and(frames.edges_inside, tf.gather(has_path, fsa.seq))
    posteriors = _to_emissions(tf.where(is_used, tf.exp(of_edges), 0.0)[:-1], fsa, tf.shape(scores))
    # they sum to one but for rounding
    posteriors = tf.math.divide_no_nan(posteriors, tf.reduce_sum(posteriors, axis=2, keepdims=True))
    posteriors.set_shape(scores.shape)
    return posteriors, tf.where(has_path, result, float("-inf"))


def best_path(
    scores: tf.Tensor,
    lens: tf.Tensor,
    edges: tf.Tensor,
    weights: tf.Tensor,
    start_end_states: tf.Tensor,
    *,
    mask_label: int = 0,
) -> tuple[tf.Tensor, tf.Tensor]:
    """
    Arguments as those of :func:`full_sum`. Of paths with the same score, that of the first edges counts.

    :param mask_label: on padding, and where there is no path
    :return: emissions int32 [T, B]; score float32 [B], -inf without a path. No gradient.
    """
    fsa = _Fsa.of(edges, weights, start_end_states)
    frames = _frames_of_edges(tf.stop_gradient(scores), lens, fsa)
    num_states, num_frames = fsa.num_states, tf.shape(frames.scores)[0]
    num_edges = tf.shape(fsa.from_state)[0]
    edge_idx = tf.range(num_edges)
    per_frame = [tf.TensorArray(x.dtype, num_frames).unstack(x) for x in (frames.scores, frames.states_inside)]

    def step(t: tf.Tensor, state: tf.Tensor, best_edges: tf.TensorArray) -> tuple[Any, ...]:
        score = tf.gather(state, fsa.from_state) + per_frame[0].read(t)
        high = tf.maximum(tf.math.unsorted_segment_max(score, fsa.to_state, num_states), _IMPOSSIBLE)
        candidates = tf.where(score >= tf.gather(high, fsa.to_state), edge_idx, num_edges - 1)
        best = tf.math.unsorted_segment_min(candidates, fsa.to_state, num_states)
        new = _where(per_frame[1].read(t), high, state)
        return t + 1, new, best_edges.write(t, tf.minimum(best, num_edges - 1))

    _, last, best_edges = v1.while_loop(
        lambda t, *_: t < num_frames,
        step,
        (0, _initial(start_end_states[0], num_states), tf.TensorArray(tf.int32, num_frames)),
        parallel_iterations=1,
        back_prop=False,
    )
    result = tf.gather(last, start_end_states[1])
    has_path = result > _IMPOSSIBLE / 2
    labels = _trace_back(fsa, best_edges, num_frames, lens, start_end_states[1])
    is_used = tf.logical_and(time_mask(lens, num_frames, ndim=2), has_path)
    labels = tf.where(is_used, labels, mask_label)[:-1]
    labels.set_shape(scores.shape[:2])
    return labels, tf.where(has_path, result, float("-inf"))


class _Fsa(NamedTuple):
    from_state: tf.Tensor
    to_state: tf.Tensor
    emission: tf.Tensor
    seq: tf.Tensor
    """each [E]"""
    weights: tf.Tensor
    seq_of_state: tf.Tensor
    """[states]"""
    num_states: tf.Tensor

    @classmethod
    def of(cls, edges: tf.Tensor, weights: tf.Tensor, start_end_states: tf.Tensor) -> _Fsa:
        from_state, to_state, emission, seq = (edges[i] for i in range(4))
        num_states = tf.reduce_max(tf.concat([to_state, from_state, start_end_states[1], [-1]], axis=0)) + 1
        seqs = tf.range(tf.shape(start_end_states)[1])
        states = tf.concat([from_state, to_state, start_end_states[0], start_end_states[1]], axis=0)
        seq_of_state = tf.math.unsorted_segment_max(tf.concat([seq, seq, seqs, seqs], axis=0), states, num_states)
        return cls(from_state, to_state, emission, seq, weights, seq_of_state, num_states)


class _Frames(NamedTuple):
    """Of all frames, and one of padding behind them."""

    scores: tf.Tensor
    """[T+1, E], impossible on padding"""
    edges_inside: tf.Tensor
    """bool [T+1, E]"""
    states_inside: tf.Tensor
    """bool [T+1, states]"""


def _frames_of_edges(scores: tf.Tensor, lens: tf.Tensor, fsa: _Fsa) -> _Frames:
    scores = tf.pad(scores, [[0, 1], [0, 0], [0, 0]])  # TensorFlow cannot stack the states of no frame
    num_frames, num_seqs, num_emissions = tf.unstack(tf.shape(scores))
    flat = tf.reshape(scores, [num_frames, num_seqs * num_emissions])
    of_edges = tf.gather(flat, fsa.seq * num_emissions + fsa.emission, axis=1) - fsa.weights
    inside = time_mask(lens, num_frames, ndim=2)
    edges_inside = tf.gather(inside, fsa.seq, axis=1)
    of_edges = tf.where(edges_inside, tf.maximum(of_edges, _IMPOSSIBLE), _IMPOSSIBLE)
    return _Frames(of_edges, edges_inside, tf.gather(inside, fsa.seq_of_state, axis=1))


def _where(condition: tf.Tensor, new: tf.Tensor, old: tf.Tensor) -> tf.Tensor:
    """:return: for the next round of a loop, so of the shape that the old value has, as far as that is known"""
    res = tf.where(condition, new, old)
    res.set_shape(old.shape)
    return res


def _initial(starts: tf.Tensor, num_states: tf.Tensor) -> tf.Tensor:
    """:return: [states], 0 for these, else impossible"""
    return tf.tensor_scatter_nd_update(
        tf.fill([num_states], _IMPOSSIBLE), starts[:, None], tf.zeros_like(starts, tf.float32)
    )


def _to_emissions(of_edges: tf.Tensor, fsa: _Fsa, shape: tf.Tensor) -> tf.Tensor:
    """
    :param of_edges: [T, E]
    :param shape: T, B, C
    :return: [T, B, C], sums over the edges
    """
    index = fsa.seq * shape[2] + fsa.emission
    sums = tf.math.unsorted_segment_sum(tf.transpose(of_edges), index, shape[1] * shape[2])
    return tf.reshape(tf.transpose(sums), shape)


def _trace_back(
    fsa: _Fsa, best_edges: tf.TensorArray, num_frames: tf.Tensor, lens: tf.Tensor, ends: tf.Tensor
) -> tf.Tensor:
    """:return: emissions [T, B] of the best path; anything on padding"""

    def step(t: tf.Tensor, state: tf.Tensor, labels: tf.TensorArray) -> tuple[Any, ...]:
        edge = tf.gather(best_edges.read(t), state)
        state = _where(t < lens, tf.gather(fsa.from_state, edge), state)
        return t - 1, state, labels.write(t, tf.gather(fsa.emission, edge))

    _, _, labels = v1.while_loop(
        lambda t, *_: t >= 0,
        step,
        (num_frames - 1, ends, tf.TensorArray(tf.int32, num_frames)),
        parallel_iterations=1,
        back_prop=False,
    )
    return tf.reshape(labels.stack(), [num_frames, tf.shape(ends)[0]])
