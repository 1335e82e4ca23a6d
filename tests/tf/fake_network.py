"""A network for tests of the engine's parts: one softmax layer over frames, in plain TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy

from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.network import ExternData
from returnn.tf.network.param_values import ParamValues


def fake_data(key: str, shape: tuple[int | None, ...], dtype: str, *, dim: int | None, sparse: bool) -> Any:
    """
    :param key: name
    :param shape: without batch; None first: dynamic
    :return: what the engine sees of one key of ``extern_data``
    """
    with v1.name_scope("extern_data/placeholders/%s" % key):
        return SimpleNamespace(
            placeholder=v1.placeholder(tf.as_dtype(dtype), (None, *shape), name=key),
            size_placeholder={0: v1.placeholder(tf.int32, (None,), name=key + "_dim0_size")} if None in shape else {},
            dtype=dtype,
            shape=shape,
            dim=dim,
            sparse=sparse,
            batch_dim_axis=0,
            available_for_inference=key == "data",
        )


class FakeExternData:
    """Keys ``data`` [B, T, dim] and ``classes`` [B, T] sparse, or those that are given."""

    default_target = "classes"

    def __init__(self, data: Mapping[str, Any]):
        self.data = dict(data)
        with v1.name_scope("extern_data/placeholders"):
            self.batch_dim_placeholder = v1.placeholder(tf.int32, (), name="batch_dim")

    @classmethod
    def for_classes(cls, *, num_inputs: int, num_classes: int) -> FakeExternData:
        """
        :return: dense input, sparse target
        """
        return cls(
            {
                "data": fake_data("data", (None, num_inputs), "float32", dim=num_inputs, sparse=False),
                "classes": fake_data("classes", (None,), "int32", dim=num_classes, sparse=True),
            }
        )


class FakeNetwork(ParamValues):
    """Frames through ``output/W``, ``output/b`` and a softmax; cross entropy and frame error over real frames."""

    def __init__(self, *, config: Any, rnd_seed: int = 1, train_flag: Any = False, **_flags: Any):
        dims = {"num_inputs": config.int("num_inputs", 3), "num_outputs": config.int("num_outputs", 2)}
        self.extern_data = ExternData()
        self.extern_data.init_from_config(Config(dims), auto_create_placeholders=True)
        self.train_flag = train_flag
        self.rnd_seed = rnd_seed
        self.get_config = lambda: config
        self.used_data_keys = {"data", "classes"}
        self.loaded_params = set()
        self.run_opts: dict[str, Any] = {}
        self.num_finished_runs = 0

    def construct_from_dict(self, net_dict: Mapping[str, Any]) -> None:
        assert "output" in net_dict
        x, y = self.extern_data.data["data"], self.extern_data.data["classes"]
        weights = numpy.random.RandomState(self.rnd_seed).normal(size=(x.dim, y.dim)).astype("float32")
        with v1.variable_scope("output"):
            w = v1.get_variable("W", initializer=tf.constant(weights))
            b = v1.get_variable("b", shape=(y.dim,), initializer=v1.zeros_initializer())
        self.params = [w, b]
        self.global_train_step_var = v1.get_variable(
            "global_step", initializer=tf.constant(0, tf.int64), trainable=False
        )
        self.global_train_step = self.global_train_step_var.read_value()
        self.logits = tf.tensordot(x.placeholder, w, 1) + b
        mask = tf.sequence_mask(x.size_placeholder[0], dtype=tf.float32)
        ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y.placeholder, logits=self.logits)
        wrong = tf.cast(tf.not_equal(tf.argmax(self.logits, -1, tf.int32), y.placeholder), tf.float32)
        self.cost, self.error = tf.reduce_sum(ce * mask), tf.reduce_sum(wrong * mask)
        self.norm_factor = 1.0 / tf.reduce_sum(mask)
        layer = SimpleNamespace(params={p.op.name: p for p in self.params}, updater_opts=None, L2=None, recurrent=True)
        layer.custom_param_importer, layer.kwargs = None, {}
        layer.get_absolute_name = lambda: "output"
        self.layers = {"output": layer}

    def get_used_data_keys(self) -> set[str]:
        return self.used_data_keys

    def all_layers(self) -> Iterator[tuple[str, Any]]:
        yield from self.layers.items()

    def call_graph_reset_callbacks(self) -> None:
        pass

    def print_network_info(self) -> None:
        pass

    def initialize_params(self, session: v1.Session) -> None:
        session.run([var.initializer for var in self.get_saveable_params_list()])

    def get_epoch_step(self) -> tf.Tensor:
        return v1.placeholder(tf.int64, (), name="epoch_step")

    def get_objective(self) -> tf.Tensor:
        return self.cost

    def get_fetches_dict(
        self, config: Any, should_train: bool, should_eval: bool, with_summary: bool = False, with_size: bool = False
    ) -> dict[str, tf.Tensor]:
        fetches = {}
        if should_train or should_eval:
            fetches = {"loss": self.cost, "cost:output": self.cost, "error:output": self.error}
            fetches["loss_norm_factor:output"] = self.norm_factor
        if fetches and with_summary:
            fetches["summary"] = {"loss": self.cost}
        if with_size:
            fetches.update({"size:%s:0" % key: d.size_placeholder[0] for key, d in self.extern_data.data.items()})
        return fetches

    def set_run_opts(self, **opts: Any) -> None:
        self.run_opts = opts

    def set_seq_tags_of_step(self, tags: Any) -> None:
        """Nobody here asks for them."""

    def call_run_finished_callbacks(self) -> None:
        self.num_finished_runs += 1

    def get_params_list(self) -> list[tf.Variable]:
        return self.params

    get_trainable_params = get_params_list

    def get_saveable_params_list(self) -> list[tf.Variable]:
        return [*self.params, self.global_train_step_var]
