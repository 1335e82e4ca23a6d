"""A network on its graph, with its session and, in training, its updater. All ops are made before the first step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.config import Config
from returnn.layers.activations import gelu_formula, is_gelu
from returnn.log import log
from returnn.tf.checkpoint import CheckpointSaver, assign_values, note, read_note
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork
from returnn.tf.seeds import network_and_graph_seed
from returnn.tf.session import make_session
from returnn.tf.updater import Updater

Values = Mapping[str, numpy.ndarray]
"""Variable name -> value."""

_STATEFUL_RANDOM_OPS = frozenset(
    ["RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal"]
    + ["Multinomial", "RandomShuffle", "RandomGamma", "RandomPoisson", "RandomPoissonV2"]
    + ["UniformCandidateSampler", "LogUniformCandidateSampler", "LearnedUnigramCandidateSampler"]
)


class NetworkGraph:
    """One at a time: it takes the default graph of the process."""

    def __init__(
        self,
        config: Config,
        net_dict: Mapping[str, Any],
        *,
        epoch: int,
        initial_learning_rate: float | None,
        eval_flag: bool,
        search_flag: bool,
        on_constructed: Callable[[TFNetwork], None],
    ):
        """
        :param config: options of network, updater, session
        :param net_dict: layer name -> options
        :param epoch: for the random seeds
        :param initial_learning_rate: None: not for training
        :param eval_flag: with losses
        :param search_flag: with search
        :param on_constructed: called with the network, before optimizer and session are made
        """
        self.config = config
        v1.reset_default_graph()
        self.graph = v1.get_default_graph()
        network_seed, graph_seed = network_and_graph_seed(config, epoch=epoch)
        v1.set_random_seed(graph_seed)
        train_flag: Any = False
        if initial_learning_rate is not None:
            with v1.name_scope("globals"):
                train_flag = v1.placeholder(tf.bool, shape=(), name="train_flag")
        self.network = TFNetwork(
            config=config,
            rnd_seed=network_seed,
            train_flag=train_flag,
            eval_flag=eval_flag,
            search_flag=search_flag,
            name="root",
        )
        self.network.construct_from_dict(net_dict)
        self._gelu_formula = _used_gelu_formula(self.network)
        if self._gelu_formula is not None:
            note("gelu_formula", self._gelu_formula)
        on_constructed(self.network)
        self.network.print_network_info()
        self.epoch_step_placeholder = self.network.get_epoch_step()
        self.network.make_saver()
        self._optimizer_saver: CheckpointSaver | None = None
        self._fetches: dict[tuple[bool, bool], dict[str, Any]] = {}
        self.updater: Updater | None = None
        if initial_learning_rate is not None:
            self._make_updater(initial_learning_rate)
            self.graph.finalize()
            self._tell_about_random_ops()
        self.session = make_session(config, self.graph)
        self._init_variables()

    def _make_updater(self, initial_learning_rate: float) -> None:
        self.updater = Updater(self.config, self.network, initial_learning_rate)
        self.updater.set_trainable_vars(self.network.get_trainable_params())
        optimizer_vars = self.updater.get_optimizer_vars()
        if optimizer_vars:
            self._optimizer_saver = CheckpointSaver(optimizer_vars, name="save_optimizer")
        self.get_fetches(train=True, eval=True)
        self.get_fetches(train=False, eval=True)

    def _tell_about_random_ops(self) -> None:
        """What TensorFlow draws by itself, in functions of the user, has a state that no checkpoint has."""
        initial = _ops_behind([var.initializer for var in v1.global_variables()])
        names = [op.name for op in self.graph.get_operations() if op.type in _STATEFUL_RANDOM_OPS and op not in initial]
        if names:
            print(
                "Note: these random ops start anew with each run, so a run that goes on from a checkpoint differs from "
                "an unbroken one: %s" % ", ".join(names),
                file=log.v3,
            )

    def _init_variables(self) -> None:
        self.network.initialize_params(self.session)
        known = {var.op.name for var in self.network.get_saveable_params_list() + self.network.get_params_list()}
        if self.updater is not None:
            self.updater.init_optimizer_vars(self.session)
            known.update(var.op.name for var in [*self.updater.get_optimizer_vars(), self.updater.learning_rate_var])
        others = [var for var in v1.global_variables() if var.op.name not in known]
        if others:
            print("Note: There are still these uninitialized variables: %s" % [v.name for v in others], file=log.v3)
            self.session.run([var.initializer for var in others])

    def close(self) -> None:
        """Closes the session, and before that the files that layers write."""
        try:
            self.network.call_graph_reset_callbacks()
        finally:
            self.session.close()

    def is_recurrent(self) -> bool:
        """
        :return: whether frames depend on each other, so that sequences must stay apart
        """
        return any(layer.recurrent for layer in self.network.layers.values())

    # One step

    def get_fetches(self, *, train: bool, eval: bool) -> dict[str, Any]:
        """
        :param train: with the update of the parameters
        :param eval: with losses and errors
        :return: name -> op or tensor, to be run in each step
        """
        key = (train, eval)
        if key not in self._fetches:
            fetches = self.network.get_fetches_dict(
                config=self.config,
                should_train=train,
                should_eval=eval,
                with_summary=train or eval,
                with_size=train or eval,
            )
            if train:
                fetches["optim_op"] = self.updater.get_optim_op()
                fetches.update(self.updater.get_extra_fetches())
            self._fetches[key] = fetches
        return dict(self._fetches[key])

    def get_step_feed(self, *, train_flag: bool, epoch_step: int) -> dict[tf.Tensor, Any]:
        """
        :param train_flag: the network behaves as in training
        :param epoch_step: step of the pass, from 0
        :return: what is fed in a step beside the data
        """
        feed: dict[tf.Tensor, Any] = {self.epoch_step_placeholder: epoch_step}
        if isinstance(self.network.train_flag, tf.Tensor):
            feed[self.network.train_flag] = train_flag
        return feed

    def get_global_train_step(self) -> int:
        """
        :return: ``global_step``, from the session
        """
        return int(self.session.run(self.network.global_train_step_var))

    # Values of variables

    def save_model(self, prefix: str) -> None:
        """
        Saves parameters and ``global_step``.

        :param prefix: of the files
        """
        self.network.save_params_to_file(prefix, self.session)

    def save_optimizer(self, prefix: str) -> None:
        """
        Saves the state of the optimizer, if it has any.

        :param prefix: of the files
        """
        if self._optimizer_saver is not None:
            self._optimizer_saver.save(self.session, prefix)

    def set_model_values(self, values: Values, *, filename: str) -> None:
        """
        :param values: of parameters and ``global_step``
        :param filename: where they are from
        :raises UserError: they do not fit
        """
        self.network.set_values_of_file(values, self.session, filename=filename)
        noted = read_note(filename, "gelu_formula") if self._gelu_formula is not None else None
        if noted not in (None, self._gelu_formula):
            log.print_warning(
                'The model %s was trained with gelu_formula = "%s", but here it is "%s". Set it in the config.'
                % (filename, noted, self._gelu_formula)
            )

    def set_optimizer_values(self, values: Values, *, filename: str) -> None:
        """
        Takes over what fits: the optimizer may be another one than before.

        :param values: state of the optimizer, may be empty
        :param filename: where they are from
        """
        variables = self.updater.get_optimizer_vars()
        fitting = [var for var in variables if var.op.name in values and values[var.op.name].shape == tuple(var.shape)]
        if len(fitting) < len(variables):
            print(
                "Note: the optimizer starts anew in %i of its %i variables, there is no state for them in %r."
                % (len(variables) - len(fitting), len(variables), filename),
                file=log.v2,
            )
        assign_values(self.session, values, fitting)


def _ops_behind(ops: Sequence[tf.Operation]) -> set[tf.Operation]:
    """
    :return: these, and all that they need
    """
    seen, todo = set(ops), list(ops)
    while todo:
        op = todo.pop()
        new = {source.op for source in op.inputs}.union(op.control_inputs).difference(seen)
        seen |= new
        todo.extend(new)
    return seen


def _used_gelu_formula(network: TFNetwork) -> str | None:
    """:return: None: no layer has this function"""
    options = [layer.kwargs.get(key) for _, layer in network.all_layers() for key in ("activation", "gate_activation")]
    return gelu_formula(network.get_config()) if any(map(is_gelu, options)) else None
