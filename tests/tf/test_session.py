"""The device is what the config says, or the program ends before any data is read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from returnn.config import Config
from returnn.log import log
from returnn.tf import session as session_module
from returnn.tf.compat import tf
from returnn.tf.session import make_session, select_device, session_options, setup_backend
from returnn.util.errors import ConfigError, UserError

_CPU = SimpleNamespace(name="/physical_device:CPU:0", device_type="CPU")
_GPU = SimpleNamespace(name="/physical_device:GPU:0", device_type="GPU")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where nobody has set anything."""
    for name in ("TF_DEVICE", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "SGE_ROOT", "JOB_ID"):
        monkeypatch.delenv(name, raising=False)


def _devices(monkeypatch: pytest.MonkeyPatch, *devices: SimpleNamespace) -> None:
    """TensorFlow sees these."""
    monkeypatch.setattr(
        tf.config, "list_physical_devices", lambda kind=None: [d for d in devices if kind in (None, d.device_type)]
    )
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda d: {"device_name": "Big GPU"})


@pytest.mark.parametrize("device", ["gpu0", "cuda", "cpu0"])
def test_other_devices_are_an_error(device: str) -> None:
    """A ValueError, with the known words, and a UserError."""
    with pytest.raises(ValueError, match="^Currently unsupported TF device '%s' specified" % device) as exc_info:
        select_device(Config({"device": device}))
    assert isinstance(exc_info.value, UserError)


def test_required_gpu_that_is_absent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An AssertionError that says what was seen."""
    _devices(monkeypatch, _CPU)
    with pytest.raises(AssertionError, match="^no GPU available.*sees only: /physical_device:CPU:0 "):
        select_device(Config({"device": "gpu"}))


@pytest.mark.parametrize("unset", [None, ""])
def test_unset_device_takes_a_gpu_if_there_is_one(
    unset: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the config knows it then, so that asking again says nothing."""
    for devices, device, line in [
        ([_CPU, _GPU], "gpu", "Device not set explicitly, and we found a GPU, which we will use.\n"),
        ([_CPU], "cpu", "Device not set explicitly, and no GPU found.\n"),
    ]:
        _devices(monkeypatch, *devices)
        config = Config({"device": unset})
        assert select_device(config) == device == config.value("device", None)
        assert capsys.readouterr().out == line
        assert select_device(config) == device
        assert capsys.readouterr().out == ""


def test_environment_goes_before_the_config(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """TF_DEVICE=cpu in spite of device = "gpu"."""
    monkeypatch.setenv("TF_DEVICE", "cpu")
    config = Config({"device": "gpu"})
    log.initialize([], [4])
    assert select_device(config) == "cpu" == config.value("device", None)
    log.initialize([], [3])
    assert capsys.readouterr().out == "Devices: Use cpu via TF_DEVICE instead of gpu.\n"


def test_setup_says_what_there_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Version, visible GPUs, threads, devices, and the one that is used, under its number on the machine."""
    _devices(monkeypatch, _CPU, _GPU)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    setup_backend(Config({"device": "gpu"}))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("TensorFlow: %s (" % tf.__version__)
    assert lines[1:] == [
        "CUDA_VISIBLE_DEVICES is set to '3,1'.",
        "Use num_threads=1 (but min 2) via OMP_NUM_THREADS.",
        "Setup TF inter and intra global thread pools, num_threads 2, session opts {}.",
        "Collecting TensorFlow device list...",
        "Local devices available to TensorFlow:",
        "  1/2: /physical_device:CPU:0 (CPU)",
        "  2/2: /physical_device:GPU:0 (GPU, Big GPU)",
        "Using gpu device 3: Big GPU",
    ]


def test_setup_notes_an_unused_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """GPU numbers may also be names, which are left alone."""
    _devices(monkeypatch, _CPU, _GPU)
    setup_backend(Config({"device": "cpu"}))
    out = capsys.readouterr().out
    assert "CUDA_VISIBLE_DEVICES is not set.\n" in out
    assert out.endswith("Note: There is a GPU available but you have set device=cpu.\n")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937-d72c")
    setup_backend(Config({"device": "gpu"}))
    assert capsys.readouterr().out.endswith("Using gpu device 0: Big GPU\n")


def test_session_options_have_defaults_that_the_config_overrides(monkeypatch: pytest.MonkeyPatch) -> None:
    """One GPU or none, its memory taken as needed; two threads at least where the environment speaks of threads."""
    assert session_options(Config(), device="cpu") == {"log_device_placement": False, "device_count": {"GPU": 0}}
    assert session_options(Config(), device="gpu") == {
        "log_device_placement": False,
        "device_count": {"GPU": 1},
        "gpu_options": {"allow_growth": True},
    }
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    opts = {
        "gpu_options": {"per_process_gpu_memory_fraction": 0.92},
        "allow_soft_placement": True,
        "intra_op_parallelism_threads": 5,
    }
    assert session_options(Config({"tf_session_opts": opts}), device="gpu") == {
        **opts,
        "log_device_placement": False,
        "device_count": {"GPU": 1},
        "inter_op_parallelism_threads": 2,
    }


def test_threads_as_the_grid_engine_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """num_proc of the job goes before OMP_NUM_THREADS."""
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("SGE_ROOT", "/sge")
    monkeypatch.setenv("JOB_ID", "42")
    out = "job_number: 42\nhard resource_list:         h_vmem=8G,num_proc=6\n"
    monkeypatch.setattr(session_module.subprocess, "run", lambda args, **_: SimpleNamespace(stdout=out))
    assert session_options(Config(), device="cpu")["intra_op_parallelism_threads"] == 6

    def no_qstat(*_args: object, **_kwargs: object) -> None:
        raise FileNotFoundError("qstat")

    monkeypatch.setattr(session_module.subprocess, "run", no_qstat)
    assert session_options(Config(), device="cpu")["intra_op_parallelism_threads"] == 3


def test_session_works_and_may_be_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    """wrap_tf_session gets the session and gives another."""
    with tf.Graph().as_default() as graph:
        one = tf.constant(1)
        session = make_session(Config({"device": "cpu", "wrap_tf_session": lambda s: ("wrapped", s)}), graph)
    assert session[0] == "wrapped" and session[1].run(one) == 1
    session[1].close()
    assert capsys.readouterr().out.startswith("Setup TF session with options {")


def test_unknown_session_option_is_a_user_error() -> None:
    """With the nearest valid name."""
    config = Config({"device": "cpu", "tf_session_opts": {"allow_soft_placment": True}})
    with pytest.raises(ConfigError, match='tf_session_opts = .*Did you mean "allow_soft_placement"'):
        make_session(config, tf.Graph())


def test_empty_device_list_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any device that TensorFlow reports, the CPU is used."""
    _devices(monkeypatch)
    assert select_device(Config()) == "cpu"
