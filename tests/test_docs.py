"""The manual builds without a warning, and what stands in it is true: its examples run, its options exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from returnn.config_keys import KNOWN_KEYS, NOT_YET, NotYet
from returnn.datasets.create import DATASET_CLASSES
from returnn.layers import loss
from returnn.layers.registry import get_layer_class, get_layer_class_name_list
from returnn.tasks import registry
from returnn.util.behavior_version import BehaviorVersion
from tests.program import root, run_program, run_python

_pages = [root / "README.md", *sorted((root / "demos").glob("*/README.md")), *sorted((root / "docs").glob("*.md"))]


def _code_blocks(language: str) -> Iterator[tuple[str, str]]:
    """Name, for messages, and content of each block of this language."""
    for page in _pages:
        for match in re.finditer(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
            line = page.read_text()[: match.start()].count("\n") + 1
            yield f"{page.relative_to(root)}:{line}", match[1]


_python = dict(_code_blocks("python"))
_configs = {name: code for name, code in _python.items() if code.startswith("#!rnn.py")}


@pytest.mark.slow
@pytest.mark.timeout(600)  # imports all modules, and writes a page for each
def test_builds_without_warnings(tmp_path: Path) -> None:
    """Each reference has its target, each docstring is well formed."""
    result = run_python("-m", "sphinx", "-W", "--keep-going", "-q", root / "docs", tmp_path, cwd=root, timeout=580)
    assert result.returncode == 0, result.stderr
    reference = (tmp_path / "layer_reference.html").read_text()
    assert "recurrent_weights_init" in reference
    assert "ignore_longer_outputs_than_inputs" in reference


@pytest.mark.parametrize("name", _python)
def test_example_is_python(name: str) -> None:
    """A part of a config as well."""
    compile(_python[name], name, "exec")


@pytest.mark.slow
@pytest.mark.parametrize("name", _configs)
def test_config_runs(name: str, tmp_path: Path) -> None:
    """As it stands, up to its last epoch, without a warning about its options."""
    (tmp_path / "my.config").write_text(_configs[name])
    log = run_program("my.config", cwd=tmp_path)
    num_epochs = re.search(r"^num_epochs = (\d+)", _configs[name], flags=re.MULTILINE)[1]
    assert f"Finished training in epoch {num_epochs}." in log
    assert "has no effect" not in log


def test_there_are_configs() -> None:
    """So the tests above do not pass for lack of something to test."""
    assert {name.split(":")[0] for name in _configs} >= {"README.md", "docs/getting_started.md", "docs/data.md"}


def test_hdf_example(tmp_path: Path) -> None:
    """The file that it writes is one that HDFDataset reads."""
    (code,) = [code for code in _python.values() if "SimpleHDFWriter(" in code]
    result = run_python("-c", code, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    dataset = '{"class": "HDFDataset", "files": ["my.hdf"]}'
    network = '{"output": {"class": "linear", "from": "data", "n_out": 2, "loss": "as_is"}}'
    opts = ["++train", dataset, "++network", network, "++batch_size", "200", "++num_epochs", "1"]
    (tmp_path / "empty.config").write_text("#!rnn.py\nnetwork = {}\nbatch_size = num_epochs = 1\n")
    assert "HDFDataset, sequences: 20, frames: 290" in run_program("empty.config", *opts, cwd=tmp_path)


def _options_of_manual() -> set[str]:
    """First column of the tables in the section "Options" of the page about the config, and further names in a row."""
    section = (root / "docs" / "config.md").read_text().split("## Options\n")[1]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    return names | {name for row in rows for name in re.findall(r"`(\w+)`", row[-1]) if name in KNOWN_KEYS}


def _identifiers_in_program() -> set[str]:
    files = [path for path in (root / "returnn").rglob("*.py") if path.name != "config_keys.py"]
    return {word for path in files for word in re.findall(r"\w+", path.read_text())}


def test_options_in_the_manual_exist() -> None:
    """They are known keys, and the program reads them somewhere."""
    options = _options_of_manual()
    assert len(options) > 100
    assert sorted(options - KNOWN_KEYS) == []
    read = _identifiers_in_program()
    read |= {key for key, kind in NOT_YET.items() if kind is NotYet.WARNING}  # it says so
    read |= {f"newbob_{name}" for name in read}  # the program puts this prefix before some of them
    assert sorted(options - read) == []


def test_options_of_the_program_are_in_the_manual() -> None:
    """Those that are read by their name; without those of what is not there yet."""
    read = re.compile(
        r"config\.(?:value|int|float|bool|typed_value|opt_typed_value|is_true|bool_or_other)\(\s*\"(\w+)\""
    )
    found = {name for path in (root / "returnn").rglob("*.py") for name in read.findall(path.read_text())}
    other_backends = {"get_model", "torch_distributed"}
    assert sorted(found - NOT_YET.keys() - other_backends - _options_of_manual()) == []


def test_layers_and_losses_in_the_manual() -> None:
    """All that there are, by their first names."""
    page = (root / "docs" / "layers.md").read_text()
    names = [
        name for name in get_layer_class_name_list() if not name.startswith(":") and _is_ours(get_layer_class(name))
    ]
    classes = {get_layer_class(name).layer_class for name in names}
    assert sorted(name for name in classes - {"source"} if f"`{name}`" not in page) == []
    table = page.split("## Which layers there are")[1].split("##")[0]
    assert sorted(set(re.findall(r"`(\w+)`", table)) - set(names)) == []
    text = re.search(r"The losses are (.*?)\.\n", page, flags=re.DOTALL)[1]
    losses = {name for name in loss.get_loss_class_name_list() if _is_ours(loss.get_loss_class(name))}
    assert set(re.findall(r"`(\w+)`", text)) == losses


def _is_ours(cls: type) -> bool:
    """Other tests register classes, too."""
    return cls.__module__.startswith("returnn.")


@pytest.mark.parametrize("name", [name for name, code in _python.items() if "import torch" in code])
def test_torch_example_runs(name: str, tmp_path: Path) -> None:
    """As it stands."""
    pytest.importorskip("torch")
    result = run_python("-c", _python[name], cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_datasets_and_tasks_in_the_manual() -> None:
    """Each class and each task by its name."""
    data, more_data, running = ((root / "docs" / f"{page}.md").read_text() for page in ("data", "datasets", "running"))
    assert [name for name in DATASET_CLASSES if f"`{name}`" not in data + more_data] == []
    assert [name for name in registry._tasks if f"`{name}`" not in running] == []


def test_examples_use_the_newest_behavior_version() -> None:
    """As the manual tells new configs to do."""
    configs = [*_configs.values(), *(path.read_text() for path in (root / "demos").rglob("*.config"))]
    versions = {version for text in configs for version in re.findall(r"^behavior_version = (.*)$", text, re.MULTILINE)}
    assert versions == {str(BehaviorVersion._latest_behavior_version)}


def test_readme_commands_name_what_is_there() -> None:
    """The demo exists, the extras exist, and CI runs the same test command."""
    commands = [shlex.split(code) for _, code in _code_blocks("sh")]
    assert len(commands) == 2
    run_demo, run_tests = commands
    assert (root / run_demo[-1]).exists()
    extras = re.search(r"\[(.*)\]", run_tests[run_tests.index("-e") + 1])[1].split(",")
    project = (root / "pyproject.toml").read_text()
    assert all(re.search(rf"^{extra} = \[", project, flags=re.MULTILINE) for extra in extras)
    ci = (root / ".ci" / "run").read_text()
    assert " ".join(run_tests[-5:]).removeprefix(".venv/bin/") in ci
