"""``benchtui init-step``: the files that it writes are those of the documentation, and never replace others."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep.toml_reader import load_sweep
from benchtui.tui.cli import app

DOCS = Path(__file__).parents[3] / "docs" / "own-step.md"


def init_step(file: str | Path) -> Result:
    return CliRunner().invoke(app, ["init-step", str(file)])


def test_files_are_those_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = init_step("train_step.py")
    assert done.exit_code == 0
    assert done.output == (
        "wrote train_step.py and train_step.toml; measure it with: benchtui run train_step.toml\n"
    )
    page = DOCS.read_text("utf-8")
    for kind, name in (("python", "train_step.py"), ("toml", "train_step.toml")):
        assert f'```{kind} title="{name}"\n{Path(name).read_text("utf-8")}```' in page


def test_other_names_and_folders_are_those_of_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    assert init_step("runs/tune.py").exit_code == 0
    sweep = load_sweep("runs/tune.toml")
    assert (sweep.name, sweep.task) == ("tune", "runs/tune.py:make_step")
    compile("".join(Path("runs/tune.py").read_text("utf-8")), "runs/tune.py", "exec")
    assert "train_step" not in Path("runs/tune.py").read_text("utf-8") + Path("runs/tune.toml").read_text(
        "utf-8"
    )


@pytest.mark.parametrize("there", ["mine.py", "mine.toml"])
def test_no_file_is_overwritten_and_none_is_written_alone(there: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("mine")
    done = init_step(tmp_path / "mine.py")
    assert str(done.exception) == f"{tmp_path / there}: already exists and won't be overwritten"
    assert (tmp_path / there).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [there]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("json.py", "json is also the name of an installed Python module; use another name"),
        ("torch.py", "torch is also the name of an installed Python module; use another name"),
        ("my-step.py", "can't be imported as a Python module; use a name such as train_step.py"),
        ("class.py", "can't be imported as a Python module"),
        ("step.txt", "can't be imported as a Python module"),
    ],
)
def test_a_name_that_can_not_be_imported_is_one_clear_line(name: str, message: str, tmp_path: Path) -> None:
    done = init_step(tmp_path / name)
    assert isinstance(done.exception, BenchtuiError)
    assert message in str(done.exception) and "\n" not in str(done.exception)
    assert not list(tmp_path.iterdir())
