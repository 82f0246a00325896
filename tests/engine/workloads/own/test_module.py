"""The user's file is imported as plain Python does: by its name, once, with its folder first on the path."""

import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchtui.engine.workloads.own.module import import_file
from benchtui.sessions.errors import BenchtuiError


@pytest.fixture(autouse=True)
def _state_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder: Path, **files: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


def test_the_folder_of_the_file_comes_first_on_the_path(tmp_path: Path) -> None:
    write(tmp_path, own_alpha="import sys\npath, argv, name = sys.path[0], list(sys.argv), __name__")
    module = import_file(tmp_path / "own_alpha.py", "task")
    assert module.path == str(tmp_path) and module.argv == [str(tmp_path / "own_alpha.py")]
    assert module.name == "own_alpha" and sys.modules["own_alpha"] is module


def test_code_under_the_main_guard_does_not_run(tmp_path: Path) -> None:
    write(tmp_path, own_guarded="if __name__ == '__main__':\n    raise SystemExit(3)")
    import_file(tmp_path / "own_guarded.py", "task")


def test_two_files_that_import_each_other_run_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        own_one="import own_other\nRUNS = []\ndef make(): return own_other.sizes()",
        own_other="import own_one\nown_one.__dict__.setdefault('LOADED', []).append(1)\n"
        "def sizes(): return own_one.LOADED",
    )
    assert import_file(tmp_path / "own_one.py", "task").make() == [1]


def test_a_file_in_a_package_is_a_module_of_it(tmp_path: Path) -> None:
    outer, inner = tmp_path / "own_outer", tmp_path / "own_outer" / "inner"
    write(outer, __init__="", shared="SIZE = 7")
    write(
        inner,
        __init__="",
        neighbor="SIZE = 9",
        step="from ..shared import SIZE\nfrom . import neighbor\nimport neighbor as plain",
    )
    module = import_file(inner / "step.py", "task")
    assert (module.__name__, module.SIZE, module.neighbor.SIZE) == ("own_outer.inner.step", 7, 9)
    assert module.plain.SIZE == 9  # as in a script
    assert sys.path[:2] == [str(tmp_path), str(inner)]


def test_a_step_that_its_package_imports_runs_once(tmp_path: Path) -> None:
    write(
        tmp_path / "own_eager",
        __init__="RUNS = []\nfrom .step import make",
        step="from . import RUNS\nRUNS.append(1)\ndef make(): pass",
    )
    import_file(tmp_path / "own_eager" / "step.py", "task")
    assert sys.modules["own_eager"].RUNS == [1]


@pytest.mark.parametrize("name", ["json", "pytest", "profile"])
def test_a_name_that_another_module_has_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    write(tmp_path, **{name: "def make(case): pass"})
    with pytest.raises(BenchtuiError) as raised:
        import_file(tmp_path / f"{name}.py", f"{name}.py:make")
    assert str(raised.value) == (
        f"task '{name}.py:make': {name} is also the name of a Python module in use; rename {name}.py"
    )


def test_a_package_whose_name_another_module_has_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "pytest", __init__="", step="def make(case): pass")
    with pytest.raises(BenchtuiError, match=r"pytest is also the name .* in use; rename the folder pytest"):
        import_file(tmp_path / "pytest" / "step.py", "pytest/step.py:make")


def test_a_file_that_fails_is_no_module(tmp_path: Path) -> None:
    write(tmp_path, own_broken="raise ValueError('no')")
    with pytest.raises(ValueError, match="no"):
        import_file(tmp_path / "own_broken.py", "task")
    assert "own_broken" not in sys.modules


def test_a_spawned_process_imports_the_file_by_its_name(tmp_path: Path) -> None:
    """It doesn't run the main module of this process again, which is pytest's."""
    write(tmp_path, own_spawned="def double(value): return 2 * value")
    module = import_file(tmp_path / "own_spawned.py", "task")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(module.double, (21,)).get(60) == 42
