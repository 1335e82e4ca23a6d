"""Datasets of a config: defaults from other keys, the share of the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.tasks import data
from returnn.tasks.data import cache_sizes, load_datasets, print_summary
from returnn.util.errors import ConfigError, UserError
from tests.fake_dataset import FakeDataset


@pytest.mark.parametrize(
    ("cache_size", "present", "sizes"),
    [
        ("2G", ["train", "dev"], (2**30 + 1, 2**30 + 1)),
        (["1G", "500M"], ["train", "dev", "eval"], (2**30 + 1, 500 * 2**20 + 1, 0)),
        ("0", ["train", "dev"], (0, 0)),
        (3072, ["train", "dev", "eval"], (1025, 1025, 1025)),
    ],
)
def test_cache_sizes(cache_size: Any, present: list[str], sizes: tuple[int, ...]) -> None:
    """Spec check 25: one value is shared by 1 + number of dev and eval; one byte more if there is any."""
    result = cache_sizes(Config({"cache_size": cache_size}), present)
    assert tuple(result[name] for name in present) == sizes


def test_cache_size_as_text_of_the_command_line() -> None:
    config = Config()
    config.add_line("cache_size", "1K,2K")
    assert cache_sizes(config, ["train", "dev"]) == {"train": 1025, "dev": 2049, "eval": 0}


def test_cache_size_without_option_is_some_of_the_memory() -> None:
    size = cache_sizes(Config(), ["train"])["train"]
    assert size == 0 or size % 2**30 == 1


@pytest.mark.parametrize("cache_size", ["much", ["1", "2", "3", "4"]])
def test_wrong_cache_size(cache_size: Any) -> None:
    with pytest.raises(ConfigError, match="cache_size: "):
        cache_sizes(Config({"cache_size": cache_size}), ["train"])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the datasets are made of."""
    calls: list[tuple[Any, ...]] = []

    def init_dataset(kwargs: Any, default_kwargs: Any = None) -> FakeDataset:
        calls.append((kwargs, default_kwargs))
        return FakeDataset()

    def init_dataset_via_str(text: str, config: Config, cache_byte_size: int, **kwargs: Any) -> FakeDataset:
        calls.append((text, cache_byte_size, kwargs))
        return FakeDataset()

    monkeypatch.setattr(data, "init_dataset", init_dataset)
    monkeypatch.setattr(data, "init_dataset_via_str", init_dataset_via_str)
    return calls


def test_dict_gets_defaults_of_the_config(calls: list[tuple[Any, ...]]) -> None:
    """Order of creation: dev, train. The dict wins; `batching` is called seq_ordering in a dataset."""
    config = Config({"batching": "random", "chunking": "10:5", "cache_size": "0"})
    config.update({"train": {"class": "X", "a": 1}, "dev": {"class": "HDFDataset", "seq_ordering": "default"}})
    datasets = load_datasets(config)
    assert list(datasets) == ["train", "dev"]
    (dev, _), (train, _) = calls
    assert train["name"] == "train" and train["seq_ordering"] == "random" and train["chunking"] == "10:5"
    assert dev["name"] == "dev" and dev["seq_ordering"] == "default" and dev["chunking"] == "0"
    assert dev["cache_byte_size"] == 0 and "cache_byte_size" not in train
    assert config.typed_dict["train"] == {"class": "X", "a": 1}  # not changed


def test_text_and_function(calls: list[tuple[Any, ...]]) -> None:
    def make_dev() -> dict[str, Any]:
        return {"class": "X"}

    config = Config({"train": "a.hdf", "dev": make_dev, "eval": None, "cache_size": "2K"})
    assert list(load_datasets(config)) == ["train", "dev"]
    (dev, defaults), train = calls
    assert dev is make_dev and defaults["name"] == "dev" and defaults["seq_ordering"] == "sorted"
    assert train == ("a.hdf", 1025, {"name": "train"})


def test_real_dataset_of_a_config() -> None:
    """What the other tests replace: one dataset made for real, by a class of the config."""
    config = Config({"train": {"class": FakeDataset}, "batching": "random"})
    dataset = load_datasets(config)["train"]
    assert isinstance(dataset, Dataset) and dataset.name == "train" and dataset.seq_ordering == "random"


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    print_summary({"train": FakeDataset(), "eval": FakeDataset()})
    assert capsys.readouterr().out == (
        "Train data:\n  input: 9 x 1\n  output: {'classes': (2, 1), 'data': (9, 2)}\n"
        "  FakeDataset, sequences: 3, frames: unknown\n"
        "Eval data:\n  FakeDataset, sequences: 3, frames: unknown\n"
    )


def test_text_of_a_dict_gets_defaults_of_the_config(calls: list[tuple[Any, ...]]) -> None:
    """As the dict itself does."""
    load_datasets(Config({"train": '{"class": "X", "a": 1}', "batching": "random", "cache_size": "0"}))
    ((train, _),) = calls
    assert train["class"] == "X" and train["seq_ordering"] == "random" and train["name"] == "train"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"class": "Foo"}, "dev: Dataset class 'Foo' not found. There are: "),
        ({"class": "StaticDataset", "data": [], "x": 1}, 'dev: dataset class "StaticDataset" has no option "x".'),
        ({"class": "HDFDataset", "files": ["{}/b.hdf"]}, "dev: HDF file not found: '{}/b.hdf' ("),
        ("{}/b.hdf", "dev: HDF file not found: '{}/b.hdf' ("),
        ("{1:", "dev: Cannot evaluate the dataset '{1:'"),
    ],
)
def test_mistakes_start_with_the_config_key(value: Any, message: str, tmp_path: Path) -> None:
    """A missing file: with the nearest name in its folder."""
    (tmp_path / "a.hdf").touch()
    if isinstance(value, dict):
        value = {k: [f.format(tmp_path) for f in v] if k == "files" else v for k, v in value.items()}
    elif value.endswith(".hdf"):
        value = value.format(tmp_path)
    with pytest.raises(UserError) as info:
        load_datasets(Config({"dev": value}))
    assert str(info.value).startswith(message.format(tmp_path) if "b.hdf" in message else message)
    assert "b.hdf" not in message or str(info.value).endswith('Did you mean "a.hdf"?')
