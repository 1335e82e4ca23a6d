"""Best alignments. One sequence has no path, one no labels."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": True},
    "with_blank": {"dim": 4, "sparse": True, "available_for_inference": True},
}


def align(source="log_probs", **opts):
    opts = {"align_target": "data:classes", "topology": "ctc", "input_type": "log_prob", **opts}
    return {"class": "forced_align", "from": source, "is_output_layer": True, **opts}


network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "probs": {"class": "softmax", "n_out": 4, "from": "data", "target": None},
    "log_probs": {"class": "activation", "activation": "safe_log", "from": "probs"},
    "log_probs_tm": {"class": "linear", "activation": "log_softmax", "n_out": 4, "from": "time_major"},
    "ctc": align(),
    "rna": align(topology="rna"),
    "of_probs": align("probs", input_type="prob"),
    "time_major_align": align("log_probs_tm"),
    "included": align(align_target="data:with_blank", blank_included=True, blank_idx=0),
    "ctc_scores": {"class": "copy", "from": "ctc/scores", "is_output_layer": True},
    "output": {"class": "copy", "from": "probs"},
}
fetch = ["ctc", "rna", "of_probs", "time_major_align", "included", "ctc_scores", "output"]
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 0], "with_blank": [3, 3, 2, 1, 1]}
values = {
    "classes": [[1, 2, 2], [2, 0, 1], [0, 1, 0], [2, 2, 0], [0, 0, 0]],
    "with_blank": [[1, 3, 3], [2, 1, 3], [3, 1, 0], [2, 0, 0], [1, 0, 0]],
}
param_scale = 1.0
