"""The output of a layer: for every sequence of a dataset into an HDF file (task ``forward``), or for one sequence."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.datasets.hdf import SimpleHDFWriter
from returnn.log import log
from returnn.tf.runner import Runner
from returnn.tf.single import run_single
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from returnn.tf.engine import Engine


def forward_to_hdf(
    engine: Engine,
    dataset: Dataset,
    output_file: str,
    *,
    batch_size: int,
    output_layer: str | None,
    overwrite: bool = False,
) -> None:
    """
    Writes ``inputs`` (frames, dim), or (frames,) if sparse, without padding, in the order of the dataset.

    Sequences without frames are not in the file; the log names them.

    The file appears when all is in it.

    :param engine: with network and session
    :param dataset: initialized
    :param output_file: must not exist, unless ``overwrite``; the writer says so
    :param batch_size: frames
    :param output_layer: name. Default: the output layer of the network
    :param overwrite: the file may exist, and is replaced when the new one is complete
    :raises ConfigError: no such layer
    """
    print("Forwarding to HDF file: %s" % output_file, file=log.v2)
    output = get_output_layer(engine, output_layer).output.copy_as_batch_major()
    print("Forward output: %s" % output, file=log.v3)
    dataset.init_seq_order(epoch=1)  # the same data, whichever model is used
    engine.check_dataset(dataset, eval=False)
    sizes = {"size_%i" % axis: size for axis, size in output.size_placeholder.items()}
    seqs_done: set[int] = set()
    batches = engine.make_batches(dataset, batch_size=batch_size, keep_seqs_apart=True, eval=False)
    with SimpleHDFWriter(
        output_file,
        dim=output.dim,
        ndim=output.ndim,
        labels=_labels(dataset, engine, output.dim),
        overwrite=overwrite,
    ) as writer:

        def insert_batch(*, output: numpy.ndarray, **size_values: numpy.ndarray) -> None:
            seq_len = {int(name[len("size_") :]): values.tolist() for name, values in size_values.items()}
            writer.insert_batch(output, seq_len, runner.step_meta["seq_tag"])
            seqs_done.update(runner.step_meta["seq_idx"])

        runner = Runner(
            engine,
            dataset=dataset,
            batches=batches,
            train=False,
            eval=False,
            extra_fetches={"output": output.placeholder, **sizes},
            extra_fetches_callback=insert_batch,
        )
        runner.run(engine.get_epoch_str() + " forward", raise_exception=True)
    if batches.counts.zero_len:
        others = seqs_not_in(seqs_done, dataset, epoch=1)
        dataset.finish_epoch()
        print("warning: no output for sequences without frames: %s" % ", ".join(others.values()), file=log.v2)


def seqs_not_in(seqs_done: Collection[int], dataset: Dataset, *, epoch: int) -> dict[int, str]:
    """
    Starts the epoch anew, and leaves it started.

    :param seqs_done: indices in this epoch
    :param dataset: this epoch of it is over
    :param epoch: number
    :return: index -> tag of the others, which alone are loaded again
    """
    dataset.init_seq_order(epoch=epoch)
    others: dict[int, str] = {}
    seq_idx = 0
    while dataset.is_less_than_num_seqs(seq_idx):
        if seq_idx not in seqs_done:
            dataset.load_seqs(seq_idx, seq_idx + 1)
            others[seq_idx] = dataset.get_tag(seq_idx)
        seq_idx += 1
    return others


def forward_single(engine: Engine, dataset: Dataset, seq_idx: int, *, output_layer: str | None) -> numpy.ndarray:
    """
    :param engine: with network and session
    :param dataset: its epoch has been started
    :param seq_idx: in this epoch
    :param output_layer: name. Default: the output layer of the network
    :return: its output for this sequence, ``(time, dim)``
    """
    output = get_output_layer(engine, output_layer).output
    return run_single(engine, dataset, seq_idx, {"output": output})["output"][0]


def get_output_layer(engine: Engine, name: str | None) -> Any:
    """
    :param engine: with network
    :param name: None: the output layer of the network
    :return: layer
    :raises ConfigError: there is none of this name
    """
    layers = engine.network.layers
    if name is None:
        return engine.network.get_default_output_layer()
    if name not in layers:
        net_dict = engine.config.typed_value("network")
        hint = did_you_mean(name, layers)
        if isinstance(net_dict, dict) and name in net_dict:
            hint = " Nothing needs this layer: set is_output_layer = True in it."
        raise ConfigError("output layer %r not found, available layers: %s.%s" % (name, ",".join(sorted(layers)), hint))
    return layers[name]


def _labels(dataset: Dataset, engine: Engine, dim: int | None) -> list[str] | None:
    """
    :return: names of the classes, if the output is over those of the target
    """
    labels = dataset.labels.get(engine.network.extern_data.default_target)
    return list(labels) if labels and len(labels) == dim else None
