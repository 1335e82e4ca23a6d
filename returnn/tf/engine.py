"""The life of a training on TensorFlow: build, load, train epoch by epoch, evaluate, save.

An epoch ends in this order, each file whole: optimizer state, learning-rate file with the train scores, model. The
rename of the model's ``.index`` commits the epoch. So a run that is killed, whenever, goes on from the last committed
epoch with all that belongs to it, and trains the next one exactly as an unbroken run does; scores of evaluation sets
that are missing for the committed epoch are computed first.
The graph is final before the first step: memory does not grow over the epochs.
Elsewhere: one pass over a dataset in runner.py, files in checkpoint.py, names of files and the choice among them in
:mod:`returnn.engine.base`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy

from returnn.config import Config
from returnn.datasets.basic import Dataset, set_config_extern_data_from_dataset
from returnn.datasets.create import init_dataset
from returnn.engine.base import EngineBase
from returnn.engine.batch import BatchSetGenerator
from returnn.engine.checkpoint_files import OPTIM_SUFFIX, delete_old_optimizer_states, strip_checkpoint_suffix
from returnn.engine.limits import number_or_per_key
from returnn.engine.model_cleanup import CleanupOptions
from returnn.learning_rate_control import load_learning_rate_control_from_config
from returnn.log import log
from returnn.network.losses import describe_objective
from returnn.tf.checkpoint import (
    INDEX_SUFFIX,
    DamagedCheckpointError,
    checkpoint_exists,
    read_checkpoint,
    write_checkpoint_state,
)
from returnn.tf.compat import v1
from returnn.tf.data_pipeline import check_extern_data
from returnn.tf.eval_per_seq import PerSeqScores
from returnn.tf.forward import forward_single, forward_to_hdf
from returnn.tf.network import TFNetwork
from returnn.tf.network_graph import NetworkGraph, Values
from returnn.tf.preload import files_to_preload, preload
from returnn.tf.runner import CancelTrainingException, Runner
from returnn.tf.scores import format_score
from returnn.tf.search import search
from returnn.tf.search_output import Hypotheses
from returnn.tf.search_single import search_single, search_single_seq, search_single_string_to_string_seq
from returnn.tf.single import get_specific_feed_dict, run_single
from returnn.tf.summaries import EventLogs
from returnn.tf.updater import Updater
from returnn.util.better_repr import better_repr
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import atomic_write, remove_file, remove_stale_temp_files
from returnn.util.format import hms
from returnn.util.numbers_dict import NumbersDict

__all__ = ["CancelTrainingException", "Engine", "Runner", "get_global_engine"]

_TASKS_THAT_TRAIN = ("train", "initialize_model", "nop_init_net_train")

_global_engine: Engine | None = None


def get_global_engine() -> Engine:
    """
    :return: the engine of the running program
    """
    assert _global_engine is not None, "there is no engine yet"
    return _global_engine


class Engine(EngineBase):
    """Owns graph, session, network and updater. One at a time: its graph is the default graph of the process."""

    _damaged_checkpoints: ClassVar[set[str]] = set()
    """Prefixes that this process found damaged, and therefore does not count as existing."""

    def __init__(self, config: Config | None = None):
        """
        :param config: default: the global one
        """
        global _global_engine
        _global_engine = self
        super().__init__(config)
        self.train_data: Dataset | None = None
        self.eval_datasets: dict[str, Dataset] = {}
        self.start_epoch: int | None = None
        self.final_epoch: int | None = None
        self.initial_learning_rate = 1.0
        self.batch_size: Any = None
        self.max_seqs = -1
        self.max_seq_length: Any = 0
        self.use_dynamic_train_flag = False
        self.use_eval_flag = True
        self.graph: NetworkGraph | None = None
        self.event_logs = EventLogs(self.config)
        self._checked_datasets: set[int] = set()

    @property
    def network(self) -> TFNetwork | None:
        """None before it is built."""
        return self.graph and self.graph.network

    @property
    def tf_session(self) -> v1.Session | None:
        """None before the network is built."""
        return self.graph and self.graph.session

    @property
    def updater(self) -> Updater | None:
        """None if this is not a training."""
        return self.graph and self.graph.updater

    # Datasets

    @property
    def dev_data(self) -> Dataset | None:
        """The evaluation dataset ``dev``."""
        return self.eval_datasets.get("dev")

    @dev_data.setter
    def dev_data(self, dataset: Dataset | None) -> None:
        self._set_eval_dataset("dev", dataset)

    @property
    def eval_data(self) -> Dataset | None:
        """The evaluation dataset ``eval``."""
        return self.eval_datasets.get("eval")

    @eval_data.setter
    def eval_data(self, dataset: Dataset | None) -> None:
        self._set_eval_dataset("eval", dataset)

    def _set_eval_dataset(self, name: str, dataset: Dataset | None) -> None:
        if dataset is None:
            self.eval_datasets.pop(name, None)
        else:
            self.eval_datasets[name] = dataset

    def get_eval_datasets(self) -> dict[str, Dataset]:
        """
        :return: name -> dataset, in the order of evaluation
        """
        return self.eval_datasets

    def make_batches(
        self,
        dataset: Dataset,
        *,
        name: str | None = None,
        batch_size: Any = None,
        keep_seqs_apart: bool = False,
        eval: bool = True,
    ) -> BatchSetGenerator:
        """
        :param dataset: its epoch has been started
        :param name: "train" gets all limits of the config, "dev" that of the sequence length, others none of them
        :param batch_size: default: that of the config
        :param keep_seqs_apart: also if the network is not recurrent
        :param eval: losses are wanted
        :return: the batches of the epoch, at least one
        :raises UserError: there is none
        """
        opts: dict[str, Any] = {}
        config = self.config
        if name in ("train", "dev"):
            opts["max_seq_length"] = self.max_seq_length
        if name == "train":
            opts.update(
                min_seq_length=number_or_per_key(config, "min_seq_length", 0),
                max_pad_size=number_or_per_key(config, "max_pad_size", None),
                seq_drop=config.float("seq_drop", 0.0),
                shuffle_batches=config.bool("shuffle_batches", False),
            )
        batches = dataset.generate_batches(
            recurrent_net=keep_seqs_apart or self.graph.is_recurrent(),
            batch_size=self.batch_size if batch_size is None else batch_size,
            max_seqs=self.max_seqs,
            used_data_keys=self.get_data_keys(dataset, eval=eval),
            **opts,
        )
        if not batches.has_more():
            raise UserError(
                f"{dataset.describe()} has nothing to work on in epoch {dataset.epoch}. Sequences: {batches.counts}. "
                "Check its files and filters, and the limits of the sequence length."
            )
        return batches

    def get_data_keys(self, dataset: Dataset, *, eval: bool) -> set[str]:
        """
        :param dataset: its epoch has been started
        :param eval: losses are wanted. Without them, targets that the dataset does not have are not needed.
        :return: data keys that the network wants of the dataset
        """
        return self._data_keys(self.network, dataset, eval=eval)

    @staticmethod
    def _data_keys(network: TFNetwork, dataset: Dataset, *, eval: bool) -> set[str]:
        keys = network.get_used_data_keys()
        if eval:
            return keys
        extern_data = network.extern_data.data
        delivered = set(dataset.get_data_keys())
        return {key for key in keys if key in delivered or extern_data[key].available_for_inference}

    def check_dataset(self, dataset: Dataset, *, eval: bool = True) -> None:
        """
        :param dataset: its epoch has been started
        :param eval: see :func:`get_data_keys`
        :raises ConfigError: it does not deliver what ``extern_data`` says
        """
        if id(dataset) not in self._checked_datasets:
            check_extern_data(self.network.extern_data, dataset, self.get_data_keys(dataset, eval=eval))
            self._checked_datasets.add(id(dataset))

    # Set up

    def init_train_from_config(
        self,
        config: Config | None = None,
        train_data: Dataset | None = None,
        dev_data: Dataset | None = None,
        eval_data: Dataset | None = None,
    ) -> None:
        """
        Reads the options of a training, builds the network, and loads the newest model if there is one.

        :param config: default: that of the constructor
        :param train_data: initialized; not needed if only :func:`eval_model` follows
        :param dev_data: initialized
        :param eval_data: initialized
        """
        self.config = config = config or self.config
        self._check_options(config)
        self.train_data, self.dev_data, self.eval_data = train_data, dev_data, eval_data
        for name, opts in (config.typed_value("eval_datasets") or {}).items():
            # only a name: the defaults of dev and eval, like their order by length, are not for these
            self.eval_datasets[name] = init_dataset(opts, default_kwargs={"name": name})
        self.max_seq_length = number_or_per_key(config, "max_seq_length", 0)
        self.initial_learning_rate = config.float("learning_rate", 1.0)
        self.use_dynamic_train_flag = config.value("task", "train") in _TASKS_THAT_TRAIN
        self.learning_rate_control = load_learning_rate_control_from_config(config)
        self.init_network_from_config(config)
        if self.start_epoch is not None and self.start_epoch > 1:
            self._warn_if_scores_are_gone()
        if self.start_epoch is not None and not self._is_dry_run:
            self._remove_what_a_killed_run_left()

    @staticmethod
    def _check_options(config: Config) -> None:
        """Rather fail now than when the graph is built, or at the end of an epoch."""
        CleanupOptions.from_config(config)
        for key in ("max_seq_length", "min_seq_length", "max_pad_size"):
            number_or_per_key(config, key, None)
        _save_interval(config)

    def _warn_if_scores_are_gone(self) -> None:
        filename = self.learning_rate_control.filename
        if filename and not os.path.exists(filename):
            print(
                "warning: the training goes on at epoch %i, but there is no learning_rate_file %r: scores and learning "
                "rates of the epochs before are not known" % (self.start_epoch, filename),
                file=log.v2,
            )

    def _remove_what_a_killed_run_left(self) -> None:
        for path in (self.model_filename, self.learning_rate_control.filename):
            if path:
                remove_stale_temp_files(path)
        if self.model_filename:
            delete_old_optimizer_states(self.model_filename, self.start_epoch - 1)

    def init_network_from_config(
        self,
        config: Config | None = None,
        *,
        dataset: Dataset | None = None,
        net_dict_post_proc: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        """
        Builds the network and loads the model that the config wants.

        :param config: default: that of the constructor
        :param dataset: initialized; ``extern_data`` is that of this dataset if the config says nothing about it.
            Default: of the training, or the first evaluation dataset
        :param net_dict_post_proc: may change the net dict
        """
        self.config = config = config or self.config
        self.model_filename = config.value("model", None)
        self.batch_size = number_or_per_key(config, "batch_size", 1, positive=True)
        self.max_seqs = config.int("max_seqs", -1)
        self.final_epoch = self.config_get_final_epoch(config)
        self.check_start_batch(config)
        epoch, filename, values, optimizer_values = self._choose_and_read_checkpoint()
        if config.value("task", "train") == "train":
            self.start_epoch = (epoch or 0) + 1
            self.epoch = self.start_epoch
        else:
            self.epoch = epoch or (1 if filename is None else 0)
        trains = config.value("task", "train") in _TASKS_THAT_TRAIN
        to_preload = files_to_preload(config, training=trains, first_epoch=self.epoch == 1)
        if config.typed_value("extern_data") is None and not config.has("num_outputs"):
            dataset = dataset or self.train_data or next(iter(self.eval_datasets.values()), None)
            if dataset is not None:
                set_config_extern_data_from_dataset(config, dataset)
        net_dict = config.typed_value("network")
        if not isinstance(net_dict, dict | list):
            raise ConfigError(f"The config needs network = {{...}}, a dict of layers, but it is {net_dict!r}.")
        if isinstance(net_dict, dict) and net_dict.get("#config"):
            keys = ", ".join(net_dict["#config"])
            raise ConfigError(f'network["#config"] is not supported yet. Set in the config itself: {keys}')
        self._build(net_dict_post_proc(net_dict.copy()) if net_dict_post_proc else net_dict)
        preload(to_preload, self.graph.network, self.graph.session)
        if filename is None:
            if not trains:
                print("No model will be loaded. Randomly initializing model.", file=log.v2)
        else:
            self.graph.set_model_values(values, filename=filename)
            if self.updater is not None and epoch:
                self.graph.set_optimizer_values(optimizer_values, filename=filename + OPTIM_SUFFIX)
        self.global_train_step = self.graph.get_global_train_step()

    def is_requesting_for_gpu(self) -> bool:
        """
        :return: whether this runs on a GPU
        """
        return self.config.value("device", None) == "gpu"

    def _build(self, net_dict: Mapping[str, Any]) -> None:
        if self.graph is not None:
            self.graph.close()
        self._checked_datasets.clear()
        self.graph = NetworkGraph(
            self.config,
            net_dict,
            epoch=self.epoch,
            initial_learning_rate=self.initial_learning_rate if self.use_dynamic_train_flag else None,
            eval_flag=self.use_eval_flag,
            search_flag=self.use_search_flag,
            on_constructed=self._check_datasets,
        )
        if self.use_dynamic_train_flag and _mentions(net_dict, "keep_over_epoch_no_init"):
            print(
                "Note: 'keep_over_epoch_no_init': the kept states are not in the checkpoints, so a training that goes "
                "on from one differs from an unbroken one.",
                file=log.v2,
            )

    def _check_datasets(self, network: TFNetwork) -> None:
        """What can be known before the first epoch, before more is built."""
        for dataset in [self.train_data, *self.eval_datasets.values()]:
            if dataset is not None:
                check_extern_data(network.extern_data, dataset, self._data_keys(network, dataset, eval=True))

    # Loading

    @classmethod
    def get_existing_models(cls, config: Config, for_training: bool | None = None) -> dict[int, str]:
        """See the base class. Without those that were found damaged."""
        models = super().get_existing_models(config, for_training)
        return {epoch: prefix for epoch, prefix in models.items() if prefix not in cls._damaged_checkpoints}

    def _choose_and_read_checkpoint(self) -> tuple[int | None, str | None, Values, Values]:
        """
        A training that would go on from a damaged checkpoint of its own goes on from the one before.

        :return: epoch, prefix (None: nothing to load), values of the model, values of the optimizer (may be empty)
        :raises UserError: there is none before. Epoch 1 would soon put new models in the place of those that may be
            saved yet.
        """
        goes_on_by_itself = (
            self.config.value("task", "train") == "train"
            and self.config.value("start_epoch", "auto") == "auto"
            and self.config.int("load_epoch", -1) <= 0
        )
        while True:
            if goes_on_by_itself:
                self._raise_if_all_are_damaged()
            epoch, prefix = self.get_epoch_model(self.config)
            if prefix is None:
                return epoch, None, {}, {}
            try:
                return epoch, prefix, read_checkpoint(prefix), self._read_optimizer_values(prefix)
            except DamagedCheckpointError as exc:
                is_own = self.get_existing_models(self.config).get(epoch) == prefix
                if not (goes_on_by_itself and is_own):
                    raise
                print("%s\nGoing on without it, from the one before." % exc, file=log.v1)
                self._damaged_checkpoints.add(prefix)

    def _raise_if_all_are_damaged(self) -> None:
        stored = super().get_existing_models(self.config)
        if stored and not self.get_existing_models(self.config):
            raise UserError(
                f"All {len(stored)} checkpoints of model {self.model_filename!r} are damaged. "
                "Remove them, or set start_epoch = 1 to start anew."
            )

    def _read_optimizer_values(self, prefix: str) -> Values:
        prefix += OPTIM_SUFFIX
        return read_checkpoint(prefix) if self.use_dynamic_train_flag and checkpoint_exists(prefix) else {}

    def load_model(self, epoch: int | None = None, filename: str | None = None) -> None:
        """
        Sets the parameters of the network, and ``global_step``.

        :param epoch: of this training; not together with ``filename``
        :param filename: prefix, or one of the files
        """
        assert (epoch is None) != (filename is None), "give epoch or filename"
        filename = self.get_epoch_model_filename(epoch) if filename is None else strip_checkpoint_suffix(filename)
        print("Load model %s" % filename, file=log.v4)
        self.graph.set_model_values(read_checkpoint(filename), filename=filename)
        self.global_train_step = self.graph.get_global_train_step()

    # Saving

    @property
    def _is_dry_run(self) -> bool:
        """Nothing is saved, no file is removed."""
        return self.config.bool("dry_run", False)

    def save_model(self, filename: str | None = None) -> None:
        """
        Saves the parameters and ``global_step``. With ``dry_run`` nothing is saved.

        :param filename: prefix. Default: that of the current epoch
        """
        filename = filename or self.get_epoch_model_filename()
        if self._is_dry_run:
            return
        print("Save model under %s" % filename, file=log.v4)
        self.graph.save_model(filename)
        self._damaged_checkpoints.discard(filename)
        write_checkpoint_state(filename)

    def _save_epoch(self) -> None:
        """Saves all that belongs to the current epoch, in the order that lets a killed run go on exactly."""
        if self._is_dry_run:
            return
        is_model_due = bool(self.model_filename) and (
            self.epoch % _save_interval(self.config) == 0 or self.epoch == self.final_epoch
        )
        if is_model_due:
            filename = self.get_epoch_model_filename()
            remove_file(filename + INDEX_SUFFIX)  # of a former run: does not belong to what comes now
            self.graph.save_optimizer(filename + OPTIM_SUFFIX)
        self.learning_rate_control.save()
        if is_model_due:
            self.save_model()
            delete_old_optimizer_states(self.model_filename, self.epoch)

    # Training

    def train(self) -> None:
        """Trains up to the final epoch."""
        print("start training at epoch %i" % self.start_epoch, file=log.v3)
        print("using batch size: %r, max seqs: %i" % (self.batch_size, self.max_seqs), file=log.v4)
        print("learning rate control: %s" % self.learning_rate_control, file=log.v4)
        for line in describe_objective(self.network.get_losses()):
            print(line, file=log.v4)
        self._evaluate_what_is_missing(self.start_epoch - 1)
        if self.start_epoch > self.final_epoch:
            print(
                "No epochs to train, start_epoch: %i, final_epoch: %i" % (self.start_epoch, self.final_epoch),
                file=log.v1,
            )
            return
        for epoch in [e for e in self.learning_rate_control.epoch_data if e >= self.start_epoch]:
            self.learning_rate_control.forget_epoch_scores(epoch)
        for epoch in range(self.start_epoch, self.final_epoch + 1):
            self.epoch = epoch
            self._grow_max_seq_length()
            self._init_seq_order("train", self.train_data)
            for name, dataset in self.eval_datasets.items():
                self._init_seq_order(name, dataset)
            self.init_train_epoch()
            self.train_epoch()
        print("Finished training in epoch %i." % self.epoch, file=log.v3)

    def _evaluate_what_is_missing(self, epoch: int) -> None:
        """A former run may have ended behind the training of an epoch, but before all its evaluations."""
        if epoch < 1 or not self.config.value("learning_rate_file", None):
            return
        missing = [name for name in self.eval_datasets if not self.is_dataset_evaluated(name, epoch)]
        if not missing or epoch not in self.learning_rate_control.epoch_data:
            return
        self.epoch = epoch
        for name in missing:
            print("Last epoch model not yet evaluated on %s. Doing that now." % name, file=log.v4)
        self.eval_model(skip_already_evaluated=True)

    def _grow_max_seq_length(self) -> None:
        """The limit is a function of the epoch, so it is the same after a restart."""
        growth = self.config.float("inc_seq_length", 0)
        limit = number_or_per_key(self.config, "max_seq_length", 0)
        if growth and limit and not isinstance(limit, NumbersDict) and math.isfinite(limit):
            self.max_seq_length = int(limit + growth * self.epoch)
            print("increasing sequence lengths to %i" % self.max_seq_length, file=log.v3)

    def _init_seq_order(self, name: str, dataset: Dataset) -> None:
        dataset.init_seq_order(epoch=self.epoch)
        self.check_dataset(dataset)

    def init_train_epoch(self) -> None:
        """Sets the learning rate of the current epoch."""
        self.learning_rate = self.learning_rate_control.get_learning_rate_for_epoch(self.epoch)
        self.updater.set_learning_rate(self.learning_rate, session=self.tf_session)

    def train_epoch(self) -> None:
        """Trains one epoch, saves it, evaluates it. The sequence orders of all datasets have been set."""
        print("start %s with learning rate %s ..." % (self.get_epoch_str(), self.learning_rate), file=log.v4)
        if self.epoch == 1 and self.config.bool("save_epoch1_initial_model", False) and self.model_filename:
            filename = self.get_epoch_model_filename(epoch=0)
            print("save initial epoch1 model %s" % filename, file=log.v4)
            self.save_model(filename)
        start_time = time.monotonic()
        meta = {
            "global_train_step": self.global_train_step,
            "effective_learning_rate": self._get_effective_learning_rate(),
        }
        trainer = Runner(
            self,
            dataset_name="train",
            dataset=self.train_data,
            batches=self.make_batches(self.train_data, name="train"),
            train=True,
        )
        trainer.run("train epoch %s" % self.epoch)
        if not trainer.finalized:
            self._training_failed(trainer, suffix=".crash_%i" % trainer.device_crash_batch)
        if not all(map(math.isfinite, trainer.score.values())):
            print("Model seems broken, got inf or nan final score: %s" % trainer.score, file=log.v1)
            if self.config.bool("stop_on_nonfinite_train_score", True):
                self._training_failed(trainer, suffix=".broken")
        self.global_train_step = self.graph.get_global_train_step()
        elapsed = time.monotonic() - start_time
        meta.update(epoch_num_train_steps=trainer.num_steps, epoch_train_time_secs=round(elapsed))
        self._set_epoch_scores("train", trainer)
        self.learning_rate_control.set_epoch_meta(self.epoch, meta)
        self._save_epoch()
        print(
            "%s score: %s error: %s elapsed: %s"
            % (self.get_epoch_str(), format_score(trainer.score), format_score(trainer.error), hms(elapsed)),
            file=log.v1,
        )
        self.eval_model(init_seq_order=False)
        if self.config.bool_or_other("cleanup_old_models", None):
            self.cleanup_old_models()

    def _training_failed(self, trainer: Runner, *, suffix: str) -> None:
        """
        :param suffix: of the file name under which the parameters are saved for a look at them
        :raises BaseException: always
        """
        exc = trainer.run_exception or UserError("The final score of the training is not finite: %s" % trainer.score)
        wanted = isinstance(exc, KeyboardInterrupt | SystemExit)
        if self.model_filename and not wanted and not self._is_dry_run:
            filename = self.get_epoch_model_filename() + suffix
            print("Save model under %s" % filename, file=log.v4)
            try:
                self.graph.save_model(filename)
            except UserError as save_exc:  # must not hide what happened first
                print(save_exc, file=log.v1)
        print("Trainer not finalized, quitting. (pid %i)" % os.getpid(), file=log.v1)
        raise exc

    def _get_effective_learning_rate(self) -> float:
        if not self.config.typed_value("dynamic_learning_rate"):
            return self.learning_rate
        return float(str(self.tf_session.run(self.updater.effective_learning_rate)))  # the shortest that is the same

    def _set_epoch_scores(self, name: str, runner: Runner) -> None:
        scores = {"%s_score" % name: runner.score, "%s_error" % name: runner.error}
        self.learning_rate_control.set_epoch_error(self.epoch, {key: value for key, value in scores.items() if value})

    # Evaluation and forwarding

    def eval_model(
        self,
        output_file: str | None = None,
        output_per_seq_file: str | None = None,
        loss_name: str | None = None,
        output_per_seq_format: Any = None,
        output_per_seq_file_format: str = "txt",
        skip_already_evaluated: bool = False,
        init_seq_order: bool = True,
        lr_control_update_scores: bool = True,
    ) -> None:
        """See the base class; files by sequence are those of :mod:`returnn.tf.eval_per_seq`."""
        if output_per_seq_file and len(self.eval_datasets) != 1:
            raise ConfigError(
                "eval_output_file_per_seq: exactly one dataset to evaluate is needed, but there are %i: %s"
                % (len(self.eval_datasets), ", ".join(self.eval_datasets) or "none")
            )
        results: dict[str, dict[str, dict[str, float]]] = {}
        report = []
        for name, dataset in self.eval_datasets.items():
            if skip_already_evaluated and self.is_dataset_evaluated(name):
                continue
            if init_seq_order:
                self._init_seq_order(name, dataset)
            per_seq = None
            if output_per_seq_file:
                per_seq = PerSeqScores(
                    self.network,
                    dataset,
                    loss_name=loss_name,
                    fields=output_per_seq_format or ["score"],
                    file_format=output_per_seq_file_format,
                )
            tester = self._run_tester(name, dataset, per_seq)
            if per_seq is not None:
                per_seq.write(output_per_seq_file)
            results[name] = {"score": tester.score, "error": tester.error}
            report.append("%s: score %s error %s" % (name, format_score(tester.score), format_score(tester.error)))
            if lr_control_update_scores:
                self._set_epoch_scores(name, tester)
                if not self._is_dry_run:
                    self.learning_rate_control.save()
        if report:
            print(" ".join(report), file=log.v1)
        if output_file:
            with atomic_write(output_file) as f:
                f.write(better_repr(results) + "\n")

    def _run_tester(self, name: str, dataset: Dataset, per_seq: PerSeqScores | None) -> Runner:
        """
        :param name: of the dataset
        :param dataset: its epoch has been started
        :param per_seq: gets the values of each sequence
        :return: of a pass that ended well
        """
        tester = Runner(
            self,
            dataset_name=name,
            dataset=dataset,
            batches=self.make_batches(dataset, name=name, keep_seqs_apart=per_seq is not None),
            extra_fetches=per_seq and per_seq.fetches,
            extra_fetches_callback=per_seq and (lambda **values: per_seq.add(tester.step_meta, values)),
        )
        tester.run("%s %r eval" % (self.get_epoch_str(), name))
        if not tester.finalized:
            print("Tester not finalized, quitting. (pid %i)" % os.getpid(), file=log.v1)
            raise tester.run_exception
        return tester

    def forward_to_hdf(
        self,
        data: Dataset,
        output_file: str,
        combine_labels: str = "",
        batch_size: int = 0,
        output_layer: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """See the base class; ``combine_labels`` must be empty."""
        if combine_labels:
            raise ConfigError("combine_labels is not supported. Remove it from the config.")
        forward_to_hdf(
            self,
            data,
            output_file,
            batch_size=batch_size or self.batch_size,
            output_layer=output_layer,
            overwrite=overwrite,
        )

    def forward_single(self, dataset: Dataset, seq_idx: int, output_layer_name: str | None = None) -> numpy.ndarray:
        """
        :param dataset: its epoch has been started
        :param seq_idx: in this epoch
        :param output_layer_name: default: the output layer of the network
        :return: its output for one sequence, ``(time, dim)``
        """
        return forward_single(self, dataset, seq_idx, output_layer=output_layer_name)

    def search(
        self,
        dataset: Dataset,
        do_eval: bool = True,
        output_layer_names: str | Sequence[str] = "output",
        output_file: str | None = None,
        output_file_format: str = "txt",
    ) -> None:
        """See the base class, and :func:`returnn.tf.search.search`."""
        search(
            self,
            dataset,
            do_eval=do_eval,
            output_layer_names=output_layer_names,
            output_file=output_file or None,
            output_file_format=output_file_format,
        )

    def search_single(self, dataset: Dataset, seq_idx: int, output_layer_name: str | None = None) -> Hypotheses:
        """See :func:`returnn.tf.search_single.search_single`."""
        return search_single(self, dataset, seq_idx, output_layer=output_layer_name)

    def search_single_seq(self, sources: Sequence[Any], output_layer_name: str | None = None) -> Hypotheses:
        """See :func:`returnn.tf.search_single.search_single_seq`."""
        return search_single_seq(self, sources, output_layer=output_layer_name)

    def search_single_string_to_string_seq(
        self, sources: str | Sequence[str], output_layer_name: str | None = None
    ) -> list[tuple[float, str]]:
        """See :func:`returnn.tf.search_single.search_single_string_to_string_seq`."""
        return search_single_string_to_string_seq(self, sources, output_layer=output_layer_name)

    def run_single(
        self,
        dataset: Dataset,
        seq_idx: int,
        output_dict: Mapping[str, Any],
        ext_feed_dict: Mapping[Any, Any] | None = None,
    ) -> dict[str, Any]:
        """See :func:`returnn.tf.single.run_single`."""
        return run_single(self, dataset, seq_idx, output_dict, ext_feed_dict)

    def get_specific_feed_dict(self, dataset: Dataset, seq_idx: int) -> dict[Any, Any]:
        """See :func:`returnn.tf.single.get_specific_feed_dict`."""
        return get_specific_feed_dict(self, dataset, seq_idx)

    @staticmethod
    def format_score(score: Mapping[str, float]) -> str:
        """
        :return: see :func:`returnn.tf.scores.format_score`
        """
        return format_score(score)

    def finalize(self, error_occurred: bool = False) -> None:
        """
        Closes files and session.

        :param error_occurred: the program ends because of an error
        """
        self.event_logs.close()
        if self.graph is not None:
            self.graph.close()
            self.graph = None


def _save_interval(config: Config) -> int:
    """
    :return: the model is saved each so many epochs
    """
    epochs = config.int("save_interval", 1)
    if epochs is None:
        return 1
    if epochs < 1:
        raise ConfigError(f"save_interval = {epochs}: must be 1 or more, the epochs from one saved model to the next.")
    return epochs


def _mentions(value: Any, text: str) -> bool:
    """
    :return: whether the text is somewhere in nested dicts and lists
    """
    if isinstance(value, Mapping):
        return any(_mentions(item, text) for item in value.values())
    if isinstance(value, list | tuple):
        return any(_mentions(item, text) for item in value)
    return isinstance(value, str) and value == text
