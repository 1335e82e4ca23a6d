"""From behaviour version 17 on, the output of zoneout is that which is carried."""

from returnn.util.basic import BehaviorVersion

BehaviorVersion.set(17)

_opts = {"zoneout_factor_cell": 0.5, "zoneout_factor_output": 0.25}
extern_data = {"data": {"dim": 3}}
network = {
    "both": {"class": "rec", "unit": "zoneoutlstm", "unit_opts": _opts, "n_out": 2, "from": "data"},
    "output": {"class": "copy", "from": "both", "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
