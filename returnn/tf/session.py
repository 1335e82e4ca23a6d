"""Which device TensorFlow works on, with how many threads, in which session.

:func:`setup_backend` runs before any data is read, so that a missing GPU is the first thing one hears of.
Nothing here makes a session just to ask TensorFlow something: that costs time, and on a GPU memory.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Mapping
from typing import Any

from returnn.config import Config
from returnn.log import log
from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError, UserError
from returnn.util.format import human_bytes_size
from returnn.util.suggest import did_you_mean

_MIN_NUM_THREADS = 2  # with one thread, some TensorFlow ops that wait for others never end


class UnsupportedDeviceError(UserError, ValueError):
    """The option ``device`` has a value with no meaning here."""


def setup_backend(config: Config) -> None:
    """
    Says which TensorFlow this is and which devices it sees, and decides for one of them.

    :param config: option ``device`` is read, and set to ``"gpu"`` or ``"cpu"``
    :raises ConfigError: a GPU is required and there is none
    :raises UnsupportedDeviceError: other ``device``
    """
    print(
        "TensorFlow: %s (%s) in %s" % (tf.__version__, tf.version.GIT_VERSION, os.path.dirname(tf.__file__)),
        file=log.v3,
    )
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        print("CUDA_VISIBLE_DEVICES is set to %r." % os.environ["CUDA_VISIBLE_DEVICES"], file=log.v2)
    else:
        print("CUDA_VISIBLE_DEVICES is not set.", file=log.v2)
    num_threads, source = _num_threads()
    if num_threads:
        print("Use num_threads=%i (but min %i) via %s." % (num_threads, _MIN_NUM_THREADS, source), file=log.v3)
        num_threads = max(num_threads, _MIN_NUM_THREADS)
    print(
        "Setup TF inter and intra global thread pools, num_threads %r, session opts %r."
        % (num_threads, config.typed_value("tf_session_opts") or {}),
        file=log.v3,
    )
    print("Collecting TensorFlow device list...", file=log.v2)
    devices = tf.config.list_physical_devices()
    print("Local devices available to TensorFlow:", file=log.v2)
    for i, device in enumerate(devices):
        print("  %i/%i: %s" % (i + 1, len(devices), _describe(device)), file=log.v2)
    gpus = [device for device in devices if device.device_type == "GPU"]
    if select_device(config) == "gpu":
        print("Using gpu device %i: %s" % (_physical_gpu_index(0), _gpu_name(gpus[0])), file=log.v2)
    elif gpus:
        print("Note: There is a GPU available but you have set device=cpu.", file=log.v2)


def select_device(config: Config) -> str:
    """
    :param config: option ``device`` is read (the environment's ``TF_DEVICE`` goes first), and set to the result,
        so that a second call has nothing more to decide or to say
    :return: ``"gpu"`` or ``"cpu"``
    """
    device = config.value("device", None) or None
    from_env = os.environ.get("TF_DEVICE")
    if from_env and from_env != device:
        print("Devices: Use %s via TF_DEVICE instead of %s." % (from_env, device), file=log.v4)
        device = from_env
    if device not in ("gpu", "cpu", None):
        raise UnsupportedDeviceError(
            "Currently unsupported TF device %r specified%s. It can be 'gpu', 'cpu', or unset: a GPU if there is one.%s"
            % (device, " in TF_DEVICE" if from_env else "", did_you_mean(device, ["gpu", "cpu"]))
        )
    gpus = tf.config.list_physical_devices("GPU")
    if device == "gpu" and not gpus:
        seen = ", ".join(d.name for d in tf.config.list_physical_devices())
        raise ConfigError(
            f"no GPU available. device = 'gpu' needs one, but TensorFlow sees only: {seen} "
            f"(CUDA_VISIBLE_DEVICES: {os.environ.get('CUDA_VISIBLE_DEVICES', 'not set')}).\n"
            "Set device = 'cpu', or remove it to use a GPU only where there is one."
        )
    if device is None:
        if gpus:
            print("Device not set explicitly, and we found a GPU, which we will use.", file=log.v2)
        else:
            print("Device not set explicitly, and no GPU found.", file=log.v2)
        device = "gpu" if gpus else "cpu"
    config.set("device", device)
    return device


def session_options(config: Config, *, device: str) -> dict[str, Any]:
    """
    :param config: option ``tf_session_opts``, a dict of ``ConfigProto`` arguments, goes before the defaults
    :param device: ``"gpu"`` or ``"cpu"``
    :return: arguments of ``ConfigProto``
    """
    opts = dict(config.typed_value("tf_session_opts") or {})
    opts.setdefault("log_device_placement", False)
    opts["device_count"] = {"GPU": 1 if device == "gpu" else 0, **opts.get("device_count", {})}
    if device == "gpu":
        gpu_options = dict(opts.get("gpu_options") or {})
        if "per_process_gpu_memory_fraction" not in gpu_options:
            gpu_options.setdefault("allow_growth", True)
        opts["gpu_options"] = gpu_options
    num_threads, _ = _num_threads()
    if num_threads:
        opts.setdefault("intra_op_parallelism_threads", max(num_threads, _MIN_NUM_THREADS))
        opts.setdefault("inter_op_parallelism_threads", max(num_threads, _MIN_NUM_THREADS))
    return opts


def make_session(config: Config, graph: tf.Graph) -> v1.Session:
    """
    :param config: options ``device``, ``tf_session_opts``, ``wrap_tf_session``
    :param graph: the session is bound to it
    :return: new session
    """
    device = select_device(config)
    opts = session_options(config, device=device)
    print("Setup TF session with options %r ..." % opts, file=log.v2)
    session = v1.Session(graph=graph, config=_config_proto(opts))
    if device == "gpu":
        for gpu in session.list_devices():
            if gpu.device_type == "GPU":
                details = (
                    socket.gethostname(),
                    _physical_gpu_index(0),
                    gpu.name,
                    human_bytes_size(gpu.memory_limit_bytes),
                )
                print("Hostname %r, GPU %i, GPU-dev-name %r, GPU-memory %s" % details, file=log.v2)
    wrap = config.typed_value("wrap_tf_session")
    return wrap(session) if wrap else session


def _config_proto(opts: Mapping[str, Any]) -> v1.ConfigProto:
    try:
        return v1.ConfigProto(**opts)
    except (ValueError, TypeError) as exc:
        valid = v1.ConfigProto.DESCRIPTOR.fields_by_name
        hints = "".join(did_you_mean(name, valid) for name in opts if name not in valid)
        raise ConfigError(f"tf_session_opts = {dict(opts)!r}: {exc}.{hints}") from exc


def _num_threads() -> tuple[int | None, str]:
    """
    :return: threads for each of the two pools of TensorFlow as the environment wants it (None: as TensorFlow does),
        and what said so
    """
    num_proc = _sge_num_proc()
    if num_proc:
        return num_proc, "SGE num_proc"
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()  # a list has one entry a nesting level
    if text.isdigit() and int(text) > 0:
        return int(text), "OMP_NUM_THREADS"
    return None, ""


def _sge_num_proc() -> int | None:
    """
    :return: what this job asked the Sun Grid Engine for by ``-l num_proc=N``; None outside such a job
    """
    job_id = os.environ.get("JOB_ID")
    if not job_id or not os.environ.get("SGE_ROOT"):
        return None
    try:
        out = subprocess.run(["qstat", "-j", job_id], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\bnum_proc=(\d+)", out)
    return int(found.group(1)) if found else None


def _physical_gpu_index(index: int) -> int:
    """
    :param index: as TensorFlow counts, among the visible GPUs
    :return: as the machine counts; where ``CUDA_VISIBLE_DEVICES`` has names instead of numbers, ``index``
    """
    visible = [entry.strip() for entry in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return int(visible[index]) if index < len(visible) and visible[index].isdigit() else index


def _gpu_name(device: tf.config.PhysicalDevice) -> str:
    return tf.config.experimental.get_device_details(device).get("device_name") or device.name


def _describe(device: tf.config.PhysicalDevice) -> str:
    name = ", %s" % _gpu_name(device) if device.device_type == "GPU" else ""
    return "%s (%s%s)" % (device.name, device.device_type, name)
