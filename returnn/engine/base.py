"""What the engines of all backends share: epochs, names of model files, from where to go on, and old models."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from returnn.config import Config, get_global_config
from returnn.engine.checkpoint_files import (
    OPTIM_SUFFIX,
    delete_checkpoint,
    delete_old_crash_checkpoints,
    epoch_of_checkpoint,
    strip_checkpoint_suffix,
)
from returnn.engine.model_cleanup import CleanupOptions, epochs_to_keep
from returnn.learning_rate_control import LearningRateControl, load_learning_rate_control_from_config
from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.format import human_bytes_size
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from returnn.datasets import Dataset

TASKS_WITH_MODEL = (
    "analyze", "compute_priors", "eval", "forward", "hpx", "search", "search_server",
)  # fmt: skip
"""Tasks that make no sense with random parameters."""


class EngineBase:
    """Epochs count from 1. The model of one is saved under ``<model>.%03d``, with suffixes that the backend adds."""

    model_suffix: ClassVar[str] = ".index"
    """A model exists if this file exists: the last one to be written, the first one to be deleted."""
    training_suffix: ClassVar[str | None] = None
    """To go on with training, this file must exist too."""

    def __init__(self, config: Config | None = None):
        """
        :param config: default: the global one
        """
        if config is None:
            config = get_global_config(auto_create=True)
            assert config is not None
        self.config: Config = config
        self.model_filename: str | None = config.value("model", None)
        self.epoch = 0
        """The current one; 0 before the first."""
        self.global_train_step: int | None = None
        """Of all epochs; None before there is a network."""
        self.use_search_flag = False
        """To be set before the network is built: build it for search."""
        self.learning_rate = 0.0
        """Of the current epoch."""
        self.learning_rate_control: LearningRateControl | None = None

    # What the tasks need of a backend's engine

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
        :param train_data: initialized, like the others
        """
        raise NotImplementedError

    def init_network_from_config(self, config: Config | None = None, *, dataset: Dataset | None = None) -> None:
        """
        Builds the network, and loads the model that the config wants.

        :param config: default: that of the constructor
        :param dataset: initialized; ``extern_data`` is that of this dataset if the config says nothing about it
        """
        raise NotImplementedError

    def train(self) -> None:
        """Trains up to the final epoch."""
        raise NotImplementedError

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
        """
        Computes losses and errors on all evaluation datasets.

        :param output_file: gets them
        :param output_per_seq_file: gets those of each sequence
        :param loss_name: which loss, for ``output_per_seq_file``
        :param output_per_seq_format: what of each sequence, for ``output_per_seq_file``
        :param output_per_seq_file_format: ``"txt"`` or ``"py"``
        :param skip_already_evaluated: leave out datasets that have scores of the current epoch
        :param init_seq_order: start the current epoch in the datasets
        :param lr_control_update_scores: put the scores into the learning-rate file
        """
        raise NotImplementedError

    def forward_to_hdf(
        self,
        data: Dataset,
        output_file: str,
        combine_labels: str = "",
        batch_size: int = 0,
        output_layer: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """
        Writes the output of a layer for each sequence.

        :param data: initialized
        :param output_file: must not exist, unless ``overwrite``
        :param combine_labels: puts the labels of a sequence together, with this between them
        :param batch_size: frames of a batch; 0: the option ``batch_size``
        :param output_layer: default: the output layer of the network
        :param overwrite: the file may exist, and is replaced when the new one is complete
        """
        raise NotImplementedError

    def search(
        self,
        dataset: Dataset,
        do_eval: bool = True,
        output_layer_names: str | Sequence[str] = "output",
        output_file: str | None = None,
        output_file_format: str = "txt",
    ) -> None:
        """
        Shows, and writes, what the network recognizes in each sequence. It was built with ``use_search_flag``.

        :param dataset: initialized
        :param do_eval: with losses, errors, and the references in the log
        :param output_layer_names: one, or several
        :param output_file: must not exist
        :param output_file_format: ``"txt"`` or ``"py"``
        """
        raise NotImplementedError

    def save_model(self, filename: str | None = None) -> None:
        """
        Saves the parameters and the global step.

        :param filename: prefix; default: that of the current epoch
        """
        raise NotImplementedError

    def finalize(self, error_occurred: bool = False) -> None:
        """
        Closes what the engine has opened.

        :param error_occurred: the program ends with an error
        """

    # Names

    @classmethod
    def epoch_model_filename(cls, model_filename: str, epoch: int, is_pretrain: bool = False) -> str:
        """
        :param model_filename: the option ``model``
        :return: prefix of the files of that epoch: ``net`` -> ``net.012`` or ``net.pretrain.012``
        """
        return model_filename + (".pretrain" if is_pretrain else "") + ".%03d" % epoch

    def get_epoch_model_filename(self, epoch: int | None = None) -> str:
        """
        :param epoch: default: the current one
        :return: prefix of its files
        """
        assert self.model_filename
        return self.epoch_model_filename(self.model_filename, self.epoch if epoch is None else epoch)

    def get_epoch_str(self) -> str:
        """
        :return: the current epoch, for log lines
        """
        return f"epoch {self.epoch}"

    # From where to go on

    @classmethod
    def config_get_final_epoch(cls, config: Config) -> int:
        """
        :return: the last epoch of training, inclusive; or a later one that is to be loaded
        """
        return max(_int_option(config, "num_epochs", 5), _int_option(config, "load_epoch", -1))

    @classmethod
    def get_existing_models(cls, config: Config, for_training: bool | None = None) -> dict[int, str]:
        """
        :param for_training: only those from which training can go on. Default: if the task is ``train``.
        :return: epoch -> prefix, ascending, up to the final epoch
        """
        model_filename = config.value("model", None)
        if not model_filename:
            return {}
        if for_training is None:
            for_training = config.value("task", "train") == "train"
        suffixes = [cls.model_suffix] + ([cls.training_suffix] if for_training and cls.training_suffix else [])
        folder, base = os.path.split(model_filename)
        pattern = re.compile(
            rf"{re.escape(base)}(?P<pretrain>\.pretrain)?\.(?P<epoch>\d+){re.escape(cls.model_suffix)}"
        )
        try:
            names = os.listdir(folder or ".")
        except FileNotFoundError:
            return {}
        models: dict[int, str] = {}
        for match in filter(None, map(pattern.fullmatch, names)):
            epoch, is_pretrain = int(match["epoch"]), bool(match["pretrain"])
            prefix = cls.epoch_model_filename(model_filename, epoch, is_pretrain)
            if not 1 <= epoch <= cls.config_get_final_epoch(config) or (is_pretrain and epoch in models):
                continue
            if all(os.path.exists(prefix + suffix) for suffix in suffixes):
                models[epoch] = prefix
        return dict(sorted(models.items()))

    @classmethod
    def get_epoch_model(cls, config: Config) -> tuple[int | None, str | None]:
        """Which model to load.

        A training goes on from its own last model, whatever else is configured, unless ``start_epoch`` is a number.

        :return: epoch, prefix. Prefix None: random parameters. Epoch None: that of the file is unknown or does not
            count; training starts with epoch 1.
        :raises ConfigError: the file does not exist, or the task needs one and there is none
        """
        task = config.value("task", "train")
        start_epoch = _start_epoch(config)
        existing = cls.get_existing_models(config)
        load_epoch = _int_option(config, "load_epoch", -1)
        load = cls._model_to_load(config, existing)
        if load and (task != "train" or start_epoch is not None):
            if task == "train":
                return None, load
            return (load_epoch if load_epoch > 0 else epoch_of_checkpoint(load)), load
        if existing:
            if load:
                print("note: there is a 'load' which we ignore because of existing model", file=log.v4)
            epoch, prefix = cls._choose_existing(existing, start_epoch)
        elif task == "train" and config.value("import_model_train_epoch1", "") and start_epoch in (None, 1):
            epoch, prefix = 0, cls._existing_prefix(config, "import_model_train_epoch1")
        elif load:
            epoch, prefix = (load_epoch if load_epoch > 0 else epoch_of_checkpoint(load)), load
        else:
            epoch, prefix = None, None
            if start_epoch is not None and start_epoch > 1:
                print(f"warning: start_epoch {start_epoch} has no effect, there are no models", file=log.v2)
        if prefix is None and task in TASKS_WITH_MODEL and not config.is_true("allow_random_model_init"):
            raise ConfigError(
                f"Task {task!r} needs a trained model, but under model={config.value('model', None)!r} there is none"
                f" up to epoch {cls.config_get_final_epoch(config)}. Set the option 'load' to a model file,"
                " or 'model' and 'load_epoch' to those of a training."
            )
        return epoch, prefix

    @classmethod
    def get_train_start_epoch(cls, config: Config) -> int:
        """
        :return: the first epoch to train
        """
        cls.check_start_batch(config)
        epoch, _ = cls.get_epoch_model(config)
        return (epoch or 0) + 1

    @staticmethod
    def check_start_batch(config: Config) -> None:
        """
        :raises ConfigError: an epoch should begin in its middle
        """
        start_batch = config.value("start_batch", "auto")
        if start_batch != "auto":
            raise ConfigError(f"custom start_batch {start_batch!r} not supported: it must be 'auto'.")

    @classmethod
    def _model_to_load(cls, config: Config, existing: dict[int, str]) -> str | None:
        """By the options ``load`` and ``load_epoch``."""
        if config.value("load", ""):
            return cls._existing_prefix(config, "load")
        load_epoch = _int_option(config, "load_epoch", -1)
        if load_epoch <= 0:
            return None
        if load_epoch not in existing:
            raise ConfigError(
                f"config option load_epoch={load_epoch}: there is no model of that epoch."
                f" Stored under model={config.value('model', None)!r}: epochs {_short_list(list(existing))}."
            )
        return existing[load_epoch]

    @classmethod
    def _existing_prefix(cls, config: Config, key: str) -> str:
        """Of the model file in this option; with or without suffix there."""
        value = config.value(key, "")
        prefix = strip_checkpoint_suffix(value)
        if os.path.exists(prefix + cls.model_suffix):
            return prefix
        folder, base = os.path.split(prefix)
        names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        models = [name.removesuffix(cls.model_suffix) for name in names if name.endswith(cls.model_suffix)]
        raise ConfigError(
            f"config option {key}={value!r}, file {prefix + cls.model_suffix!r} does not exist"
            f".{did_you_mean(base, models)}"
        )

    @staticmethod
    def _choose_existing(existing: dict[int, str], start_epoch: int | None) -> tuple[int | None, str | None]:
        last = max(existing)
        if start_epoch is None:
            return last, existing[last]
        if start_epoch == 1:
            print(f"warning: there is an existing model: {(last, existing[last])}", file=log.v4)
            return None, None
        if last != start_epoch - 1:
            print(f"warning: start_epoch {start_epoch} but there is {(last, existing[last])}", file=log.v4)
        if start_epoch - 1 not in existing:
            raise ConfigError(
                f"config option start_epoch={start_epoch}: there is no model of epoch {start_epoch - 1}."
                f" Stored: epochs {_short_list(list(existing))}."
            )
        return start_epoch - 1, existing[start_epoch - 1]

    # Scores

    def is_dataset_evaluated(self, dataset_name: str, epoch: int | None = None) -> bool:
        """
        :param dataset_name: ``"dev"``, ...
        :param epoch: default: the current one
        :return: whether the learning-rate control has a score of it
        """
        assert self.learning_rate_control
        keys = self.learning_rate_control.get_epoch_error_dict(self.epoch if epoch is None else epoch)
        pattern = re.compile(rf"{re.escape(dataset_name)}_(?:score|error|loss)(?:_.*)?", re.DOTALL)
        return any(pattern.fullmatch(key) for key in keys)

    # Old models

    @staticmethod
    def delete_model(filename: str) -> int:
        """Removes the files of one model, and its optimizer state. A backend with other files overrides this.

        :param filename: prefix
        :return: bytes freed
        """
        return delete_checkpoint(filename) + delete_checkpoint(filename + OPTIM_SUFFIX)

    def cleanup_old_models(self, ask_for_confirmation: bool = False, *, ask: Callable[[str], str] = input) -> None:
        """Deletes the models of most epochs, by the option ``cleanup_old_models``; and crash files but the last one.

        :param ask_for_confirmation: whether ``ask`` has to say "yes" before
        :param ask: shows a text and returns the answer
        """
        options = CleanupOptions.from_config(self.config)
        if self.learning_rate_control is None:
            self.learning_rate_control = load_learning_rate_control_from_config(self.config)
        existing = self.get_existing_models(self.config, for_training=False)
        delete = self._epochs_to_delete(existing, options)
        if self.config.is_true("dry_run"):
            print("Dry-run, will not delete models.", file=log.v2)
            return
        if delete and ask_for_confirmation and not _is_confirmed(ask):
            print("Not confirmed, will not delete models.", file=log.v2)
            return
        freed = sum(self.delete_model(existing[epoch]) for epoch in delete)
        if self.model_filename:
            freed += delete_old_crash_checkpoints(self.model_filename)
        if freed:
            print("Deleted %s." % human_bytes_size(freed), file=log.v2)

    def _epochs_to_delete(self, existing: dict[int, str], options: CleanupOptions) -> list[int]:
        assert self.learning_rate_control
        stored = list(existing)
        if max(options.keep_last_n, options.keep_best_n) >= len(stored):
            print(
                "Only %i epochs stored so far and keeping last %i epochs and best %i epochs,"
                " thus not cleaning up any epochs yet." % (len(stored), options.keep_last_n, options.keep_best_n),
                file=log.v2,
            )
            return []
        scores = {epoch: data.error for epoch, data in self.learning_rate_control.epoch_data.items()}
        if options.keep_best_n and not any(scores.get(epoch) for epoch in stored):
            print("No scores of the stored epochs are known, thus not cleaning up any epochs.", file=log.v2)
            return []
        keep = epochs_to_keep(stored, scores, options)
        delete = [epoch for epoch in stored if epoch not in keep]
        if not delete:
            print("%i epochs stored so far and keeping all." % len(stored), file=log.v2)
            return []
        print(f"We have stored models for epochs {_short_list(stored)} and keep epochs {sorted(keep)}.", file=log.v3)
        print(f"We will delete the models of epochs {delete}.", file=log.v3)
        return delete


def _int_option(config: Config, key: str, default: int) -> int:
    value = config.int(key, default)
    return default if value is None else value


def _start_epoch(config: Config) -> int | None:
    """The option ``start_epoch``; None for "auto"."""
    value = config.value("start_epoch", "auto")
    if value == "auto":
        return None
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"start_epoch must be 'auto' or a number from 1, but is {value!r}.")
    return int(value)


def _short_list(epochs: list[int]) -> str:
    """All, or the first and last three."""
    if len(epochs) <= 6:
        return str(epochs)
    return "[%s, ..., %s]" % (", ".join(map(str, epochs[:3])), ", ".join(map(str, epochs[-3:])))


def _is_confirmed(ask: Callable[[str], str]) -> bool:
    try:
        return ask("Delete those models? Confirm? [yes/no] ").strip().lower() in ("yes", "y")
    except EOFError:  # nobody there to ask
        return False
