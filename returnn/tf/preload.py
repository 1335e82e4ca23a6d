"""``preload_from_files``: parameters from the checkpoints of other models, before the model itself is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy

from returnn.config import Config
from returnn.engine.checkpoint_files import strip_checkpoint_suffix
from returnn.log import log
from returnn.tf.checkpoint import checkpoint_exists
from returnn.tf.compat import v1
from returnn.tf.network import TFNetwork
from returnn.tf.network.checkpoint_loader import CustomCheckpointLoader
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


@dataclass
class PreloadFile:
    """An entry of ``preload_from_files``."""

    filename: str
    """checkpoint, with or without suffix"""
    prefix: str = ""
    """only parameters with this text in their name, which is taken out of it: ``lm_`` for layers ``lm_..``"""
    ignore_missing: bool = False
    """parameters that the file does not have keep their initial values"""
    ignore_params: Collection[str] = ()
    """names, without prefix, that are not loaded"""
    ignore_params_prefixes: Collection[str] = ()
    """beginnings of such names"""
    var_name_mapping: Mapping[str, str] | None = None
    """name, without prefix -> name in the file"""
    init_for_train: bool = False
    """True: at the start of a training from nothing; False: for all tasks but training"""
    custom_missing_load_func: Callable[..., numpy.ndarray | None] | None = None
    """``f(name=, shape=, reader=)`` -> array or None, for what is not in the file"""

    def load(self, network: TFNetwork, session: v1.Session) -> None:
        """
        :param network: with parameters that this is for
        :param session: of its graph
        """
        CustomCheckpointLoader(
            filename=self.filename,
            saveable_params=network.get_params_list(),
            load_if_prefix=self.prefix,
            ignore_missing=self.ignore_missing,
            ignore_params=self.ignore_params,
            ignore_params_prefixes=self.ignore_params_prefixes,
            var_name_mapping=self.var_name_mapping,
            network=network,
            custom_missing_load_func=self.custom_missing_load_func,
        ).load_now(session)


def files_to_preload(config: Config, *, training: bool, first_epoch: bool) -> dict[str, PreloadFile]:
    """
    :param config: ``preload_from_files``
    :param training: the task trains
    :param first_epoch: no epoch of this training has been
    :return: what is to be loaded now, by key, sorted
    :raises ConfigError: lists all entries that are wrong, also of those that are not loaded now
    """
    declared = config.typed_value("preload_from_files") or {}
    entries, problems = {}, []
    for key, opts in sorted(declared.items()):
        try:
            entries[key] = _entry(opts)
        except ConfigError as exc:
            problems.append("preload_from_files[%r]: %s" % (key, exc))
    if problems:
        raise ConfigError("\n".join(problems))
    wanted = {
        key: entry
        for key, entry in entries.items()
        if ((training and first_epoch) if entry.init_for_train else not training)
    }
    for key, entry in wanted.items():
        if not checkpoint_exists(strip_checkpoint_suffix(entry.filename)):
            raise ConfigError("preload_from_files[%r]: there is no checkpoint %r" % (key, entry.filename))
    return wanted


def _entry(opts: Any) -> PreloadFile:
    if not isinstance(opts, dict):
        raise ConfigError('must be a dict with "filename", but is %r' % (opts,))
    known = [field.name for field in fields(PreloadFile)]
    unknown = sorted(key for key in opts if key not in known)
    if unknown:
        text = "; ".join('option "%s" is unknown.%s' % (key, did_you_mean(key, known)) for key in unknown)
        raise ConfigError("%s Options: %s" % (text, ", ".join(known)))
    if not isinstance(opts.get("filename"), str):
        raise ConfigError('"filename" must be the name of a checkpoint, but is %r' % (opts.get("filename"),))
    if not isinstance(opts.get("init_for_train", False), bool):
        raise ConfigError('"init_for_train" must be True or False, but is %r' % (opts["init_for_train"],))
    for key in ("ignore_params", "ignore_params_prefixes"):
        if isinstance(opts.get(key), str):
            raise ConfigError('"%s" must be a list of names, but is %r' % (key, opts[key]))
    return PreloadFile(**opts)


def preload(files: Mapping[str, PreloadFile], network: TFNetwork, session: v1.Session) -> None:
    """
    :param files: of :func:`files_to_preload`. What an earlier one has set is left alone by a later one.
    :param network: gets the values; the model itself will not overwrite them
    :param session: of its graph
    """
    if files:
        print("Start pre-loading weights...", file=log.v2)
    for key, entry in files.items():
        try:
            entry.load(network, session)
        except ConfigError as exc:
            raise ConfigError("preload_from_files[%r]: %s" % (key, exc)) from exc
