"""The keys of a config that the program knows, and checks on a config before anything is started.

* A key that is not known but looks like a known one is probably a typing error: a warning.
* A value that can not be meant, since it would be read as something else or not at all: an error.
* A key of what is not there yet: an error if the results would be others with it, else a warning.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from returnn import config_load
from returnn._version import __version__
from returnn.log import log
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.config import Config

_read_keys = {
    "program": """
        task backend use_tensorflow device log log_verbosity log_format log_batch_size behavior_version include
        patch_atfork startup_callback dry_run need_data random_seed tf_session_opts wrap_tf_session description
        """,
    "data": """
        train dev eval eval_datasets extern_data num_inputs num_outputs target default_input batch_size max_seqs
        max_seq_length min_seq_length max_pad_size batching chunking min_chunk_size chunking_variance chunk_eval
        window context_window cache_size shuffle_frames_of_nseqs shuffle_batches inc_seq_length seq_drop
        on_size_limit sparse_input lm_dataset_debug_limit_line_count file_cache_opts stall_timeout
        """,
    "network": """
        network get_model normalized_loss gelu_formula tf_native_ctc_zero_infinity inf_value conv_pad_seq_len_to_power
        param_variational_noise param_dropout param_dropout_min_ndim
        """,
    "training": """
        model num_epochs save_interval load load_epoch epoch import_model_train_epoch1 start_epoch start_batch
        preload_from_files cleanup_old_models save_epoch1_initial_model allow_random_model_init load_ignore_missing_vars
        stop_on_nonfinite_train_score calculate_exp_loss accum_grad_multiple_step optimizer adam nadam momentum
        rmsprop adadelta adagrad optimizer_epsilon optimizer_use_locking gradient_clip gradient_noise
        gradient_clip_norm gradient_clip_avg_norm gradient_clip_global_norm gradient_clip_global_norm_tag
        global_norm_tag grad_norm_to_clip_to_zero maximize_grad_norm gradient_nan_inf_filter decouple_constraints
        decouple_constraints_factor extra_updates log_grad_norm
        """,
    "learning rate": """
        learning_rate min_learning_rate learning_rates learning_rate_file learning_rate_control
        learning_rate_control_error_measure learning_rate_control_relative_error_relative_lr
        newbob_relative_error_div_by_old relative_error_div_by_old learning_rate_control_min_num_epochs_per_new_lr
        learning_rate_decay newbob_learning_rate_decay learning_rate_growth newbob_learning_rate_growth
        newbob_relative_error_threshold newbob_error_threshold newbob_multi_num_epochs newbob_multi_update_interval
        newbob_relative_error_grow_threshold dynamic_learning_rate
        """,
    "tasks": """
        forward_output_layer forward_batch_size forward_override_hdf_output output_file eval_output_file
        eval_output_file_per_seq loss_name output_per_seq_format output_per_seq_file_format search_data search_do_eval
        search_output_layer search_output_file search_output_file_format
        """,
    "debugging": """
        debug_print_layer_output debug_print_layer_output_shape debug_print_layer_output_template
        debug_runtime_sanity_checks debug_objective_loss_summaries debug_unnormalized_loss_summaries
        debug_add_check_numerics_on_output tf_log_dir
        """,
    "several processes": """
        torch_distributed
        """,
    "command line options": """
        activation gate_factors lreg dropout order loss cache hidden_sizes truncate hidden_type
        """,
}
"""What some part of the program reads."""

_without_effect = """
    update_on_device multiprocessing truncation debug_mode update_batch_size share_batches exclude ctc_prior_file
    init_train_epoch_posthook flat_net_construction optimize_move_layers_out
    """
"""From old configs, which mean nothing any more, or only made things faster."""

_not_yet_errors = {
    "training": """
        reset_updater_vars_mod_step use_last_best_model
        search_train_network_layers seq_train_parallel
        """,
    "networks that change": """
        pretrain get_network reinit_network_each_epoch init_new_network_callback
        """,
    "data": """
        dataset_pipeline use_dummy_datasets enforce_min_len1 seq_drop_freq
        """,
    "evaluation": """
        train_in_eval eval_learning_rate eval_use_train_flag forward_use_search combine_labels
        """,
    "several processes": """
        use_horovod distributed_tf
        """,
}
"""With these a result would be another one: an error."""

_not_yet_warnings = {
    "program": """
        use_train_proc_manager watch_memory ipython check_unsupported_device deterministic_train
        onnx_export
        restart_after_num_net_reinit
        """,
    "debugging": """
        debug_rec_layer
        debug_add_check_numerics_ops debug_grad_summaries debug_save_updater_vars debug_shell_in_runner
        tf_log_memory_usage store_metadata_mod_step store_tf_profile tf_run_options
        stop_for_resubmission_when_low_time_left
        """,
}
"""Watching, debugging, speed: a warning."""

_not_yet_silent = {
    "details of options that have no effect by themselves": """
        dummy_dataset_num_seqs train_dummy_dataset_num_seqs pretrain_learning_rate
        use_learning_rate_control_always pretrain_repetitions pretrain_construction_algo pretrain_copy_output_layer
        pretrain_greedy debug_shell_in_runner_step stop_for_resubmission_safety_factor horovod_reduce_type
        horovod_param_sync_step horovod_param_sync_time_diff horovod_scale_lr horovod_avg_grad
        horovod_dataset_distribution
        """,
    "of tasks": """
        analyze_dataset statistics_save_prefix sil_label_idx statistics_dtype extract num_tune_iterations
        num_individuals num_train_steps num_kill_individuals num_best num_threads web_server_port data_key
        """,
    "of RASR": """
        sprint_interface_dataset_opts sprint_trainer_exec_path sprint_interface_custom_dataset
        SprintInterfacePythonFeatureScorer
        """,
    "of PyTorch": """
        PYTORCH_CUDA_ALLOC_CONF torch_dataloader_opts torch_batching online_shuffle_batches sort_dataset train_step
        forward_step model_outputs apply_cleanup_old_models_to_optim_states load_model_post_hooks
        num_allowed_consec_invalid_gradient_steps grad_scaler torch_amp default_float_dtype epoch_start epoch_end
        forward_callback forward_data forward_auto_split_batch_on_oom allow_skipping_seqs_in_forward
        torch_log_memory_usage reset_dev_memory_caches use_lovely_tensors use_hot_reloading use_tensorboard
        tensorboard_opts torch_profile debug_shell_before_train_loop rf_att_dropout_broadcast rf_dropout_broadcast
        rf_use_mask rf_use_mask_conv rf_use_mask_transposed_conv rf_use_mask_pool rf_use_mask_stft rf_use_mask_window
        rf_use_mask_scatter rf_use_mask_BatchNorm rf_use_consistent_same_padding rf_scatter_use_fixed_masking
        rf_module_output_keep_dtype rf_specaugment_num_masks_per_seq rf_conformer_conv_norm_use_mask
        rf_batch_norm_distributed
        """,
}
"""Without effect of their own: what they belong to says itself that it is missing, or is not used. Nothing is said."""


class NotYet(enum.Enum):
    """What happens if a config sets a key that is not supported yet."""

    ERROR = _not_yet_errors
    WARNING = _not_yet_warnings
    SILENT = _not_yet_silent


def _split(keys_by_topic: Mapping[str, str]) -> Iterator[str]:
    return (key for keys in keys_by_topic.values() for key in keys.split())


READ_KEYS: frozenset[str] = frozenset(_split(_read_keys))
WITHOUT_EFFECT: frozenset[str] = frozenset(_without_effect.split())
NOT_YET: dict[str, NotYet] = {key: kind for kind in NotYet for key in _split(kind.value)}
KNOWN_KEYS: frozenset[str] = READ_KEYS | WITHOUT_EFFECT | NOT_YET.keys()

EXPRESSION_KEYS: frozenset[str] = frozenset(
    """
    accum_grad_multiple_step analyze_dataset cleanup_old_models dev dynamic_learning_rate eval eval_datasets
    extern_data file_cache_opts forward_data learning_rate_decay learning_rate_growth learning_rates max_seq_length
    newbob_learning_rate_decay newbob_learning_rate_growth optimizer preload_from_files pretrain search_data
    tensorboard_opts tf_run_options tf_session_opts torch_amp torch_dataloader_opts torch_distributed torch_profile
    train use_last_best_model
    """.split()
)
"""Keys whose values are dicts, or numbers and more: ``++key value`` evaluates the value, even if no config sets one."""


# Values


@dataclass(frozen=True)
class _Kind:
    """What a value may be; None always may."""

    text: str
    types: tuple[type, ...]
    or_function: bool = False

    def admits(self, value: Any) -> bool:
        return value is None or isinstance(value, self.types) or (self.or_function and callable(value))


_dict = _Kind("a dict", (dict,))
_layers = _Kind("a dict, or a list of layers, or a function", (dict, list), or_function=True)
_str = _Kind("a str", (str,))
_int = _Kind("an int", (int,))
_function = _Kind("a function", (), or_function=True)

_kinds: dict[str, _Kind] = {
    "backend": _str,
    "cleanup_old_models": _Kind("a bool, or a dict with keep, keep_best_n, keep_last_n", (bool, int, dict, str)),
    "eval_datasets": _dict,
    "extern_data": _dict,
    "get_model": _function,
    "get_network": _function,
    "learning_rate_file": _str,
    "load": _str,
    "model": _str,
    "network": _layers,
    "num_epochs": _int,
    "optimizer": _Kind("a dict or a str", (dict, str)),
    "preload_from_files": _dict,
    "save_interval": _int,
    "startup_callback": _function,
    "task": _str,
    "tf_session_opts": _dict,
}
"""Keys whose wrong values would be taken for something else, or end in a riddle."""


def check_values(config: Config) -> None:
    """
    :raises ConfigError: values of a wrong type; names all of them
    """
    problems = []
    for key, kind in _kinds.items():
        if config.is_typed(key) and not kind.admits(config.typed_dict[key]):
            problems.append(_wrong_value(key, kind, config.typed_dict[key]))
    if problems:
        raise ConfigError("\n".join(problems))


def _wrong_value(key: str, kind: _Kind, value: Any) -> str:
    text = f"config key {key!r}: must be {kind.text}, but is {type(value).__name__}: {_short_repr(value)}."
    if isinstance(value, tuple) and len(value) == 1 and kind.admits(value[0]):
        text += " A comma behind a value makes a tuple of it: remove the comma."
    return text


def _short_repr(value: Any, max_len: int = 100) -> str:
    text = repr(value)
    return text if len(text) <= max_len else text[: max_len - 3] + "..."


# What is not there yet


def check_not_yet(config: Config) -> None:
    """Values that switch a thing off (None, False, 0, "", {}) are as if the key was not there.

    :raises ConfigError: keys without which the results would be others; names all of them. Others get a warning.
    """
    used = [key for key in NOT_YET if _is_on(config.opt_typed_value(key))]
    errors = [_not_yet_error(key) for key in used if NOT_YET[key] is NotYet.ERROR]
    if errors:
        raise ConfigError("\n".join(errors))
    for key in used:
        if NOT_YET[key] is NotYet.WARNING:
            log.print_warning(f"option {key} is not supported yet (version {__version__}), it has no effect.")


def _not_yet_error(key: str) -> str:
    return (
        f"option {key} is not supported yet (version {__version__}); remove it from the config, or switch it off,"
        f" to go on without it (++{key} None does so for this run)."
    )


def _is_on(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _off_texts
    return value is not None and value is not False and (callable(value) or value not in (0, {}, [], ()))


_off_texts = ("", "0", "0.0", "false", "no", "off", "none", "{}", "[]", "()")
"""From the command line, where a key may have no type."""


# Names


def warn_about_misspelled_keys(config: Config) -> None:
    """Prints a warning for each key that is not known, is read nowhere in the config, and is nearly a known one."""
    for key, known in misspelled_keys(config).items():
        log.print_warning(f'config key "{key}" is unknown and has no effect. Did you mean "{known}"?')


def misspelled_keys(config: Config) -> dict[str, str]:
    """:return: key of the config -> the known key that was probably meant. Own variables of the user are not in it."""
    in_use: set[str] = set()
    for source in config.sources:
        if source.kind == "py":
            in_use |= config_load.names_read_by(source)
    unknown = sorted({key for key in (*config.typed_dict, *config.dict) if isinstance(key, str)} - KNOWN_KEYS - in_use)
    nearest = ((key, _nearest(key)) for key in unknown if not key.startswith("_"))
    return {key: known for key, known in nearest if known is not None}


def _nearest(key: str) -> str | None:
    """:return: the known key of which this is a misspelling, if it is one"""
    candidates = sorted((distance, known) for known in KNOWN_KEYS if (distance := _misspelling(key, known)) is not None)
    return candidates[0][1] if candidates else None


def _misspelling(key: str, known: str) -> int | None:
    """:return: how far the key is from the known one; None if it is rather another word"""
    longer = max(len(key), len(known))
    max_distance = 2 if len(known) >= 10 else 1 if len(known) >= 6 else 0
    if abs(len(key) - len(known)) <= max_distance and _without_digits(key) != _without_digits(known):
        distance = edit_distance(key, known)
        if distance <= max_distance:
            return distance
    words, known_words = key.split("_"), known.split("_")
    if len(known_words) >= 5 and len(words) == len(known_words) + 1 and _is_subsequence(known_words, words):
        return longer  # one word too many in a long name
    return None


def _without_digits(key: str) -> str:
    """``train2`` and ``batch_size_1`` are names that users give to variants, not misspellings."""
    return "".join(c for c in key if not c.isdigit()).rstrip("_")


def _is_subsequence(part: Collection[str], whole: Collection[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


def edit_distance(a: str, b: str) -> int:
    """:return: insertions, deletions, replacements, and swaps of neighbours, that make ``b`` of ``a``"""
    before_last: list[int] = []
    last = list(range(len(b) + 1))
    for i, char_a in enumerate(a, start=1):
        row = [i]
        for j, char_b in enumerate(b, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (char_a != char_b))
            if i > 1 and j > 1 and char_a == b[j - 2] and a[i - 2] == char_b:
                cost = min(cost, before_last[j - 2] + 1)
            row.append(cost)
        before_last, last = last, row
    return last[-1]
