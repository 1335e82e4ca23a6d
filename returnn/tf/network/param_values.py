"""Parameters as numpy arrays: out of a session and into it, by layer or by file. Setting them makes no ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

from returnn.engine.checkpoint_files import strip_checkpoint_suffix
from returnn.log import log
from returnn.network.param_import import ImportResult, check_copy_mode, copy_param, match_params, report_lines
from returnn.tf.checkpoint import CheckpointSaver, assign_values, read_checkpoint
from returnn.tf.compat import tf, v1
from returnn.util.errors import UserError
from returnn.util.suggest import did_you_mean

from .checkpoint_loader import ParamsDoNotFitError, log_report, param_info

if TYPE_CHECKING:
    from returnn.config import Config
    from returnn.layers.base import LayerBase

ValuesDict = Mapping[str, Mapping[str, numpy.ndarray]]
"""Path of a layer from the root on -> name of a parameter within the layer -> value."""


@dataclass
class TFNetworkParamsSerialized:
    """All that a network has learned."""

    values_dict: dict[str, dict[str, numpy.ndarray]]
    """Layer -> parameter -> value."""
    global_train_step: int


class ParamValues:
    """What a network on a TensorFlow graph can do with the values of its parameters. A session comes with each call."""

    _saver: CheckpointSaver | None = None
    loaded_params: set[str]
    """Names of parameters whose values are from another model: a checkpoint of this one does not overwrite them."""

    if TYPE_CHECKING:  # what the network has
        global_train_step_var: tf.Variable

        def get_config(self) -> Config: ...
        def get_saveable_params_list(self) -> list[tf.Variable]: ...
        def all_layers(self) -> Iterator[tuple[str, LayerBase]]: ...

    # Files

    def make_saver(self) -> CheckpointSaver:
        """
        Makes the ops that save, once. To be called before the graph is final.

        :return: for all that belongs into a model file
        """
        if self._saver is None:
            self._saver = CheckpointSaver(self.get_saveable_params_list(), name="save", with_meta=True)
        return self._saver

    def save_params_to_file(self, filename: str, session: v1.Session) -> None:
        """
        :param filename: prefix of the checkpoint; what is there already is replaced, at the end
        :raises UserError: it cannot be written
        """
        self.make_saver().save(session, filename)

    def load_params_from_file(self, filename: str, session: v1.Session) -> None:
        """
        :param filename: checkpoint, with or without suffix
        :raises UserError: it is not there, damaged, or of another network
        """
        filename = strip_checkpoint_suffix(filename)
        self.set_values_of_file(read_checkpoint(filename), session, filename=filename)

    def set_values_of_file(self, values: Mapping[str, numpy.ndarray], session: v1.Session, *, filename: str) -> None:
        """
        :param values: variable name -> value
        :param session: of the network's graph
        :param filename: where they are from
        :raises UserError: they do not fit; then nothing is set
        """
        print("loading weights from %s" % filename, file=log.v2)
        importing = self._layers_that_import()
        left_alone = self.loaded_params | {var.op.name for layer in importing for var in layer.params.values()}
        variables = [var for var in self.get_saveable_params_list() if var.op.name not in left_alone]
        result = match_params([param_info(var) for var in variables], values)
        others = left_alone.union(*(_names_below(layer.scope, values) for layer in importing))
        result.unused = {name: value for name, value in result.unused.items() if name not in others}
        self._check_fits(result, filename)
        assign_values(session, result.values, variables)
        for layer in importing:
            self._import_by_layer(layer, values, session)

    def _check_fits(self, result: ImportResult, filename: str) -> None:
        what = "checkpoint %r" % filename
        not_by_name = [param.name for param in result.missing] + sorted(result.renamed)
        if not_by_name:
            text = ", ".join(not_by_name[:10]) + (", .. (%i)" % len(not_by_name) if len(not_by_name) > 10 else "")
            print("load_params_from_file: some variables not found: %s" % text, file=log.v2)
        ignore_missing = self.get_config().bool("load_ignore_missing_vars", False)
        if not result.other_shape and (ignore_missing or not result.missing):
            log_report(result, what=what)
            return
        lines = ["Exiting now because model cannot be loaded.", f"The {what} is of another network:"]
        lines += report_lines(result, what=what)
        lines.append("Load a checkpoint of this network, or change the network back, or choose another model name.")
        if not result.other_shape:
            lines.append("With load_ignore_missing_vars = True the missing ones keep their initial values.")
        raise ParamsDoNotFitError("\n".join(lines))

    def _layers_that_import(self) -> list[LayerBase]:
        return [layer for _, layer in self.all_layers() if layer.custom_param_importer is not None and layer.params]

    def _import_by_layer(self, layer: LayerBase, values: Mapping[str, numpy.ndarray], session: v1.Session) -> None:
        """The option ``custom_param_importer``: a function, or how to copy values of another shape."""
        importer, prefix = layer.custom_param_importer, layer.scope + "/"
        own = {name[len(prefix) :]: values[name] for name in _names_below(layer.scope, values)}
        if callable(importer):
            importer(layer=layer, values_dict=own, session=session)
            return
        check_copy_mode(importer)
        copied = {}
        for name, var in layer.params.items():
            if name in own:
                copied[var.op.name] = copy_param(own[name], session.run(var), mode=importer, name=var.op.name)
            else:
                print("custom_param_importer: %s is not in the file" % var.op.name, file=log.v2)
        assign_values(session, copied, list(layer.params.values()))

    # By layer

    def get_param_values_dict(self, session: v1.Session) -> dict[str, dict[str, numpy.ndarray]]:
        """
        :return: path of the layer -> name of the parameter in the layer -> value. A subnetwork has those of its layers
            too, as ``layer/name``.
        """
        return session.run(self._params_by_layer())

    def set_param_values_by_dict(self, values_dict: ValuesDict, session: v1.Session) -> None:
        """
        :param values_dict: as :func:`get_param_values_dict`. What is not in it is left alone; of what is in it twice,
            the last one counts.
        :param session: of the network's graph
        :raises UserError: no such layer or parameter, or another shape; lists all, and sets nothing
        """
        known = self._params_by_layer()
        problems, values, variables = [], {}, []
        for layer, params in values_dict.items():
            for name, value in params.items():
                var = known.get(layer, {}).get(name)
                if var is None:
                    problems.append(_unknown(layer, name, known))
                elif numpy.shape(value) != tuple(var.shape):
                    problems.append(f"{layer}/{name}: shape {numpy.shape(value)}, but it has {tuple(var.shape)}")
                else:
                    values[var.op.name] = value
                    variables.append(var)
        if problems:
            raise UserError("\n  ".join(["set_param_values_by_dict: these do not fit the network:", *problems]))
        assign_values(session, values, variables)

    def get_params_serialized(self, session: v1.Session) -> TFNetworkParamsSerialized:
        """
        :return: parameters and step
        """
        values, step = session.run((self._params_by_layer(), self.global_train_step_var))
        return TFNetworkParamsSerialized(values_dict=values, global_train_step=int(step))

    def set_params_by_serialized(self, serialized: TFNetworkParamsSerialized, session: v1.Session) -> None:
        """
        :param serialized: of a network with the same layers
        :param session: of the network's graph
        :raises UserError: see :func:`set_param_values_by_dict`
        """
        self.set_param_values_by_dict(serialized.values_dict, session)
        step = self.global_train_step_var
        assign_values(session, {step.op.name: numpy.int64(serialized.global_train_step)}, [step])

    def _params_by_layer(self) -> dict[str, dict[str, tf.Variable]]:
        return {path: dict(layer.params) for path, layer in self.all_layers()}


def _names_below(scope: str, values: Iterable[str]) -> list[str]:
    return [name for name in values if name.startswith(scope + "/")]


def _unknown(layer: str, name: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    if layer not in known:
        return f"{layer}: no such layer.{did_you_mean(layer, known)}"
    names = sorted(known[layer])
    return f"{layer}: no parameter {name!r}.{did_you_mean(name, names)} It has: {', '.join(names) or 'none'}"
