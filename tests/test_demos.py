"""The demos run through the command line, shortened, and learn."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy
import pytest

from returnn.learning_rate_file import read_learning_rate_file
from tests.program import root, run_program, run_python, scores

pytestmark = pytest.mark.slow

_demos = root / "demos"


def test_12ax(tmp_path: Path) -> None:
    """Guessing L always is wrong in 14 % of the frames. The second run goes on where the first one ended."""
    config = _demos / "demo-12ax.config"
    log = run_program(config, "++num_epochs", "2", cwd=tmp_path)
    assert "start training at epoch 1" in log
    (first, _), (second, error) = scores(log, "dev")
    assert second < 0.5 * first
    assert error < 0.05
    assert len(scores(log, "train")) == 2

    log = run_program(config, "++num_epochs", "3", cwd=tmp_path)
    assert "start training at epoch 3" in log
    ((third, error),) = scores(log, "dev")
    assert third < second
    assert error < 0.01
    assert "Finished training in epoch 3." in log
    assert "No epochs to train, start_epoch: 4, final_epoch: 3" in run_program(
        config, "++num_epochs", "3", cwd=tmp_path
    )
    assert [path.name for path in tmp_path.iterdir()] == ["12ax"]
    assert "train epoch 3, step 0, cost:output" in (tmp_path / "12ax" / "log").read_text()


def test_12ax_in_another_folder(tmp_path: Path) -> None:
    """All files follow ``model``."""
    train = '{"class": "Task12AXDataset", "num_seqs": 20}'
    config = _demos / "demo-12ax.config"
    run_program(config, "++model", "a/b/net", "++num_epochs", "1", "++train", train, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    files = {path.name for path in (tmp_path / "a" / "b").iterdir()}
    assert {"net.001.index", "learning_rates", "log", "tensorboard"} <= files


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the HDF files of the digits demo in ``digits/``."""
    folder = tmp_path_factory.mktemp("digits")
    result = run_python(_demos / "digits" / "make_hdf.py", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_digits_files(digits: Path) -> None:
    """8 columns a digit; no image is in two files, and so no column of pixels but by chance."""
    columns = {}
    for name, num_lines in {"train": 4000, "dev": 250, "eval": 500}.items():
        with h5py.File(digits / "digits" / f"{name}.hdf") as file:
            lens = file["seqLengths"][:]
            assert lens.shape == (num_lines, 2)
            assert set(lens[:, 1]) == {3, 4, 5, 6, 7}
            numpy.testing.assert_array_equal(lens[:, 0], 8 * lens[:, 1])
            assert list(file["targets/labels/classes"]) == [b"%i" % digit for digit in range(10)]
            images = file["inputs"][:].reshape(-1, 64)
            assert images.min() == 0
            assert images.max() == 1
            columns[name] = {image.tobytes() for image in images}
    assert {name: len(images) for name, images in columns.items()} == {"train": 1297, "dev": 250, "eval": 250}
    assert len(set.union(*columns.values())) == 1797


def test_digits_files_are_the_same_each_time(digits: Path, tmp_path: Path) -> None:
    """A second call replaces the files by equal ones."""
    for _ in range(2):
        assert run_python(_demos / "digits" / "make_hdf.py", ".", cwd=tmp_path).returncode == 0
    for name in ("train", "dev", "eval"):
        assert (tmp_path / f"{name}.hdf").read_bytes() == (digits / "digits" / f"{name}.hdf").read_bytes()


def test_digits_without_scikit_learn(tmp_path: Path) -> None:
    """The message says what to install."""
    code = (
        "import runpy, sys; sys.modules['sklearn'] = None;"
        f" runpy.run_path({str(_demos / 'digits' / 'make_hdf.py')!r}, run_name='__main__')"
    )
    result = run_python("-c", code, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "make_hdf.py needs scikit-learn, for its images. Install it: pip install -e '.[demo]'\n"
    assert list(tmp_path.iterdir()) == []


def test_digits_learn(digits: Path, tmp_path: Path) -> None:
    """Six epochs of 15, which is where the label error rate has come down from 100 % to a few percent."""
    config = _demos / "digits" / "digits.config"
    log = run_program(config, "++data", digits / "digits", "++num_epochs", "6", cwd=tmp_path, timeout=280)
    assert "HDFDataset, sequences: 4000, frames: " in log
    errors = [error for _, error in scores(log, "eval")]
    assert len(errors) == 6
    assert errors[0] > 0.5
    assert errors[-1] < 0.1
    assert scores(log, "dev")[-1][1] < 0.1
    _check_eval(config, digits, tmp_path, epoch=6)
    _check_forward(config, digits, tmp_path)


def _check_eval(config: Path, digits: Path, folder: Path, *, epoch: int) -> None:
    """The scores are those that the training has written down."""
    recorded = read_learning_rate_file(str(folder / "digits" / "learning_rates"))[epoch].error
    log = run_program(config, "++data", digits / "digits", "++task", "eval", "++load_epoch", str(epoch), cwd=folder)
    for name in ("dev", "eval"):
        assert scores(log, name) == [pytest.approx((recorded[f"{name}_score"], recorded[f"{name}_error"]), abs=1e-5)]


def _check_forward(config: Path, digits: Path, folder: Path) -> None:
    """Of each line the probabilities of 10 digits and the blank; taking the best ones gives most lines right."""
    run_program(config, "++data", digits / "digits", "++task", "forward", "++num_epochs", "6", cwd=folder)
    lines = _sequences(digits / "digits" / "eval.hdf", "targets/data/classes", column=1)
    outputs = _sequences(folder / "digits" / "posteriors.hdf", "inputs", column=0)
    assert lines.keys() == outputs.keys()
    num_right = 0
    for tag, line in lines.items():
        assert outputs[tag].shape == (8 * len(line), 11)
        numpy.testing.assert_allclose(outputs[tag].sum(axis=1), 1, atol=1e-5)
        path = outputs[tag].argmax(axis=1)
        path = path[numpy.append(True, path[1:] != path[:-1])]
        num_right += numpy.array_equal(path[path != 10], line)
    assert num_right > 300  # of 500 lines; with 5 digits a line and 8 % errors it is two thirds


def _sequences(filename: Path, dataset: str, *, column: int) -> dict[bytes, numpy.ndarray]:
    """Tag -> what the file has for it; ``column`` is that of the lengths."""
    with h5py.File(filename) as file:
        parts = numpy.split(file[dataset][:], file["seqLengths"][:-1, column].cumsum())
        return dict(zip(file["seqTags"][:], parts, strict=True))


def test_digits_numbers_in_the_readme() -> None:
    """The main README and that of the demo say the same."""
    texts = [(folder / "README.md").read_text() for folder in (root, _demos / "digits")]
    found = [re.findall(r"15 epochs in ([\d.]+) *\n?minutes,.*?([\d.]+) %", text) for text in texts]
    assert found[0] == found[1] != []
