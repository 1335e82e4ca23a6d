"""The provider gives every frame of every batch once, zero padded, and never hides an error or hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import Dataset, DatasetSeq
from returnn.datasets.cached2 import CachedDataset2
from returnn.datasets.static import StaticDataset
from returnn.tf.compat import tf
from returnn.tf.data_pipeline import FeedDictDataProvider, check_extern_data
from returnn.util.errors import ConfigError, UserError
from tests.tf.fake_network import FakeExternData, fake_data


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """Each test has its own."""
    with tf.Graph().as_default() as graph:
        yield graph


def _seq(length: int, *, dim: int = 2, label: int = 1) -> dict[str, numpy.ndarray]:
    """Frames are all ``length``, labels are all ``label``."""
    return {
        "data": numpy.full((length, dim), length, "float32"),
        "classes": numpy.full((length,), label, "int32"),
    }


def _dataset(seqs: list[dict[str, numpy.ndarray]], **kwargs: Any) -> Dataset:
    dataset = StaticDataset(seqs, name="train", output_dim={"data": (2, 2), "classes": (2, 1)}, **kwargs)
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    return dataset


def _provider(
    dataset: Dataset,
    *,
    extern_data: Any = None,
    recurrent_net: bool = True,
    provider_opts: Any = None,
    **batch_opts: Any,
) -> FeedDictDataProvider:
    return FeedDictDataProvider(
        dataset=dataset,
        batches=dataset.generate_batches(recurrent_net=recurrent_net, **{"batch_size": 1000, **batch_opts}),
        extern_data=extern_data or FakeExternData.for_classes(num_inputs=2, num_classes=2),
        **(provider_opts or {}),
    )


def _by_name(feed: dict[Any, Any]) -> dict[str, Any]:
    return {tensor.op.name.replace("extern_data/placeholders/", ""): value for tensor, value in feed.items()}


def _all(provider: FeedDictDataProvider) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    provider.start_threads()
    try:
        result = []
        while provider.have_more_data():
            feed, meta = provider.get_feed_dict()
            result.append((_by_name(feed), meta))
        assert provider.have_reached_end()
        return result
    finally:
        provider.stop_threads()


def test_batches_are_padded_and_complete() -> None:
    """Lengths 2, 4, 3 by two: data (2, 4, 2) with sizes [2, 4] and zeros behind, then size [3], then the end."""
    provider = _provider(_dataset([_seq(2), _seq(4), _seq(3)]), max_seqs=2)
    (first, first_meta), (second, second_meta) = _all(provider)
    assert first["data/data"].shape == (2, 4, 2) and first["data/data"].dtype == "float32"
    numpy.testing.assert_array_equal(first["data/data"][0, :, 0], [2, 2, 0, 0])
    numpy.testing.assert_array_equal(first["data/data_dim0_size"], [2, 4])
    assert first["data/data_dim0_size"].dtype == "int32"
    numpy.testing.assert_array_equal(first["classes/classes"], [[1, 1, 0, 0], [1, 1, 1, 1]])
    assert first["batch_dim"] == 2 and second["batch_dim"] == 1
    assert first_meta == {"seq_idx": [0, 1], "seq_tag": ["seq-0", "seq-1"], "complete_frac": pytest.approx(2 / 3)}
    numpy.testing.assert_array_equal(second["data/data_dim0_size"], [3])
    assert second_meta["complete_frac"] == 1


def test_batch_slice_skips_batches_unloaded() -> None:
    """Of batches 0, 1, 2 the slice [1::2] has only 1."""
    provider = _provider(
        _dataset([_seq(2), _seq(4), _seq(3)]), max_seqs=1, provider_opts={"batch_slice": slice(1, None, 2)}
    )
    assert [meta["seq_idx"] for _, meta in _all(provider)] == [[1]]


def test_frames_of_a_non_recurrent_batch_stand_end_to_end() -> None:
    """Lengths 2, 4, 3 in batches of 5 frames: 2 + 3 of 4, then 1 of 4 + 3."""
    provider = _provider(_dataset([_seq(2), _seq(4), _seq(3)]), recurrent_net=False, batch_size=5)
    (first, _), (second, meta) = _all(provider)
    numpy.testing.assert_array_equal(first["data/data"][:, :, 0], [[2, 2, 4, 4, 4]])
    numpy.testing.assert_array_equal(second["data/data"][:, :, 0], [[4, 3, 3, 3]])
    numpy.testing.assert_array_equal(second["data/data_dim0_size"], [4])
    assert meta["seq_tag"] == ["seq-1"]


def test_context_frames_outside_of_a_sequence_are_zero() -> None:
    """Chunk frames -1 to 3 of a sequence of 2 frames: 0, 2, 2, 0."""
    provider = _provider(_dataset([_seq(2)], context_window={"data": 3}))
    ((feed, _),) = _all(provider)
    numpy.testing.assert_array_equal(feed["data/data"][0, :, 0], [0, 2, 2, 0])
    numpy.testing.assert_array_equal(feed["data/data_dim0_size"], [4])
    numpy.testing.assert_array_equal(feed["classes/classes"], [[1, 1]])


def test_single_threaded_reads_here_and_asserts_at_the_end() -> None:
    """One batch, then an assertion."""
    provider = _provider(_dataset([_seq(2)]))
    feed, meta = provider.get_feed_dict(single_threaded=True)
    assert meta["seq_tag"] == ["seq-0"] and _by_name(feed)["batch_dim"] == 1
    with pytest.raises(AssertionError, match="no batch is left"):
        provider.get_feed_dict(single_threaded=True)


def test_tags_and_indices_and_values_without_time_can_be_fed() -> None:
    """Extern data seq_idx int32 (batch,), seq_tag string (batch,), a [3] vector and a text per sequence."""
    extern_data = FakeExternData(
        {
            "data": fake_data("data", (None, 2), "float32", dim=2, sparse=False),
            "vec": fake_data("vec", (3,), "float32", dim=3, sparse=False),
            "text": fake_data("text", (), "string", dim=None, sparse=False),
            "seq_tag": fake_data("seq_tag", (), "string", dim=None, sparse=False),
            "seq_idx": fake_data("seq_idx", (), "int32", dim=None, sparse=False),
        }
    )
    seqs = [{**_seq(n), "vec": numpy.full(3, n, "float32"), "text": numpy.array("t%i" % n, dtype="O")} for n in (2, 4)]
    dataset = StaticDataset(seqs, name="train")
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    ((feed, _),) = _all(_provider(dataset, extern_data=extern_data))
    numpy.testing.assert_array_equal(feed["vec/vec"], [[2, 2, 2], [4, 4, 4]])
    assert feed["text/text"] == ["t2", "t4"]
    assert feed["seq_tag/seq_tag"] == ["seq-0", "seq-1"]
    numpy.testing.assert_array_equal(feed["seq_idx/seq_idx"], [0, 1])


class _FailingDataset(CachedDataset2):
    """Endless; raises at sequence 7."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_inputs, self.num_outputs = 2, {"data": (2, 2), "classes": (2, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq:
        if seq_idx == 7:
            raise ValueError("bad sequence")
        return DatasetSeq(seq_idx, _seq(3)["data"], targets=_seq(3)["classes"])


def test_error_in_the_thread_is_raised_where_data_is_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    """The batches before it are delivered, then comes the very exception, with its traceback; no normal end."""
    dataset = _FailingDataset(name="train")
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    provider = _provider(dataset, max_seqs=2)
    provider.start_threads()
    num = 0
    with pytest.raises(ValueError, match="bad sequence") as exc_info:
        while provider.have_more_data():
            provider.get_feed_dict()
            num += 1
    assert num >= 3
    assert "_collect_single_seq" in [entry.name for entry in exc_info.traceback]
    assert not provider.have_reached_end()
    provider.stop_threads()
    assert "Exception in DataProvider thread: ValueError('bad sequence')" in capsys.readouterr().out


def test_stop_ends_a_thread_that_waits_for_room() -> None:
    """20 batches, room for 2: nobody takes one, and still stop returns and the thread is gone."""
    provider = _provider(_dataset([_seq(2)] * 20), max_seqs=1, provider_opts={"capacity": 2})
    provider.start_threads()
    assert provider.have_more_data()
    time.sleep(0.05)
    provider.stop_threads()
    assert not [thread for thread in threading.enumerate() if thread.name == "DataProvider thread"]
    assert not provider.have_reached_end()


def test_capacity_bounds_what_is_loaded_ahead() -> None:
    """With capacity 2, the thread holds 2 batches in the queue and one in hand: at most 3 tags were asked for."""
    dataset = _dataset([_seq(2)] * 20)
    tags = []
    dataset.get_tag = lambda i: tags.append(i) or "seq-%i" % i
    provider = _provider(dataset, max_seqs=1, provider_opts={"capacity": 2})
    provider.start_threads()
    assert provider.have_more_data()
    time.sleep(0.2)
    provider.stop_threads()
    assert len(tags) == 3


def test_a_producer_that_dies_without_a_word_is_noticed() -> None:
    """The queue says so instead of waiting for ever."""
    provider = _provider(_dataset([_seq(2)]))
    provider._thread_main = lambda: None
    provider.start_threads()
    with pytest.raises(RuntimeError, match="DataProvider thread died without a word"):
        provider.have_more_data()
    provider.stop_threads()


@pytest.mark.parametrize("label", [-1, 2])
def test_label_out_of_range_names_key_sequence_and_frame(label: int) -> None:
    """Labels of 2 classes are 0 and 1."""
    bad = _seq(4)
    bad["classes"][2] = label
    provider = _provider(_dataset([_seq(2), bad]))
    provider.start_threads()
    with pytest.raises(UserError) as exc_info:
        provider.have_more_data()
    provider.stop_threads()
    assert str(exc_info.value) == (
        f"Label out of range: data key 'classes' of sequence 'seq-1' of StaticDataset 'train' has label {label} in "
        "frame 2, but extern_data['classes'] has dim 2, so labels are 0 to 1. Correct the data, or the dim."
    )


def test_label_out_of_range_in_a_row_of_several_sequences() -> None:
    """Frames end to end: the bad label at frame 1 of seq-1 is frame 3 of the row."""
    bad = _seq(4)
    bad["classes"][1] = 5
    provider = _provider(_dataset([_seq(2), bad, _seq(3)]), recurrent_net=False)
    with pytest.raises(UserError, match="sequence 'seq-1' .* has label 5 in frame 1,"):
        provider.get_feed_dict(single_threaded=True)


def test_data_unlike_what_was_said_is_a_user_error() -> None:
    """A sequence with 3 features where 2 were declared; floats where labels are due."""
    provider = _provider(_dataset([_seq(2), _seq(2, dim=3)]))
    with pytest.raises(UserError, match=r"extern_data\['data'\] .* shape \(2,\) .* 'seq-1' .* shape \(3,\)"):
        provider.get_feed_dict(single_threaded=True)
    seq = {**_seq(2), "classes": numpy.zeros(2, "float32")}
    with pytest.raises(UserError, match=r"extern_data\['classes'\] .* dtype int32, .* dtype float32"):
        _provider(_dataset([seq])).get_feed_dict(single_threaded=True)


def test_length_mismatch_has_the_known_text() -> None:
    """The dataset says 3 frames and gives 2."""
    dataset = _dataset([_seq(3)])
    provider = _provider(dataset)
    get_data_slice = dataset.get_data_slice
    dataset.get_data_slice = lambda seq_idx, key, start, end: get_data_slice(seq_idx, key, start, end)[:2]
    with pytest.raises(Exception, match=r"got shape\[0\]: 2, expected: 3, start/end: 0/3, seq_idx: 0, seq len: "):
        provider.get_feed_dict(single_threaded=True)


def _mismatches(dataset: Dataset, keys: set[str], **data: Any) -> list[str]:
    with pytest.raises(ConfigError) as exc_info:
        check_extern_data(SimpleNamespace(data=data), dataset, keys)
    return str(exc_info.value).splitlines()


def test_extern_data_is_compared_with_the_dataset_all_at_once() -> None:
    """A wrong dim, wrong sparseness and a missing key: each a line with expected and got."""
    lines = _mismatches(
        _dataset([_seq(2)]),
        {"data", "classes", "other"},
        data=fake_data("data", (None, 5), "float32", dim=5, sparse=False),
        classes=fake_data("classes", (None, 2), "float32", dim=2, sparse=False),
        other=fake_data("other", (None,), "int32", dim=2, sparse=True),
    )
    assert lines[0] == "extern_data does not match StaticDataset 'train':"
    assert "  key 'data' dim mismatch. The network expects 5, the dataset delivers 2" in lines
    assert "  key 'classes' sparse mismatch. The network expects False, the dataset delivers True" in lines
    assert "  key 'other' missing. The dataset has: classes, data" in lines


def test_extern_data_that_matches_is_fine() -> None:
    """Also with an integer type of other width, an open dim, and keys that are not used."""
    data = {
        "data": fake_data("data", (None, None), "float32", dim=None, sparse=False),
        "classes": fake_data("classes", (None,), "uint8", dim=2, sparse=True),
    }
    check_extern_data(SimpleNamespace(data=data), _dataset([_seq(2)]), {"data", "classes", "seq_tag"})
    check_extern_data(SimpleNamespace(data={}), _dataset([_seq(2)]), set())


def test_keys_with_one_time_axis_must_have_equal_lengths() -> None:
    """data and classes share their lengths placeholder; 2 and 3 frames do not fit."""
    extern_data = FakeExternData.for_classes(num_inputs=2, num_classes=2)
    extern_data.data["classes"].size_placeholder = extern_data.data["data"].size_placeholder
    good = _provider(_dataset([_seq(2)]), extern_data=extern_data)
    assert "classes/classes_dim0_size" not in _by_name(good.get_feed_dict(single_threaded=True)[0])
    seq = {**_seq(2), "classes": numpy.zeros(3, "int32")}
    with pytest.raises(UserError, match=r"lengths in the batch of \['seq-0'\] differ: \[2\] and \[3\]"):
        _provider(_dataset([seq]), extern_data=extern_data).get_feed_dict(single_threaded=True)
