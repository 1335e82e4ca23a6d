"""What configs and scripts import from ``returnn.util.basic`` (old name ``Util``). Imports and nothing else."""

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.better_repr import better_repr
from returnn.util.environment import cleanup_env_var_path
from returnn.util.format import hms, hms_fraction, human_bytes_size, human_size
from returnn.util.numbers_dict import NumbersDict
from returnn.util.orthography import parse_orthography, parse_orthography_into_symbols
from returnn.util.to_bool import to_bool

__all__ = [
    "BehaviorVersion",
    "NumbersDict",
    "better_repr",
    "cleanup_env_var_path",
    "hms",
    "hms_fraction",
    "human_bytes_size",
    "human_size",
    "parse_orthography",
    "parse_orthography_into_symbols",
    "to_bool",
]
