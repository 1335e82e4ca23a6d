"""One pass over a dataset: feed, run, add up, report.

The pass ends well (``finalized``) only if the data provider came to its own end. What goes wrong is logged here with
the step and its data, and kept in ``run_exception``; what becomes of the run is the caller's matter.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.engine.batch import BatchSetGenerator
from returnn.log import log
from returnn.tensor import Tensor
from returnn.tf.compat import tf
from returnn.tf.data_pipeline import FeedDictDataProvider
from returnn.tf.exception_help import error_of_lengths, help_on_tf_exception, short_repr, tf_error_text
from returnn.tf.progress import ProgressReport
from returnn.tf.scores import ScoreAccumulator, Stats
from returnn.tf.summaries import EventLog
from returnn.util.errors import UserError
from returnn.util.format import hms, human_bytes_size
from returnn.util.numbers_dict import NumbersDict

if TYPE_CHECKING:
    from returnn.tf.engine import Engine


class CancelTrainingException(Exception):
    """Somebody set ``cancel_flag``."""


class NonFiniteScoreError(UserError):
    """A loss or error of a step is inf or nan."""


class Runner:
    """Runs the network of an engine on all batches of a dataset."""

    def __init__(
        self,
        engine: Engine,
        dataset_name: str | None = None,
        dataset: Dataset | None = None,
        batches: BatchSetGenerator | None = None,
        train: bool = False,
        eval: bool = True,
        train_flag: bool | None = None,
        extra_fetches: Mapping[str, Any] | None = None,
        extra_fetches_callback: Callable[..., None] | None = None,
    ):
        """
        :param engine: with network and session
        :param dataset_name: for names of files and for the network. Default: "train" if train, else the dataset's own
        :param dataset: its epoch has been started. Default: the training data of the engine
        :param batches: Default: of this dataset, by the limits of the engine
        :param train: update the parameters
        :param eval: fetch losses and errors
        :param train_flag: fed to the network. Default: ``train``
        :param extra_fetches: name -> TF tensor, Tensor, layer, callable that gives a TF tensor, or None
        :param extra_fetches_callback: gets each step's values as keyword arguments: TF tensors as they are,
            Tensors and layers as a list of arrays, one a sequence, cut to its length; None for None
        """
        self.engine = engine
        self.dataset = dataset if dataset is not None else engine.train_data
        self.dataset_name = dataset_name or ("train" if train else self.dataset.name)
        self._batches = batches
        self._train = train
        self._eval = eval
        self._train_flag = train if train_flag is None else train_flag
        self._fetches: dict[str, Any] = {}
        self._extra_fetches = dict(extra_fetches or {})
        self._extra_fetches_callback = extra_fetches_callback
        self.cancel_flag = False
        """May be set by others, to end the run before the next step."""
        self.step_meta: dict[str, Any] = {}
        """Of the current step: ``seq_idx``, ``seq_tag`` (lists), ``complete_frac``."""
        self.finalized = False
        self.score: dict[str, float] = {}
        self.error: dict[str, float] = {}
        self.results: dict[str, float] = {}
        self.stats: dict[str, Any] = {}
        self.num_steps: int | None = None
        self.num_frames_accumulated = NumbersDict()
        self.elapsed: float | None = None
        self.run_exception: BaseException | None = None
        self.device_crash_batch: int | None = None
        self._scores = ScoreAccumulator(with_exp_loss=engine.config.bool("calculate_exp_loss", False))
        self._stats: dict[str, Stats] = {}
        self._stop_on_nonfinite_score = engine.config.bool("stop_on_nonfinite_train_score", True)
        self._log_batch_size = engine.config.bool("log_batch_size", False)
        self._session_secs = 0.0

    def run(self, report_prefix: str, *, raise_exception: bool = False) -> None:
        """
        :param report_prefix: of the log lines, as ``train epoch 1``
        :param raise_exception: raise what went wrong, instead of only keeping it in ``run_exception``
        """
        engine = self.engine
        engine.network.set_run_opts(epoch=engine.epoch, dataset_name=self.dataset_name)
        batches = self._batches if self._batches is not None else engine.make_batches(self.dataset)
        provider = FeedDictDataProvider(
            dataset=self.dataset,
            batches=batches,
            extern_data=engine.network.extern_data,
            data_keys=engine.get_data_keys(self.dataset, eval=self._eval),
        )
        events = engine.event_logs.start_pass(
            self.dataset_name,
            epoch=engine.epoch,
            train=self._train,
            search=engine.use_search_flag,
            graph=engine.graph.graph,
        )
        progress = ProgressReport(report_prefix)
        provider.start_threads()
        start = time.monotonic()
        step_info = _StepInfo()
        try:
            self._run_steps(provider, events, progress, step_info)
            self.elapsed = time.monotonic() - start
            self._finish(report_prefix, batches)
        except (KeyboardInterrupt, SystemExit) as exc:  # somebody wants an end; SIGTERM comes as SystemExit(143)
            what = "KeyboardInterrupt" if isinstance(exc, KeyboardInterrupt) else repr(exc)
            print("%s in step %r." % (what, step_info.step), file=log.v1)
            self._failed(exc, step_info)
            if raise_exception:
                raise
        except BaseException as exc:
            exc = _as_user_error(exc, step_info)
            self._report_failure(exc, step_info)
            self._failed(exc, step_info)
            if raise_exception:
                raise exc
        finally:
            provider.stop_threads(in_hurry=self.run_exception is not None)
            progress.close()
            if self._train:
                events.flush()
            else:
                events.close()

    def _run_steps(
        self, provider: FeedDictDataProvider, events: EventLog, progress: ProgressReport, info: _StepInfo
    ) -> None:
        graph, session = self.engine.graph, self.engine.graph.session
        fetches = self._fetches = self._make_fetches()
        step_offset = graph.get_global_train_step()
        while provider.have_more_data():
            if self.cancel_flag:
                raise CancelTrainingException("cancel_flag is set")
            step_start = time.monotonic()
            info.feed_dict, info.meta = provider.get_feed_dict()
            self.step_meta = info.meta
            self.engine.network.set_seq_tags_of_step(info.meta["seq_tag"])
            info.feed_dict.update(graph.get_step_feed(train_flag=self._train_flag, epoch_step=info.step))
            run_start = time.monotonic()
            fetched = session.run(fetches, info.feed_dict)
            self._session_secs += time.monotonic() - run_start
            eval_info = self._add_up(fetched, info)
            progress.step(
                info.step,
                eval_info,
                step_secs=time.monotonic() - step_start,
                complete_frac=info.meta["complete_frac"],
            )
            events.add(
                _summaries(eval_info, fetched.get("summary", {})),
                step=step_offset + info.step,
                serialized=fetched.get("image_summaries", ()),
            )
            self._call_extra_fetches_callback(fetched)
            info.step += 1
        if not provider.have_reached_end():
            raise Exception("Did not successfully reach the end of the dataset.")
        self.num_steps = info.step
        if self._train:
            step = graph.get_global_train_step()
            if step != step_offset + info.step:
                raise Exception("global_step is %i, not %i + %i steps" % (step, step_offset, info.step))

    def _make_fetches(self) -> dict[str, Any]:
        fetches = self.engine.graph.get_fetches(train=self._train, eval=self._eval)
        for name, value in self._extra_fetches.items():
            if callable(value) and not isinstance(value, Tensor) and not hasattr(value, "output"):
                value = value()
            value = getattr(value, "output", value)  # a layer
            if isinstance(value, Tensor):
                value = self._extra_fetches[name] = value.copy_as_batch_major()
                for axis, sizes in value.size_placeholder.items():
                    fetches["extra:%s:size_%i" % (name, axis)] = sizes
                value = value.placeholder
            if value is not None:
                fetches["extra:%s" % name] = value
        return fetches

    def _add_up(self, fetched: Mapping[str, Any], info: _StepInfo) -> dict[str, Any]:
        """
        :return: what the step line shows
        """
        eval_info = self._scores.add(fetched)
        if "loss" in fetched:
            eval_info["loss"] = fetched["loss"]
        for key, value in fetched.items():
            if key.startswith(("stats:", "mem_usage:")):
                self._stats.setdefault(key, Stats()).add(value)
                eval_info[key] = value
        if self._stop_on_nonfinite_score:
            self._check_finite(eval_info, info)
        sizes = {
            key[len("size:") : -len(":0")]: fetched[key]
            for key in fetched
            if key.startswith("size:") and key.endswith(":0")
        }
        self.num_frames_accumulated += NumbersDict({key: int(numpy.sum(size)) for key, size in sizes.items()})
        if self._log_batch_size:
            eval_info.update({"max_size:%s" % key: int(numpy.max(size)) for key, size in sizes.items()})
            eval_info["num_seqs"] = len(info.meta["seq_idx"])
        return eval_info

    def _check_finite(self, eval_info: Mapping[str, Any], info: _StepInfo) -> None:
        bad = [
            key
            for key, value in eval_info.items()
            if (key == "loss" or (key.startswith(("cost:", "error:")) and not key.endswith(":exp")))
            and not math.isfinite(value)
        ]
        if not bad:
            return
        print("Model seems broken, got inf or nan score.", file=log.v1)
        print("Accumulated scores:", {**self._scores.score, **self._scores.error}, file=log.v1)
        raise NonFiniteScoreError(
            "Inf/nan score in step %i. Not finite: %s. Sequences: %s. With stop_on_nonfinite_train_score = False "
            "the run goes on." % (info.step, ", ".join(sorted(bad)), ", ".join(info.meta["seq_tag"]))
        )

    def _call_extra_fetches_callback(self, fetched: Mapping[str, Any]) -> None:
        if self._extra_fetches_callback is None:
            return
        values = {}
        for name, source in self._extra_fetches.items():
            value = fetched.get("extra:%s" % name)
            if isinstance(source, Tensor):
                sizes = {axis: fetched["extra:%s:size_%i" % (name, axis)] for axis in source.size_placeholder}
                value = cut_to_lengths(value, sizes)
            values[name] = value
        self._extra_fetches_callback(**values)

    def _finish(self, report_prefix: str, batches: BatchSetGenerator) -> None:
        self.score, self.error = self._scores.score, self._scores.error
        self.results = {**self.score, **self.error}
        self.engine.network.call_run_finished_callbacks()
        self.finalized = True
        computing = 100 * self._session_secs / max(self.elapsed, 1e-9)
        print(
            "%s, finished after %i steps, %s elapsed (%.1f%% computing time)"
            % (report_prefix, self.num_steps, hms(self.elapsed), computing),
            file=log.v3,
        )
        print("%s, sequences: %s" % (report_prefix, batches.counts), file=log.v3)
        print("%s, frames: %s" % (report_prefix, batches.counts.frames_text()), file=log.v3)
        self.stats = {key: _stats_value(key, stats) for key, stats in self._stats.items()}
        if self.stats:
            print("Stats:", file=log.v1)
            for key, value in sorted(self.stats.items()):
                print("  %s: %s" % (key, value), file=log.v1)

    def _report_failure(self, exc: BaseException, info: _StepInfo) -> None:
        if isinstance(exc, tf.errors.OpError):
            print("TensorFlow exception:", tf_error_text(exc), file=log.v1)
        print("Exception %s in step %r. (pid %i)" % (short_repr(exc), info.step, os.getpid()), file=log.v1)
        if not isinstance(exc, UserError) and info.meta is not None:
            help_on_tf_exception(
                self.engine.graph.session,
                exc,
                self._fetches,
                info.feed_dict,
                info.meta,
                file=log.v2,
                network=self.engine.network,
                dump_file="failed-step.pid%i.txt" % os.getpid(),
            )

    def _failed(self, exc: BaseException, info: _StepInfo) -> None:
        self.run_exception = exc
        self.device_crash_batch = info.step


class _StepInfo:
    """Where the pass is, for reports."""

    def __init__(self):
        self.step = 0
        self.feed_dict: dict[Any, Any] | None = None
        self.meta: dict[str, Any] | None = None


def _as_user_error(exc: BaseException, info: _StepInfo) -> BaseException:
    """
    :return: the same, or what it means if the data of the step are to blame
    """
    if isinstance(exc, tf.errors.InvalidArgumentError) and info.meta is not None:
        return error_of_lengths(exc, info.meta["seq_tag"]) or exc
    return exc


def cut_to_lengths(rows: numpy.ndarray, sizes: Mapping[int, numpy.ndarray]) -> list[numpy.ndarray]:
    """
    :param rows: [batch, ...]
    :param sizes: axis, without batch -> lengths [batch]; or one for all; or [sequences], if a beam is merged into
        the batch of the rows only
    :return: the rows without padding
    """
    sizes = {axis: numpy.atleast_1d(size) for axis, size in sizes.items()}
    return [
        _cut(row, {axis: size[i * len(size) // len(rows)] for axis, size in sizes.items()})
        for i, row in enumerate(rows)
    ]


def _cut(row: numpy.ndarray, sizes: Mapping[int, int]) -> numpy.ndarray:
    return row[tuple(slice(0, sizes[axis]) if axis in sizes else slice(None) for axis in range(row.ndim))]


def _summaries(eval_info: Mapping[str, Any], of_network: Mapping[str, Any]) -> dict[str, float]:
    """
    :param eval_info: as the step line has it
    :param of_network: further values. Without constraints, or loss, there are none of these.
    :return: TensorBoard tag -> value
    """
    tags = {}
    if "loss" in eval_info:
        tags = {"objective/loss": 0.0, "objective/constraints": 0.0, "objective/objective": float(eval_info["loss"])}
    tags.update({"objective/%s" % name: float(value) for name, value in of_network.items()})
    for key, value in eval_info.items():
        kind, _, name = key.partition(":")
        if kind == "cost" and name.endswith(":exp"):
            tags["objective/loss/exp_loss_%s" % name[: -len(":exp")].replace("/", "_")] = float(value)
        elif kind in ("cost", "error"):
            tags["objective/loss/%s_%s" % ("loss" if kind == "cost" else kind, name.replace("/", "_"))] = float(value)
    return tags


def _stats_value(key: str, stats: Stats) -> Any:
    if not key.startswith("mem_usage:"):
        return stats.mean.tolist()
    values = (stats.mean, stats.std_dev, stats.min, stats.max)
    return "Stats(mean=%s, std_dev=%s, min=%s, max=%s, num_seqs=%i, avg_data_len=1)" % (
        *(human_bytes_size(int(value)) for value in values),
        stats.num,
    )
