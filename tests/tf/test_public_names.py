"""What configs and scripts import, by module."""

from __future__ import annotations

import importlib
import inspect

import pytest

from returnn.layers import registry
from returnn.layers.base import LayerBase

_BASE = """LayerBase InternalLayer WrappedInternalLayer DataNotAvailableLayer ReuseParams SearchChoices Loss"""
NAMES = {
    "returnn.tensor": "Tensor Dim batch_dim single_step_dim TensorDict VerifyOutShapeException",
    "returnn.tf.compat": "tf v1",
    "returnn.tf.layers.base": _BASE,
    "returnn.tf.layers.basic": _BASE
    + """
        DropoutLayer SelectSearchSourcesLayer _ConcatInputLayer auto_register_layer_classes register_layer_class
        get_layer_class get_layer_class_name_list get_loss_class concat_sources get_concat_sources_data_template
    """,
    "returnn.tf.layers.rec": "RecLayer RnnCellLayer BaseRNNCell AttentionBaseLayer SelfAttentionLayer",
    "returnn.tf.network": """
        TFNetwork ExternData LayerNotFound DataNotFound NetworkLayerException
        NetworkConstructionDependencyLoopException CustomCheckpointLoader TFNetworkParamsSerialized LossHolder
        Subnetwork GetLayer help_on_tf_exception set_custom_post_init have_custom_post_init
        CannotHandleUndefinedSourcesException
    """,
    "returnn.tf.util.basic": """
        where_bc get_shared_vocab nd_indices tile_transposed OpCodeCompiler Data DimensionTag Dim
        get_rnnt_linear_aligned_output create_random_warp_flow_2d dense_image_warp get_shape dropout get_shape_dim
        check_input_dim safe_log safe_exp get_initializer flatten_with_seq_len_mask compute_sampled_logits
        expand_dims_unbroadcast to_int32_64 dot matrix_triangular sequence_mask_time_major swapaxes
        OutputWithActivation check_shape_equal filter_ended_scores add_scaled_noise_to_gradients custom_gradient
        reuse_name_scope py_print CustomUpdate cond beam_search select_src_beams get_positional_encoding
    """,
    "returnn.tf.util.data": """
        Data DimensionTag Dim SpatialDim FeatureDim batch_dim single_step_dim SearchBeam OptionalDim
        ImplicitSparseDim ImplicitDynSizeDim VerifyOutShapeException
    """,
}
OLD_LAYER_MODULES = ("base", "basic", "rec", "signal_processing")


@pytest.mark.parametrize("module", NAMES)
def test_names_are_there(module: str) -> None:
    """With ``import *`` too, but for those with an underscore in front."""
    imported = importlib.import_module(module)
    names = NAMES[module].split()
    assert [name for name in names if not hasattr(imported, name)] == []
    assert set(names) <= set(getattr(imported, "__all__", names))


def test_old_modules_have_all_layer_classes() -> None:
    """Those of the registry, each under its own name; and what they say to have, they have."""
    modules = [importlib.import_module("returnn.tf.layers." + name) for name in OLD_LAYER_MODULES]
    exported = {name: getattr(module, name) for module in modules for name in module.__all__}
    names = registry.get_layer_class_name_list()
    classes = {registry.get_layer_class(name) for name in names}
    built_in = {cls for cls in classes if cls.__module__.startswith("returnn.layers.")}
    assert len(built_in) > 100
    assert sorted(cls.__name__ for cls in built_in if exported.get(cls.__name__) is not cls) == []


def test_one_name_is_one_class_in_all_old_modules() -> None:
    found: dict[str, set[type]] = {}
    for name in OLD_LAYER_MODULES:
        module = importlib.import_module("returnn.tf.layers." + name)
        for key, value in vars(module).items():
            if inspect.isclass(value) and issubclass(value, LayerBase):
                found.setdefault(key, set()).add(value)
    assert {name: classes for name, classes in found.items() if len(classes) > 1} == {}


def test_old_names_of_classes() -> None:
    basic = importlib.import_module("returnn.tf.layers.basic")
    assert basic._ConcatInputLayer is basic.ConcatInputLayer
    assert basic.DropoutLayer is registry.get_layer_class("dropout")


def test_old_ways_to_a_unit() -> None:
    rec = importlib.import_module("returnn.tf.layers.rec").RecLayer
    assert rec.get_rnn_cell_class("LSTMBlock") and isinstance(rec._rnn_cells_dict, dict)
    assert callable(rec._create_rnn_cells_dict)
