"""Old flat module names: ``import TFUtil`` and ``import returnn.TFUtil`` give the module that does that work today.

Nothing is imported before somebody asks for it. Real modules win: a bare old name is looked at last,
so a file ``Config.py`` of the user stays what it is.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Sequence

OLD_NAMES: dict[str, str] = {
    "rnn": "__main__",
    "Config": "config",
    "Log": "log",
    "Pretrain": "pretrain",
    "LearningRateControl": "learning_rate_control",
    "NativeOp": "native_op",
    # datasets
    "Dataset": "datasets.basic",
    "CachedDataset": "datasets.cached",
    "CachedDataset2": "datasets.cached2",
    "GeneratingDataset": "datasets.generating",
    "HDFDataset": "datasets.hdf",
    "LmDataset": "datasets.lm",
    "MetaDataset": "datasets.meta",
    "StereoDataset": "datasets.stereo",
    "NumpyDumpDataset": "datasets.numpy_dump",
    "SprintDataset": "datasets.sprint",
    "RawWavDataset": "datasets.raw_wav",
    "NormalizationData": "datasets.normalization_data",
    "BundleFile": "datasets.bundle_file",
    # engine
    "EngineBase": "engine.base",
    "EngineBatch": "engine.batch",
    # util
    "Util": "util.basic",
    "Debug": "util.debug",
    "DebugHelpers": "util.debug_helpers",
    "Fsa": "util.fsa",
    "TaskSystem": "util.task_system",
    "better_exchook": "util.better_exchook",
    # sprint
    "SprintCache": "sprint.cache",
    "SprintControl": "sprint.control",
    "SprintErrorSignals": "sprint.error_signals",
    "SprintExternInterface": "sprint.extern_interface",
    "SprintInterface": "sprint.interface",
    # TensorFlow
    "HyperParamTuning": "tf.hyper_param_tuning",
    "TFCompat": "tf.compat",
    "TFDataPipeline": "tf.data_pipeline",
    "TFDistributed": "tf.distributed",
    "TFEngine": "tf.engine",
    "TFHorovod": "tf.horovod",
    "TFNativeOp": "tf.native_op",
    "TFNetwork": "tf.network",
    "TFSprint": "tf.sprint",
    "TFUpdater": "tf.updater",
    "TFNetworkLayer": "tf.layers.basic",
    "TFNetworkRecLayer": "tf.layers.rec",
    "TFNetworkSigProcLayer": "tf.layers.signal_processing",
    "TFNetworkSegModLayer": "tf.layers.segmental_model",
    "TFUtil": "tf.util.basic",
    "TFKenLM": "tf.util.ken_lm",
}
"""Old name -> the module below ``returnn.`` that took it over."""


class _Alias:
    """A loader: imports the new module and enters it under the old name too; there is one module object."""

    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None  # an empty module, which exec_module replaces

    def exec_module(self, module: types.ModuleType) -> None:
        old, target = module.__name__, self._target
        try:
            sys.modules[old] = importlib.import_module(target)
        except ModuleNotFoundError as exc:
            if exc.name is None or not (target + ".").startswith(exc.name + "."):
                raise  # the module is there, something that it needs is not
            msg = f"{old} is the old name of {target}, which this version ({_version()}) does not have"
            raise ModuleNotFoundError(msg, name=old) from exc


class _OldNamesFinder:
    # The bases in importlib.abc would take longer to import than all of this package's ground floor.

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        new = OLD_NAMES.get(fullname.removeprefix("returnn."))
        if new is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Alias("returnn." + new))  # type: ignore[arg-type]


def _version() -> str:
    return sys.modules["returnn"].__version__


def install() -> None:
    """Makes the old names importable. Calling it again changes nothing."""
    if not any(isinstance(finder, _OldNamesFinder) for finder in sys.meta_path):
        sys.meta_path.append(_OldNamesFinder())
