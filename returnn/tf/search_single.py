"""Recognition of one sequence, or a few, for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.datasets.static import StaticDataset
from returnn.tf.forward import get_output_layer
from returnn.tf.runner import cut_to_lengths
from returnn.tf.search import beam_scores, target_key
from returnn.tf.search_output import Hypotheses, split_beams
from returnn.tf.single import run_single
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.tf.engine import Engine


def search_single(engine: Engine, dataset: Dataset, seq_idx: int, *, output_layer: str | None) -> Hypotheses:
    """
    :param engine: with network, built for search, and session
    :param dataset: its epoch has been started
    :param seq_idx: in this epoch
    :param output_layer: name. Default: the first one of ``search_output_layer``
    :return: (score, labels), the best first. Without a beam there is one, with score 0.
    """
    layer = _layer_for_single(engine, output_layer)
    output = layer.output.copy_as_batch_major()
    fetches = {"output": output, "scores": beam_scores(layer)}
    fetches.update({"size_%i" % axis: size for axis, size in output.size_placeholder.items()})
    values = run_single(engine, dataset, seq_idx, fetches)
    rows = cut_to_lengths(values["output"], {axis: values["size_%i" % axis] for axis in output.size_placeholder})
    if values["scores"] is None:
        return [(0.0, rows[0])]
    return split_beams(rows, values["scores"])[0]


def search_single_seq(engine: Engine, sources: Sequence[Any], *, output_layer: str | None) -> Hypotheses:
    """
    :param engine: with network, built for search, and session
    :param sources: sequences of the default input
    :param output_layer: see :func:`search_single`
    :return: (score, labels): those of the first sequence, the best first, then those of the second, ...
    """
    extern_data = engine.network.extern_data
    data = extern_data.data[extern_data.default_input]
    dataset = StaticDataset(
        [{extern_data.default_input: numpy.asarray(source, dtype=data.dtype)} for source in sources],
        output_dim={extern_data.default_input: (data.dim, data.ndim - 1)},
        name="search_single_seq",
    )
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    hyps: Hypotheses = []
    for seq_idx in range(len(sources)):
        hyps += search_single(engine, dataset, seq_idx, output_layer=output_layer)
    return hyps


def search_single_string_to_string_seq(
    engine: Engine, sources: str | Sequence[str], *, output_layer: str | None
) -> list[tuple[float, str]]:
    """
    :param engine: with network, built for search, and session; default input and output have vocabularies
    :param sources: text, or several texts
    :param output_layer: see :func:`search_single`
    :return: (score, text), in the order of :func:`search_single_seq`
    :raises ConfigError: input or output have no vocabulary
    """
    extern_data = engine.network.extern_data
    source_vocab = extern_data.data[extern_data.default_input].vocab
    layer = _layer_for_single(engine, output_layer)
    key = target_key(layer)
    target_vocab = layer.output.vocab or (key and extern_data.data[key].vocab)
    for what, vocab in (("extern_data[%r]" % extern_data.default_input, source_vocab), (repr(layer), target_vocab)):
        if vocab is None:
            raise ConfigError(f"search: {what} has no vocabulary, which text is read or written by.")
    texts = [sources] if isinstance(sources, str) else sources
    seqs = [source_vocab.get_seq(text) for text in texts]
    hyps = search_single_seq(engine, seqs, output_layer=output_layer)
    return [(score, target_vocab.get_seq_labels(labels)) for score, labels in hyps]


def _layer_for_single(engine: Engine, name: str | None) -> Any:
    return get_output_layer(engine, name or next(iter(engine.config.list("search_output_layer")), "output"))
