"""Parameters of a network from the values of a file, which may have other names, layouts or sizes."""

from .copy_modes import COPY_MODES, check_copy_mode, copy_param
from .matching import ImportOptions, ImportResult, ParamInfo, match_params, report_lines

__all__ = [
    "COPY_MODES",
    "ImportOptions",
    "ImportResult",
    "ParamInfo",
    "check_copy_mode",
    "copy_param",
    "match_params",
    "report_lines",
]
