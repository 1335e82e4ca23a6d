"""Loads parameters from a checkpoint that may be of another network: other names, other layouts, only some of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from returnn.engine.checkpoint_files import strip_checkpoint_suffix
from returnn.log import log
from returnn.network.param_import import ImportOptions, ImportResult, ParamInfo, match_params, report_lines
from returnn.tf.checkpoint import assign_values, read_checkpoint
from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError, UserError

from .post_init import set_custom_post_init

if TYPE_CHECKING:
    from .network import TFNetwork

Values = Mapping[str, numpy.ndarray]


class ParamsDoNotFitError(UserError):
    """A checkpoint does not have what a network needs."""


class CustomCheckpointLoader:
    """Finds a value for each parameter in a file, by its name or by a known other name or layout."""

    def __init__(
        self,
        filename: str,
        saveable_params: Sequence[tf.Variable],
        params_prefix: str = "",
        load_if_prefix: str = "",
        ignore_missing: bool = False,
        ignore_params: Collection[str] = (),
        ignore_params_prefixes: Collection[str] = (),
        var_name_mapping: Mapping[str, str] | None = None,
        network: TFNetwork | None = None,
        custom_missing_load_func: Callable[..., numpy.ndarray | None] | None = None,
    ):
        """
        :param filename: checkpoint, with or without suffix
        :param saveable_params: that may be loaded
        :param params_prefix: cut off their names
        :param load_if_prefix: only those with this text in their name, which is taken out of it
        :param ignore_missing: parameters that the file does not have keep their initial values
        :param ignore_params: names, without the prefixes, that are not loaded
        :param ignore_params_prefixes: beginnings of such names
        :param var_name_mapping: name, without the prefixes -> name in the file
        :param network: its parameters that were loaded before are left alone
        :param custom_missing_load_func: ``f(name=, shape=, reader=)`` -> array or None, for what is not there
        :raises ConfigError: none of ``saveable_params`` is wanted; or, with ``ignore_missing``, none is found
        :raises ParamsDoNotFitError: some are not found, or have another shape
        """
        self.filename = strip_checkpoint_suffix(filename)
        self.ignore_missing = ignore_missing
        self.network = network
        options = ImportOptions(
            params_prefix=params_prefix,
            load_if_prefix=load_if_prefix,
            ignore_params=ignore_params,
            ignore_params_prefixes=ignore_params_prefixes,
            var_name_mapping=var_name_mapping or {},
            custom_missing_load_func=custom_missing_load_func,
        )
        loaded_before = network.loaded_params if network is not None else set()
        self._vars = {
            var.op.name: var
            for var in saveable_params
            if var.op.name not in loaded_before and options.looked_up_name(var.op.name) is not None
        }
        if not self._vars:
            raise ConfigError(
                "CustomCheckpointLoader: no saveable vars: nothing to load from %r (prefix %r). Parameters: %s"
                % (self.filename, load_if_prefix or params_prefix, _names(var.op.name for var in saveable_params))
            )
        self._result = match_params(
            [param_info(var) for var in self._vars.values()], read_checkpoint(self.filename), options
        )
        self._check()

    @property
    def missing_var_names(self) -> list[str]:
        """parameters that are not in the file"""
        return [param.name for param in self._result.missing]

    @property
    def obsolete_var_names(self) -> list[str]:
        """names in the file that are not used"""
        return list(self._result.unused)

    def _check(self) -> None:
        result = self._result
        what = "checkpoint %r" % self.filename
        if result.other_shape or (result.missing and not self.ignore_missing):
            lines = ["CustomCheckpointLoader. could_not_find_map_list: %r" % self.missing_var_names]
            raise ParamsDoNotFitError("\n".join([*lines, *report_lines(result, what=what)]))
        if not result.values and not result.not_critical:
            raise ConfigError(
                "CustomCheckpointLoader: none of the parameters is in the file.\n%s"
                % "\n".join(report_lines(result, what=what))
            )

    def load_now(self, session: v1.Session) -> None:
        """
        :param session: of the graph of the parameters
        """
        print("loading weights from %s" % self.filename, file=log.v2)
        log_report(self._result, what="checkpoint %r" % self.filename)
        assign_values(session, self._result.values, list(self._vars.values()))
        if self.network is not None:
            self.network.loaded_params.update(self._result.values)

    def set_as_custom_init(self) -> None:
        """Makes the values those that the parameters start with."""
        log_report(self._result, what="checkpoint %r" % self.filename)
        for name, value in self._result.values.items():
            var = self._vars[name]
            set_custom_post_init(var, _assign(var, value))


def _assign(var: tf.Variable, value: numpy.ndarray) -> Callable[[v1.Session], None]:
    return lambda session: assign_values(session, {var.op.name: value}, [var])


def param_info(var: tf.Variable) -> ParamInfo:
    """
    :param var: parameter
    :return: what it needs
    """
    critical = not getattr(var, "RETURNN_non_critical_for_restore", False)
    return ParamInfo(var.op.name, tuple(var.shape.as_list()), var.dtype.base_dtype.name, critical=critical)


def log_report(result: ImportResult, *, what: str) -> None:
    """
    :param result: what was found; the log says what was not as expected
    :param what: where the values are from
    """
    lines = report_lines(result, what=what)
    for line in lines:
        print(line, file=log.v4 if len(lines) == 1 else log.v3 if line.startswith("  unused") else log.v2)


def _names(names: Any) -> str:
    names = sorted(names)
    return ", ".join(names[:20]) + (", .. (%i)" % len(names) if len(names) > 20 else "")
