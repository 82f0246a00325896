"""Rules for the whole package: what imports what, and what is installed."""

import ast
import graphlib
import importlib
import importlib.util
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import textual.widgets

from benchtui.sessions.library.paths import demo_path

ROOT = Path(__file__).parents[1]
FOLDERS = ("engine", "sessions", "themes", "tui")
IN_THE_WORKER = tuple(f"benchtui.engine.{name}" for name in ("worker", "models", "workloads", "devices"))
"""Packages that run inside the measured process and may import torch."""


def modules(*folders: str) -> list[str]:
    found = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found.append(".".join(("benchtui", *(part for part in parts if part != "__init__"))))
    return found


def allowed_torch(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in IN_THE_WORKER)


def loaded(script: str) -> set[str]:
    script += "\nimport sys; print('loaded:', *sys.modules, sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.rpartition("loaded:\n")[2].split())


def imported_by(path: Path) -> set[str]:
    """Names that a module imports, deferred imports and those for types included."""
    return {
        name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
    }


def test_folders_of_the_record_import_in_no_circle() -> None:
    rooms = {path.parent.name for path in (ROOT / "sessions").glob("*/__init__.py")}
    graph: dict[str, set[str]] = {room: set() for room in rooms}
    for path in (ROOT / "sessions").rglob("*.py"):
        room = path.relative_to(ROOT / "sessions").parts[0]
        if room in graph:
            names = (name.split(".") for name in imported_by(path) if name.startswith("benchtui.sessions."))
            graph[room] |= {parts[2] for parts in names if parts[2] in rooms} - {room}
    assert {"state", "sweep"} <= graph["stats"]
    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError
    assert order.index("state") < order.index("stats")


def test_headless_modules_load_no_torch_or_terminal_library() -> None:
    headless = [
        name
        for name in modules("engine", "sessions", "themes")
        if not allowed_torch(name) and not name.endswith(("__main__", "executors.ray"))
    ]
    assert "benchtui.engine.supervisor.supervisor" in headless
    names = loaded("import " + ", ".join(headless))
    assert not names & {"torch", "transformers", "datasets", "textual", "rich", "click", "matplotlib", "ray"}


def test_engine_loads_ray_only_for_a_sweep_on_ray() -> None:
    names = loaded(
        "from benchtui.engine.__main__ import _executor\n"
        "from benchtui.sessions.sweep import Sweep\n"
        "if __name__ == '__main__': _executor(Sweep(name='a', model='gpt2'))"
    )
    assert "benchtui.engine.node.runner" in names
    assert not names & {"ray", "benchtui.engine.executors.cluster"}


def test_screen_loads_no_torch() -> None:
    screen = [name for name in modules("tui") if name != "benchtui.tui.api.frames"]  # made of pandas
    names = loaded("import " + ", ".join(screen))
    assert "textual" in names
    assert not names & {"torch", "transformers", "datasets", "pandas"}


def test_package_loads_nothing_before_a_function_is_called() -> None:
    names = loaded("import benchtui; benchtui.run, benchtui.Case, benchtui.__version__")
    assert not names & {"torch", "textual", "rich", "click", "msgspec", "numpy", "psutil", "pandas"}


def test_python_interface_loads_neither_torch_nor_the_screen() -> None:
    names = loaded("import benchtui\nshown = benchtui.load('demo-cpu')\nshown._repr_html_()\nshown.cases()")
    assert "pandas" in names
    assert not names & {"torch", "transformers", "datasets", "textual"}


def test_help_loads_little_more_than_click() -> None:
    names = loaded("import benchtui.tui.cli")
    assert not names & {"torch", "textual", "rich", "msgspec", "numpy", "psutil", "pandas"}


@pytest.mark.parametrize(
    ("place", "later"),
    [
        ("monitor", {"benchtui.sessions.advice.optimal", "benchtui.sessions.sweep.toml_reader"}),
        ("home", {"benchtui.tui.monitor.screen", "benchtui.tui.editor.draft", "psutil"}),
    ],
)
def test_screens_load_no_more_than_they_need_before_the_first_paint(place: str, later: set[str]) -> None:
    names = loaded(f"import benchtui.tui.cli.watch, benchtui.tui.app, benchtui.tui.{place}.screen")
    assert "textual" in names
    assert not names & {"numpy", "pandas", "torch", "tomlkit", *later}


def test_monitor_loads_no_large_library_that_it_does_not_need() -> None:
    """A screen has 60 MB: numpy is 14 MB, OpenSSL 5 MB, tables of HTML 2 MB."""
    names = loaded(
        "import click; from benchtui.tui.cli import app; app.get_command(click.Context(app), 'attach')\n"
        "import benchtui.tui.app, benchtui.tui.monitor.screen, benchtui.sessions.text.conclusion\n"
        "from benchtui.sessions.stats.distribution import detect_unsteadiness\n"
        "detect_unsteadiness([[1.0] * 40 + [2.0] * 40])"
    )
    assert "asyncio" in names
    assert not names & {"ssl", "_hashlib", "markdown_it", "html.entities", "numpy", "importlib.metadata"}


def test_export_loads_no_torch(tmp_path: Path) -> None:
    fixture = ROOT / "tests" / "fixtures" / "comprehensive-report.json"
    names = loaded(
        "from benchtui.tui.cli import app\n"
        f"app(['export', {str(fixture)!r}, '-o', {str(tmp_path / 'report.md')!r}], standalone_mode=False)"
    )
    assert "jinja2" in names and "pandas" not in names
    assert not names & {"torch", "transformers", "datasets", "textual"}
    assert (tmp_path / "report.md").read_text().startswith("# ")


@pytest.mark.parametrize("form", ["text", "md", "json"])
def test_compare_loads_neither_torch_nor_the_screen(tmp_path: Path, form: str) -> None:
    sessions = [str(demo_path("demo-cpu")), str(ROOT / "tests" / "fixtures" / "quick-cpu.json")]
    arguments = ["compare", *sessions, "--format", form, "-o", str(tmp_path / "out")]
    names = loaded(f"from benchtui.tui.cli import app\napp({arguments!r}, standalone_mode=False)")
    assert not names & {"torch", "transformers", "datasets", "textual"}
    assert (tmp_path / "out").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from a copy so that building leaves nothing in the tree."""
    copy = tmp_path_factory.mktemp("copy") / "benchtui"
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in files.stdout.splitlines():
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(source.read_bytes())
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(copy / "dist"), str(copy)],
        capture_output=True,
        check=True,
        timeout=120,
    )
    (path,) = (copy / "dist").glob("*.whl")
    return zipfile.ZipFile(path)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    riddles = re.compile(r"(What|How|Where|Which|Why|When|That|Who|Tells|Has|Is|So|Of|For|By|As|If)\b")
    found = [
        f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and (text := ast.get_docstring(node))
        and riddles.match(text)
        and getattr(node, "name", "") != "app"  # the help of the program
    ]
    assert not found, "\n".join(found)


def test_scripts_import_names_that_exist() -> None:
    scripts = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    imported = [
        (path, node.module, alias.name)
        for path in scripts
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchtui.")
        for alias in node.names
    ]
    assert len(imported) > 100
    missing = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path, module, name in imported
        if not exists(module, name)
    ]
    assert not missing


def exists(module: str, name: str) -> bool:
    if hasattr(importlib.import_module(module), name):
        return True
    return importlib.util.find_spec(f"{module}.{name}") is not None


def test_every_widget_in_the_stylesheets_exists() -> None:
    nodes = [
        node for path in (ROOT / "tui").rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))
    ]
    styles = [
        str(node.value.value)
        for node in nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and ast.unparse(node.targets[0]) == "DEFAULT_CSS"
    ]
    assert len(styles) > 5
    sheets = "".join([(ROOT / "tui" / "app.tcss").read_text(), *styles])
    named = set(
        re.findall(r"(?<![\w#.$-])[A-Z]\w+", re.sub(r"/\*.*?\*/|\{[^}]*\}", "", sheets, flags=re.DOTALL))
    )
    defined = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    assert {name for name in named - defined if not hasattr(textual.widgets, name)} == {"Screen", "Toast"}


def test_no_folder_has_more_than_twelve_modules() -> None:
    counts = Counter(path.parent for top in FOLDERS for path in (ROOT / top).rglob("*.py"))
    assert {
        str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > 13
    } == {}  # with __init__.py


def test_wheel_contains_nothing_outside_benchtui(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"benchtui", "benchtui-0.1.0.data"}
    data = [name for name in wheel.namelist() if name.startswith("benchtui-0.1.0.data/")]
    assert data and all("/share/man/man1/benchtui" in name for name in data)


def test_wheel_contains_every_module_and_all_data(wheel: zipfile.ZipFile) -> None:
    wanted = {"__init__.py", "__main__.py", "py.typed"} | {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    code = {name for name in wheel.namelist() if name.startswith("benchtui/")}
    assert {f"benchtui/{name}" for name in wanted} == code


def test_plan_loads_neither_torch_nor_textual() -> None:
    names = loaded("from benchtui.tui.cli import app\napp(['plan', 'quick'], standalone_mode=False)")
    assert "benchtui.sessions.estimates.history" in names
    assert not names & {"torch", "transformers", "datasets", "textual", "pandas"}


def test_batch_script_loads_neither_torch_nor_textual() -> None:
    names = loaded("from benchtui.tui.cli import app\napp(['slurm', 'quick'], standalone_mode=False)")
    assert "benchtui.tui.cli.text.slurm_script" in names
    assert not names & {"torch", "transformers", "datasets", "textual", "pandas", "numpy"}
