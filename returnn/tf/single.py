"""Values of the network for one sequence, or for all of a small dataset, outside of a pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from returnn.datasets.basic import Dataset
from returnn.engine.batch import Batch, BatchSetGenerator
from returnn.tensor import Tensor
from returnn.tf.compat import tf
from returnn.tf.data_pipeline import FeedDictDataProvider

if TYPE_CHECKING:
    from returnn.tf.engine import Engine


def get_specific_feed_dict(engine: Engine, dataset: Dataset, seq_idx: int) -> dict[tf.Tensor, Any]:
    """
    :param engine: with network and session
    :param dataset: its epoch has been started
    :param seq_idx: in this epoch; -1: all sequences, as one batch
    :return: for ``Session.run``, not in training. Targets are in it if the dataset has them.
    """
    provider = FeedDictDataProvider(
        dataset=dataset,
        batches=BatchSetGenerator(dataset, lambda _counts: iter([_batch(dataset, seq_idx)])),
        extern_data=engine.network.extern_data,
        data_keys=engine.get_data_keys(dataset, eval=False),
    )
    feed_dict, _ = provider.get_feed_dict(single_threaded=True)
    feed_dict.update(engine.graph.get_step_feed(train_flag=False, epoch_step=0))
    return feed_dict


def _batch(dataset: Dataset, seq_idx: int) -> Batch:
    batch = Batch()
    if seq_idx >= 0:
        batch.init_with_one_full_sequence(seq_idx, dataset)
        return batch
    num_seqs = 0
    while dataset.is_less_than_num_seqs(num_seqs):
        dataset.load_seqs(0, num_seqs + 1)  # from the first on: none may be forgotten
        start, end = dataset.get_start_end_frames_full_seq(num_seqs)
        batch.add_sequence_as_slice(num_seqs, start, end - start)
        num_seqs += 1
    return batch


def run_single(
    engine: Engine,
    dataset: Dataset,
    seq_idx: int,
    output_dict: Mapping[str, Any],
    ext_feed_dict: Mapping[tf.Tensor, Any] | None = None,
) -> dict[str, Any]:
    """
    :param engine: with network and session
    :param dataset: its epoch has been started
    :param seq_idx: in this epoch; -1: all sequences, as one batch
    :param output_dict: name -> TF tensor, Tensor, layer, or None
    :param ext_feed_dict: to feed as well, it goes before the data
    :return: name -> value; of Tensors and layers batch-major, padded; None for None
    """
    feed_dict = {**get_specific_feed_dict(engine, dataset, seq_idx), **(ext_feed_dict or {})}
    fetches = {name: _raw(value) for name, value in output_dict.items() if value is not None}
    values = engine.tf_session.run(fetches, feed_dict)
    return {name: values.get(name) for name in output_dict}


def _raw(value: Any) -> Any:
    value = getattr(value, "output", value)  # a layer
    return value.copy_as_batch_major().placeholder if isinstance(value, Tensor) else value
