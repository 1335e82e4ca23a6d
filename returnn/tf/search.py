"""Recognition: what the output layers found for each sequence of a dataset (task ``search``).

A layer without a beam gives one output a sequence; one with a beam several, with scores.
Elsewhere: the search itself in the layers, text and files in search_output.py, one sequence in search_single.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.engine.batch import BatchSetGenerator
from returnn.engine.limits import number_or_per_key
from returnn.engine.search_options import check_search_output_file
from returnn.log import log
from returnn.tf.eval_per_seq import corpus_position
from returnn.tf.forward import get_output_layer, seqs_not_in
from returnn.tf.runner import Runner
from returnn.tf.scores import format_score
from returnn.tf.search_output import (
    SearchOutputs,
    TextFunc,
    split_beams,
    text_func_of_data,
    text_func_of_output,
)
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.tf.engine import Engine


def search(
    engine: Engine,
    dataset: Dataset,
    *,
    do_eval: bool,
    output_layer_names: str | Sequence[str],
    output_file: str | None,
    output_file_format: str,
) -> None:
    """
    :param engine: with network, built for search, and session
    :param dataset: initialized. With ``output_file`` the longest sequences come first, if it knows their lengths.
    :param do_eval: compare with the references: losses, errors, and their text in the log
    :param output_layer_names: a list: the file has a dict by these names for each sequence
    :param output_file: must not exist. Gets the outputs in the order of the corpus.
    :param output_file_format: "txt" or "py"
    :raises UserError: the file exists; the dataset has no references; an output cannot be written as text
    """
    print("Search with network on %r." % dataset, file=log.v1)
    if output_file:
        check_search_output_file(output_file, output_file_format, output_layer_names)
    if number_or_per_key(engine.config, "max_seq_length", 0):
        print("Note: max_seq_length has no effect in search, no sequence is left out.", file=log.v2)
    epoch = max(engine.epoch, 1)
    is_single = isinstance(output_layer_names, str)
    names = [output_layer_names] if is_single else list(output_layer_names)
    with _order_for_search(dataset) if output_file else contextlib.nullcontext():
        dataset.init_seq_order(epoch=epoch)
        outputs = [_Output(engine, name, dataset, with_reference=do_eval) for name in names]
        for output in outputs:
            output.print_kind()
        if output_file:
            for output in outputs:
                output.require_text()
            print("Will write outputs to: %s" % output_file, file=log.v2)
        collected = SearchOutputs() if output_file else None
        results = _Results(dataset, outputs, collected, is_single=is_single)
        batches = _run(engine, dataset, results, do_eval=do_eval)
        if batches.counts.zero_len:
            results.add_seqs_without_frames(epoch)
    if output_file and collected is not None:
        collected.write(output_file, output_file_format)


@contextlib.contextmanager
def _order_for_search(dataset: Dataset) -> Iterator[None]:
    """The order of the file is that of the corpus, whatever the order of the search. Batches of like lengths are
    faster, and a lack of memory shows at once."""
    before = dataset.seq_ordering
    knows_lengths = dataset.supports_seq_order_sorting() or dataset.seq_order_seq_lens_file
    if not dataset.have_corpus_seq_idx():
        text, order = "False, i.e. it will not be sorted for optimal performance.", "default"
    elif knows_lengths:
        text, order = "True, i.e. it will be sorted for optimal performance.", "sorted_reverse"
    else:
        text, order = "True, but lengths are not known before, i.e. it will not be sorted.", "default"
    print("Dataset have_corpus_seq_idx == %s" % text, file=log.v3)
    dataset.seq_ordering = order
    try:
        yield
    finally:
        dataset.seq_ordering = before


def _run(engine: Engine, dataset: Dataset, results: _Results, *, do_eval: bool) -> BatchSetGenerator:
    if do_eval:
        _require_references(engine, dataset)
    engine.check_dataset(dataset, eval=do_eval)

    def add_step(**values: Any) -> None:
        results.add_step(runner.step_meta, values)

    batches = engine.make_batches(dataset, keep_seqs_apart=True, eval=do_eval)
    runner = Runner(
        engine,
        dataset=dataset,
        batches=batches,
        train=False,
        eval=do_eval,
        extra_fetches=results.fetches(),
        extra_fetches_callback=add_step,
    )
    runner.run(engine.get_epoch_str() + " search", raise_exception=True)
    print(
        "Search done. Num steps %i, Final: score %s error %s"
        % (runner.num_steps, format_score(runner.score), format_score(runner.error)),
        file=log.v1,
    )
    return batches


def _require_references(engine: Engine, dataset: Dataset) -> None:
    missing = engine.get_data_keys(dataset, eval=True) - engine.get_data_keys(dataset, eval=False)
    if missing:
        raise ConfigError(
            f"{dataset.describe()} has no data key {', '.join(map(repr, sorted(missing)))}, which the losses need."
            " Set search_do_eval = False to search without references."
        )


class _Output:
    """A layer, and how its output becomes text."""

    def __init__(self, engine: Engine, name: str, dataset: Dataset, *, with_reference: bool):
        """
        :param engine: with network
        :param name: of the layer
        :param dataset: its epoch has been started
        :param with_reference: wanted, if the dataset has one
        """
        self.name = name
        self.layer = get_output_layer(engine, name)
        self._dataset = dataset
        self._output = self.layer.output
        self._scores = beam_scores(self.layer)
        self._target_key = target_key(self.layer)
        target = None
        if self._target_key is not None:
            target = engine.network.get_extern_data(self._target_key, mark_data_key_as_used=False)
        self.text_func: TextFunc | None = None
        self._reference: Any = None
        self._reference_text_func: TextFunc | None = None
        if self._output.sparse:
            self.text_func = text_func_of_output(self._output, target, self._target_key, dataset)
            if target is not None and with_reference and self._target_key in dataset.get_data_keys():
                self._reference_text_func = text_func_of_data(target, self._target_key, dataset)
        if self._reference_text_func is not None:
            self._reference = engine.network.get_extern_data(self._target_key)

    def print_kind(self) -> None:
        """Says whether the output has a beam."""
        if self._scores is None:
            print("Given output %r is after decision (no beam)." % self.layer, file=log.v1)
        else:
            print("Given output %r has beam %s." % (self.layer, self._output.beam), file=log.v1)

    def require_text(self) -> None:
        """
        :raises ConfigError: labels without names
        """
        if not self._output.sparse or self.text_func is not None:
            return
        num_labels = len(self._dataset.labels.get(self._target_key, ()))
        raise ConfigError(
            "Unable to serialize sparse output of layer %r. It has %s classes, but %s has %s names for the classes of"
            " %r. Give the dataset labels for this key, or the layer a target whose classes have names."
            % (self.name, self._output.dim, self._dataset.describe(), num_labels or "no", self._target_key)
        )

    def fetches(self) -> dict[str, Any]:
        """
        :return: name -> what a :class:`Runner` is to fetch
        """
        return {
            "output:" + self.name: self._output,
            "scores:" + self.name: self._scores,
            "reference:" + self.name: self._reference,
        }

    def values_of_seqs(self, fetched: Mapping[str, Any], tags: Sequence[str], seq_idxs: Sequence[int]) -> list[Any]:
        """
        Prints what was found.

        :param fetched: of a step
        :param tags: of the sequences of this step
        :param seq_idxs: in the epoch
        :return: for :class:`SearchOutputs`
        """
        rows, scores = fetched["output:" + self.name], fetched["scores:" + self.name]
        references = fetched["reference:" + self.name]
        seqs = rows if scores is None else split_beams(rows, scores)
        values = []
        for i, (seq_idx, tag, seq) in enumerate(zip(seq_idxs, tags, seqs, strict=True)):
            many, shown = ("", seq) if scores is None else ("s", [row for _, row in seq])
            print("seq_idx: %i, seq_tag: %r, output%s %r: %r" % (seq_idx, tag, many, self.name, shown), file=log.v4)
            if references is not None and self._reference_text_func is not None:
                print("  ref:", self._reference_text_func(references[i]), file=log.v4)
            values.append(self._value(seq, with_beam=scores is not None))
        return values

    def _value(self, seq: Any, *, with_beam: bool) -> Any:
        if not with_beam:
            return self._print_hyp("  hyp:", seq)
        return [(score, self._print_hyp("  hyp %i, score %f:" % (k, score), row)) for k, (score, row) in enumerate(seq)]

    def _print_hyp(self, title: str, row: numpy.ndarray) -> Any:
        value = row if self.text_func is None else self.text_func(row)
        if self.text_func is not None or not self._output.sparse:
            print(title, value, file=log.v4)
        return value

    def value_without_frames(self) -> Any:
        """
        :return: of a sequence that was not searched
        """
        return "" if self.text_func is not None and self._scores is None else []


class _Results:
    """Of all output layers, for all sequences."""

    def __init__(
        self, dataset: Dataset, outputs: Sequence[_Output], collected: SearchOutputs | None, *, is_single: bool
    ):
        """
        :param dataset: its epoch has been started
        :param outputs: layers
        :param collected: gets the values of each sequence; None: they are only logged
        :param is_single: the file has no dicts by layer
        """
        self._dataset = dataset
        self._outputs = outputs
        self._is_single = is_single
        self._collected = collected
        self._seqs_done: set[int] = set()

    def fetches(self) -> dict[str, Any]:
        """
        :return: name -> what a :class:`Runner` is to fetch
        """
        return {name: value for output in self._outputs for name, value in output.fetches().items()}

    def add_step(self, meta: Mapping[str, Any], fetched: Mapping[str, Any]) -> None:
        """
        :param meta: ``seq_idx`` and ``seq_tag`` of a step
        :param fetched: values of a step
        """
        seq_idxs, tags = meta["seq_idx"], meta["seq_tag"]
        by_layer = {output.name: output.values_of_seqs(fetched, tags, seq_idxs) for output in self._outputs}
        for i, (seq_idx, tag) in enumerate(zip(seq_idxs, tags, strict=True)):
            self._add(seq_idx, tag, {name: values[i] for name, values in by_layer.items()})

    def add_seqs_without_frames(self, epoch: int) -> None:
        """Those are in no batch, but a line in the file stands for each sequence.

        :param epoch: that was searched
        """
        others = seqs_not_in(self._seqs_done, self._dataset, epoch=epoch)
        print("warning: nothing to search in sequences without frames: %s" % ", ".join(others.values()), file=log.v2)
        for seq_idx, tag in others.items():
            self._add(seq_idx, tag, {output.name: output.value_without_frames() for output in self._outputs})
        self._dataset.finish_epoch()

    def _add(self, seq_idx: int, tag: str, by_layer: Mapping[str, Any]) -> None:
        self._seqs_done.add(seq_idx)
        if self._collected is not None:
            value = next(iter(by_layer.values())) if self._is_single else by_layer
            self._collected.add(corpus_position(self._dataset, seq_idx), tag, value)


def beam_scores(layer: Any) -> Any:
    """
    :param layer: built
    :return: raw [batch, beam], logarithms; None if the output has no beam
    :raises ConfigError: it has a beam, but nobody knows the scores
    """
    if layer.output.beam is None:
        return None
    choices = layer.search_choices or layer.get_search_choices()
    if choices is None or choices.beam_scores is None:
        raise ConfigError(
            "search: the output of layer %r has a beam, %s, but no scores of the hypotheses. Take the layer that"
            " chose, or one of class 'decide' behind it." % (layer.name, layer.output.beam)
        )
    return choices.beam_scores


def target_key(layer: Any) -> str | None:
    """
    :return: data key of the reference, if the layer is compared with one
    """
    extern_data = layer.network.get_root_network().extern_data
    target = layer.target or extern_data.default_target
    if isinstance(target, list | tuple):
        target = target[0]
    return target if target in extern_data.data else None
