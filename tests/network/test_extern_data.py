"""Extern data as configs declare it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from returnn.config import Config
from returnn.datasets.util.vocabulary import Vocabulary
from returnn.network.extern_data import DataNotFound, ExternData
from returnn.util.errors import ConfigError


def of_config(**config: Any) -> ExternData:
    data = ExternData()
    data.init_from_config(Config(config))
    return data


def test_numbers_of_inputs_and_outputs() -> None:
    """40 inputs, 9001 labels, which are not there in inference."""
    data = of_config(num_inputs=40, num_outputs=9001).data
    assert sorted(data) == ["classes", "data"]
    classes, features = data["classes"], data["data"]
    assert (classes.dim, classes.shape, classes.sparse, classes.available_for_inference) == (9001, (None,), True, False)
    assert (features.dim, features.shape, features.sparse) == (40, (None, 40), False)
    assert features.available_for_inference


@pytest.mark.parametrize(
    ("value", "shape", "sparse"),
    [([7, 1], (None,), True), ([7, 2], (None, 7), False), ([7, 3], (None, None, 7), False)],
)
def test_a_number_of_axes_beside_a_dim(value: list[int], shape: tuple[Any, ...], sparse: bool) -> None:
    """1: labels; else the dim is the last axis."""
    x = of_config(num_inputs=40, num_outputs={"x": value}).data["x"]
    assert (x.dim, x.shape, x.sparse) == (7, shape, sparse)


def test_both_ways_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The new one counts."""
    data = of_config(extern_data={"data": {"dim": 3}}, num_inputs=40, num_outputs=9001)
    assert list(data.data) == ["data"] and data.data["data"].dim == 3
    text = "Warning: Using extern_data and will ignore num_inputs/num_outputs in config."
    assert text in capsys.readouterr().out.splitlines()


def test_none_of_them() -> None:
    """An AssertionError, for programs that catch that."""
    with pytest.raises(ConfigError) as info:
        of_config()
    text = "provide extern_data in the config: a dict, data key -> dict with dim, shape, sparse, ..."
    assert str(info.value) == text and isinstance(info.value, AssertionError)


def test_if_nothing_is_for_inference_all_but_the_target_is() -> None:
    """The default input is called "data", unless the config says another name."""
    other = {"x": {"dim": 3}, "classes": {"dim": 4, "sparse": True}}
    by_key = {key: x.available_for_inference for key, x in of_config(extern_data=other).data.items()}
    assert by_key == {"x": True, "classes": False}
    named = of_config(extern_data={**other, "y": {"dim": 1}}, default_input="y").data
    assert {key: x.available_for_inference for key, x in named.items()} == {"x": False, "classes": False, "y": True}


def test_the_input_comes_first_in_sorted_order() -> None:
    keys = of_config(extern_data={"b": {"dim": 1}, "data": {"dim": 1}, "a": {"dim": 1}})
    assert [key for key, _ in keys.get_sorted_data_items()] == ["data", "a", "b"]


def test_a_key_that_is_not_there() -> None:
    with pytest.raises(DataNotFound) as info:
        of_config(extern_data={"data": {"dim": 1}, "classes": {"dim": 2, "sparse": True}}).get_data("clases")
    assert str(info.value) == "extern data 'clases' not found. Did you mean \"classes\"? Available: classes, data"


class _Dataset:
    """Features of 4, labels of 3 classes."""

    labels_dtype = "int32"

    def get_data_keys(self) -> list[str]:
        return ["data", "classes"]

    def is_data_sparse(self, key: str) -> bool:
        return key == "classes"

    def get_data_dtype(self, key: str) -> str:
        return self.labels_dtype if key == "classes" else "float32"

    def get_data_dim(self, key: str) -> int:
        return 3 if key == "classes" else 4

    def get_data_shape(self, key: str) -> list[int]:
        return [] if key == "classes" else [4]

    def __repr__(self) -> str:
        return "<train>"


@pytest.mark.parametrize(
    ("key", "declared", "what"),
    [
        ("classes", {"dim": 3}, "sparse"),
        ("data", {"dim": 4, "dtype": "int32"}, "dtype"),
        ("classes", {"dim": 4, "sparse": True}, "dim"),
        ("data", {"shape": (None, 2, 4)}, "shape"),
    ],
)
def test_a_dataset_that_is_not_as_declared(key: str, declared: dict[str, Any], what: str) -> None:
    """Key, and what it is that differs."""
    with pytest.raises(AssertionError, match="^key '%s' %s mismatch" % (key, what)):
        of_config(extern_data={key: declared}).check_matched_dataset(_Dataset())


def test_a_dataset_that_is() -> None:
    """Also where the config leaves the dim open, and where only some keys are used."""
    data = of_config(extern_data={"data": {"shape": (None, None)}, "classes": {"dim": 3, "sparse": True}})
    data.check_matched_dataset(_Dataset())
    of_config(extern_data={"data": {"dim": 4}, "x": {"dim": 1}}).check_matched_dataset(_Dataset(), ["data"])
    with pytest.raises(ConfigError, match="extern_data has the key 'x', but the dataset <train> only has: classes, da"):
        of_config(extern_data={"x": {"dim": 4}}).check_matched_dataset(_Dataset())


def test_vocabulary(tmp_path: Path) -> None:
    """A file, options, or the vocabulary itself. The dim follows from it."""
    (tmp_path / "labels").write_text("a\nb\n")
    options = {"vocab_file": str(tmp_path / "labels"), "unknown_label": None}
    for vocab in (str(tmp_path / "labels"), options, Vocabulary(None, labels=["a", "b"], unknown_label=None)):
        x = of_config(extern_data={"data": {"vocab": vocab}}).data["data"]
        assert (x.dim, x.sparse, x.vocab.labels) == (2, True, ["a", "b"])
    with pytest.raises(ConfigError, match=r"^extern_data\['data'\]: dim is 3, but vocab has 2 labels$"):
        of_config(extern_data={"data": {"dim": 3, "vocab": options}})
    with pytest.raises(ConfigError, match=r"^extern_data\['data'\]: vocab: vocabulary file not found: 'nowhere'"):
        of_config(extern_data={"data": {"vocab": "nowhere"}})
