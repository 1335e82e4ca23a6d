"""Names of checkpoint files, and which of them may go.

A checkpoint is a prefix, ``MODEL.003``, with a few files. Here are those of TensorFlow: ``.index``, ``.meta`` and
``.data-00000-of-00001``. Beside it may stand the optimizer state, a checkpoint of its own: ``MODEL.003.optim``.
"""

from __future__ import annotations

import os
import re

from returnn.util.files import remove_file

OPTIM_SUFFIX = ".optim"
"""Behind the prefix of a checkpoint: prefix of its optimizer state."""

NUM_OPTIM_STATES_KEPT = 2

_tf_part = r"\.(?:index|meta|data-\d+-of-\d+)"
_known_part = re.compile(rf"(?:\.opt)?\.pt|{_tf_part}")


def strip_checkpoint_suffix(filename: str) -> str:
    """
    :param filename: a checkpoint prefix or one of its files
    :return: the prefix
    """
    folder, base = os.path.split(filename)
    for match in _known_part.finditer(base):
        if match.end() == len(base):
            return os.path.join(folder, base[: match.start()])
    return filename


def epoch_of_checkpoint(filename: str) -> int | None:
    """
    :param filename: a checkpoint prefix, with or without suffix. If it is a symlink, the name of its target counts.
    :return: the last number behind a dot in the base name, if there is one: ``x/net.pretrain.012`` -> 12
    """
    prefix = strip_checkpoint_suffix(filename)
    for suffix in (".meta", ".index", ".pt"):
        if os.path.islink(prefix + suffix):
            prefix = strip_checkpoint_suffix(os.path.realpath(prefix + suffix))
            break
    numbers = re.findall(r"\.(\d+)", os.path.basename(prefix))
    return int(numbers[-1]) if numbers else None


def delete_checkpoint(prefix: str) -> int:
    """Removes the TensorFlow files of one checkpoint; ``.index`` first, so that never half of it passes for a model.

    :return: bytes freed
    """
    folder, base = os.path.split(prefix)
    parts = [match.group("part") for match in _matching_names(folder, re.escape(base))]
    return sum(remove_file(prefix + part) for part in sorted(parts, key=lambda part: (part != ".index", part)))


def delete_old_optimizer_states(model_filename: str, epoch: int, *, keep_last_n: int = NUM_OPTIM_STATES_KEPT) -> int:
    """To be called when the checkpoint of an epoch is complete: the last optimizer states stay, those before go.

    :param model_filename: the option ``model``
    :param epoch: the newest that counts. States of later epochs, of a former run, are left alone.
    :param keep_last_n: how many stay: two, as the newest one is of use only once its model is complete
    :return: bytes freed
    """
    folder, base = os.path.split(model_filename)
    pattern = rf"{re.escape(base)}(?:\.pretrain)?\.(?P<epoch>\d{{3,}}){re.escape(OPTIM_SUFFIX)}"
    found = {(int(match["epoch"]), match["prefix"]) for match in _matching_names(folder, pattern)}
    epochs = sorted({e for e, _ in found if e <= epoch})
    old = set(epochs[: max(len(epochs) - keep_last_n, 0)])
    return sum(delete_checkpoint(os.path.join(folder, prefix)) for e, prefix in sorted(found) if e in old)


def delete_old_crash_checkpoints(model_filename: str) -> int:
    """Of the checkpoints that failing epochs left, ``.crash_<step>`` and ``.broken``, only the newest stays.

    :param model_filename: the option ``model``
    :return: bytes freed
    """
    folder, base = os.path.split(model_filename)
    pattern = rf"{re.escape(base)}(?:\.pretrain)?\.\d{{3,}}\.(?:crash_\d+|broken)"
    times: dict[str, int] = {}
    for match in _matching_names(folder, pattern):
        time = os.lstat(os.path.join(folder, match.string)).st_mtime_ns
        times[match["prefix"]] = max(time, times.get(match["prefix"], time))
    old = sorted(times, key=lambda prefix: (times[prefix], prefix))[:-1]
    return sum(delete_checkpoint(os.path.join(folder, prefix)) for prefix in old)


def _matching_names(folder: str, prefix_pattern: str) -> list[re.Match[str]]:
    """Files of TensorFlow checkpoints whose prefix matches; groups ``prefix`` and ``part`` (with its dot)."""
    pattern = re.compile(rf"(?P<prefix>{prefix_pattern})(?P<part>{_tf_part})")
    try:
        names = sorted(os.listdir(folder or "."))
    except FileNotFoundError:
        return []
    return [match for match in map(pattern.fullmatch, names) if match]
