"""Which value of a file a parameter gets, and what the user is told about it."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.network.param_import import ImportOptions, ParamInfo, match_params, report_lines


def params(**shapes: tuple[int, ...]) -> list[ParamInfo]:
    return [ParamInfo(name.replace("__", "/"), shape, "float32") for name, shape in shapes.items()]


def values(**shapes: tuple[int, ...]) -> dict[str, numpy.ndarray]:
    rnd = numpy.random.RandomState(0)
    return {name.replace("__", "/"): rnd.normal(size=shape).astype("float32") for name, shape in shapes.items()}


def test_by_name() -> None:
    found = match_params(params(l__W=(2, 3), x__W=(1,)), values(l__W=(2, 3), y__W=(4,)))
    assert list(found.values) == ["l/W"]
    assert [p.name for p in found.missing] == ["x/W"]
    assert list(found.unused) == ["y/W"]


def test_prefix_is_taken_out_wherever_it_is_and_others_are_left() -> None:
    """lm_x/lm_b becomes x/b; l/b has no such text."""
    file = values(x__b=(3,), l__b=(3,))
    found = match_params(params(lm_x__lm_b=(3,), l__b=(3,)), file, ImportOptions(load_if_prefix="lm_"))
    assert list(found.values) == ["lm_x/lm_b"]
    assert found.values["lm_x/lm_b"] is file["x/b"]
    assert not found.missing


def test_params_prefix_is_cut_off() -> None:
    found = match_params(params(sub__l__W=(2,), l__W=(2,)), values(l__W=(2,)), ImportOptions(params_prefix="sub/"))
    assert list(found.values) == ["sub/l/W"] and not found.missing


def test_ignored_names_are_the_looked_up_ones() -> None:
    opts = ImportOptions(load_if_prefix="lm_", ignore_params=["a/W"], ignore_params_prefixes=["b"])
    file = values(a__W=(1,), b__W=(1,), c__W=(1,))
    assert list(match_params(params(lm_a__W=(1,), lm_b__W=(1,), lm_c__W=(1,)), file, opts).values) == ["lm_c/W"]


def test_name_mapping() -> None:
    file = values(old__W=(1,), b__W=(1,))
    opts = ImportOptions(var_name_mapping={"a/W": "old/W", "b/W": "old/W"})
    found = match_params(params(a__W=(1,), b__W=(1,)), file, opts)
    assert found.values["a/W"] is file["old/W"]
    assert found.values["b/W"] is file["b/W"]  # the name itself is there: with a warning
    assert found.renamed == {"a/W": ("old/W",)}


def test_function_for_what_is_missing() -> None:
    """It sees the name and shape that are wanted, and the file."""

    def load(*, name: str, shape: tuple[int, ...], reader: Any) -> Any:
        assert reader.has_tensor("x") and reader.get_variable_to_shape_map() == {"x": [2]}
        return numpy.full(shape, reader.get_tensor("x")[0]) if name == "a" else None

    found = match_params(params(a=(3,), b=(3,)), values(x=(2,)), ImportOptions(custom_missing_load_func=load))
    assert found.values["a"].shape == (3,) and found.values["a"].dtype == "float32"
    assert [p.name for p in found.missing] == ["b"]


@pytest.mark.parametrize(
    ("in_file", "in_model"),
    [
        ("l/batch_norm/l_l_output_mean", "l/batch_norm/mean"),
        ("l/batch_norm/l_l_output_mean", "l/batch_norm/v2_mean"),
        ("l/batch_norm/mean", "l/batch_norm/v2_mean"),
    ],
)
def test_versions_of_batch_norm(in_file: str, in_model: str) -> None:
    """[1, 1, 3] and [3] hold the same three numbers."""
    shape = (3,) if "v2" in in_model else (1, 1, 3)
    value = numpy.arange(3, dtype="float32").reshape(1, 1, 3)
    found = match_params([ParamInfo(in_model, shape, "float32")], {in_file: value, "l/batch_norm/x_beta": value})
    assert found.values[in_model].shape == shape and found.values[in_model].flatten().tolist() == [0, 1, 2]


def test_two_batch_norms_of_one_layer_are_not_guessed() -> None:
    value = numpy.zeros((1, 3), "float32")
    file = {"l/batch_norm/a_mean": value, "l/batch_norm/b_mean": value}
    assert match_params([ParamInfo("l/batch_norm/v2_mean", (3,), "float32")], file).missing


def test_not_critical_ones_may_be_missing() -> None:
    found = match_params([ParamInfo("rng", (3,), "int64", critical=False)], {})
    assert not found.missing and [p.name for p in found.not_critical] == ["rng"]


def test_report_is_a_table() -> None:
    file = values(l__W=(2, 3), h__W=(4,), old__W=(5,))
    wanted = params(l__W=(2, 3), h__W=(4, 1), new__b=(7,), a__W=(5,))
    found = match_params(wanted, file, ImportOptions(var_name_mapping={"a/W": "old/W"}))
    assert report_lines(found, what="checkpoint 'm'") == [
        "checkpoint 'm': 2 parameters loaded; 1 renamed, 1 new, 1 differs",
        "  renamed  a/W    from old/W",
        "  new      new/b  (7,), keeps its initial value",
        "  differs  h/W    file (4,) float32, network (4, 1) float32",
    ]


def test_long_report_is_cut() -> None:
    lines = report_lines(match_params(params(**{"p%02i" % i: (1,) for i in range(30)}), {}), what="m")
    assert len(lines) == 22 and lines[-1].split() == ["new", "...", "and", "10", "more"]


def test_all_loaded_is_one_line() -> None:
    assert report_lines(match_params(params(a=(1,)), values(a=(1,))), what="m") == ["m: 1 parameters loaded"]
