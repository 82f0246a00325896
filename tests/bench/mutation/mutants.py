"""Mutation testing: changes a module in one place at a time, and counts the changes that its unit tests notice.

``make mutants`` covers every module of the table below. ``python tests/bench/mutation/mutants.py --sample 40
--module sessions/stats/ratios.py`` takes 40 changes of one. A surviving mutant is a missing test, or a change
without effect.

Each mutant is compiled in memory and tested in a forked process; the source files stay as they are. Processes
that a test starts itself load the original module.
"""

import ast
import copy
import gc
import importlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType
from typing import Any, TypeVar

import click
import pytest

ROOT = Path(__file__).parents[3]
MODULES: dict[str, tuple[str, ...]] = {
    "sessions/stats/ratios.py": (
        "tests/sessions/stats/test_ratios.py",
        "tests/sessions/stats/test_noise_by_turns.py",
        "tests/sessions/advice/test_optimal.py",
    ),
    "sessions/stats/verdicts.py": (
        "tests/sessions/stats/test_ratios.py",
        "tests/sessions/advice/test_optimal.py",
        "tests/sessions/advice/test_open_questions.py",
    ),
    "sessions/stats/quantiles.py": ("tests/sessions/stats/test_quantiles.py",),
    "sessions/stats/case_metrics.py": ("tests/sessions/stats/test_case_metrics.py",),
    "sessions/stats/disturbance.py": (
        "tests/sessions/stats/test_disturbance.py",
        "tests/sessions/stats/test_evidence.py",
        "tests/sessions/stats/test_ratios.py",
    ),
    "sessions/stats/sampling.py": ("tests/sessions/stats/test_sampling.py",),
    "sessions/stats/distribution.py": (
        "tests/sessions/stats/test_sampling.py",
        "tests/sessions/stats/test_distribution.py",
    ),
    "sessions/stats/noise.py": (
        "tests/sessions/stats/test_noise.py",
        "tests/sessions/stats/test_noise_by_turns.py",
    ),
    "sessions/stats/baseline.py": ("tests/sessions/stats/test_baseline.py",),
    "sessions/stats/evidence.py": (
        "tests/sessions/stats/test_evidence.py",
        "tests/sessions/stats/test_noise_by_turns.py",
        "tests/sessions/stats/test_ratios.py",
    ),
    "sessions/advice/race.py": (
        "tests/sessions/advice/test_race.py",
        "tests/sessions/advice/test_turns.py",
        "tests/sessions/text/test_conclusion.py",
        "tests/sessions/advice/test_simulated_races.py",
    ),
    "sessions/advice/turns.py": ("tests/sessions/advice/test_turns.py", "tests/sessions/advice/test_race.py"),
    "sessions/advice/elimination.py": (
        "tests/sessions/advice/test_elimination.py",
        "tests/sessions/advice/test_race.py",
        "tests/sessions/advice/test_simulated_races.py",
    ),
    "engine/worker/turns.py": ("tests/engine/worker/test_turns.py",),
    "sessions/compare/overall.py": ("tests/sessions/compare/test_overall.py",),
    "sessions/compare/gate.py": ("tests/sessions/compare/test_gate.py",),
    "engine/telemetry/neighbors/idle.py": ("tests/engine/telemetry/neighbors/test_idle.py",),
    "engine/telemetry/neighbors/processes.py": ("tests/engine/telemetry/neighbors/test_processes.py",),
    "engine/telemetry/neighbors/run_delay.py": ("tests/engine/telemetry/neighbors/test_run_delay.py",),
    "engine/supervisor/waits.py": (
        "tests/engine/supervisor/test_machine_loads.py",
        "tests/engine/supervisor/test_waits.py",
    ),
}
"""Modules of the package, each with the tests that must kill its mutants."""

AT_ONCE = 2
LIMIT_RUNS, LIMIT_S = 10, 5.0
"""Time limit of a mutant: a multiple of the original's time, plus seconds."""
LIMIT_MB = 2000
"""Address space that a mutant may grow by: an endless loop may also append."""
PRELOADED = ("hypothesis", "msgspec", "numpy", "psutil")
"""Packages that the tests import, loaded once before forking; each process loads benchtui itself anew."""
# pytest warns that it cannot rewrite the assertions of plugins loaded before it starts
PYTEST_OPTIONS = "-x -q --tb=no -p no:cacheprovider -p no:xdist -W ignore::pytest.PytestAssertRewriteWarning"

CONDITIONS = ("test", "guard", "ifs")
"""Fields of syntax nodes that hold a condition: of ``if`` and ``while``, ``case``, a comprehension."""
ANNOTATIONS = ("annotation", "returns")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ORDERINGS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}

Node = TypeVar("Node", bound=ast.AST)
Change = tuple[str, ast.AST]
"""Name of the operator, and the node that it creates."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a module."""

    tree: ast.Module
    """The module, shared by all its mutants."""
    parent: ast.AST
    field: str
    place: int | None
    """Index in the field of the parent; None where the field is no list."""
    node: ast.AST
    changed: ast.AST
    operator: str

    def __str__(self) -> str:
        # a number alone would not say which of a line's numbers it is
        bare = isinstance(self.node, ast.Constant | ast.UnaryOp) and isinstance(self.parent, ast.expr)
        before = _one_line(self.parent if bare else self.node)
        with self._applied():
            after = _one_line(self.parent if bare else self.changed)
        return f"{self.operator}: {before} -> {after}"

    @property
    def line(self) -> int:
        """Line of the source, from 1."""
        return getattr(self.node, "lineno", 0)

    def source(self) -> str:
        """The whole changed module."""
        with self._applied():
            return ast.unparse(self.tree)

    def code(self, path: Path) -> CodeType:
        """The changed module, compiled."""
        with self._applied():
            return compile(self.tree, path, "exec", dont_inherit=True)

    @contextmanager
    def _applied(self) -> Iterator[None]:
        self._put(self.changed)
        try:
            yield
        finally:
            self._put(self.node)

    def _put(self, node: ast.AST) -> None:
        if self.place is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.place] = node


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    tree = ast.parse(source)
    found = [
        Mutant(tree, parent, field, place, node, ast.fix_missing_locations(changed), operator)
        for parent, field, place, node in _children(tree)
        for operator, changed in _changes(field, node)
    ]
    return sorted(found, key=lambda mutant: mutant.line)


def _children(parent: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node below this one that may change, with its parent and where it is in it."""
    for field, value in ast.iter_fields(parent):
        if field in ANNOTATIONS:
            continue
        places = enumerate(value) if isinstance(value, list) else [(None, value)]
        for place, node in places:
            if isinstance(node, ast.AST) and not _ignored(node):
                yield parent, field, place, node
                yield from _children(node)


def _ignored(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name == "__all__"
        case ast.If(test=test):
            return ast.unparse(test).endswith("TYPE_CHECKING")
    return False


def _changes(field: str, node: ast.AST) -> Iterator[Change]:
    if field in CONDITIONS and isinstance(node, ast.expr) and not _has_opposite(node):
        yield "condition negated", ast.copy_location(ast.UnaryOp(ast.Not(), node), node)
    yield from _changed_operators(node)
    yield from _changed_values(node)


def _has_opposite(condition: ast.expr) -> bool:
    """Whether another operator already turns the condition into its opposite."""
    match condition:
        case ast.Compare(ops=[op]):
            return not isinstance(op, ORDERINGS)
        case ast.UnaryOp(op=ast.Not()):
            return True
    return False


def _changed_operators(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=ops):
            for place, op in enumerate(ops):
                swapped = [*ops[:place], COMPARISONS[type(op)](), *ops[place + 1 :]]
                yield "comparison", _copy(node, ops=swapped)
        case ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", _copy(node, op=ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield "boolean", _copy(node, op=ast.And() if isinstance(op, ast.Or) else ast.Or())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not removed", operand
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "minus removed", operand


def _changed_values(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool()) | ast.Return(value=ast.Constant(value=None | False)):
            return
        case ast.Constant(value=int(number)):
            yield "number", _copy(node, value=number + 1)
        case ast.Constant(value=float(number)):
            yield "number", _copy(node, value=number * 1.5 if number else 1.0)
        case ast.Return(value=ast.expr() as value):
            yield "return", _copy(node, value=ast.copy_location(ast.Constant(None), value))
        case ast.Call(func=ast.Name(id=name) as function) if name in CALLS:
            yield "call", _copy(node, func=_copy(function, id=CALLS[name]))


def _copy(node: Node, **changes: Any) -> Node:
    copied = copy.copy(node)
    for field, value in changes.items():
        setattr(copied, field, value)
    return copied


def _one_line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())


@dataclass(frozen=True, slots=True)
class Target:
    """A module and the tests that must kill its mutants."""

    name: str
    """The module's name in an import."""
    path: Path
    tests: tuple[Path, ...]


class _Loader(SourceFileLoader):
    """Loads a module from its mutant's code."""

    def __init__(self, target: Target, code: CodeType) -> None:
        super().__init__(target.name, str(target.path))
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class _Finder(MetaPathFinder):
    """Finds the mutant in place of the module."""

    def __init__(self, target: Target, code: CodeType) -> None:
        self._target, self._code = target, code

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != self._target.name:
            return None
        loader = _Loader(self._target, self._code)
        return spec_from_file_location(fullname, self._target.path, loader=loader)


def preload() -> None:
    """Import pytest's plugins and what the tests need, so that a forked process need not."""
    # threads of NumPy would not survive a fork
    os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
    for plugin in entry_points(group="pytest11"):
        plugin.load()
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()  # what is loaded by now is neither scanned nor copied by a forked process


def run_mutants(target: Target, chosen: Sequence[Mutant], scratch: Path) -> Iterator[tuple[Mutant, bool]]:
    """Test a few mutants at a time. Yields each as it ends, and whether it was killed.

    Raises ClickException where the tests fail without a mutant, before or after.
    """
    limit_s = LIMIT_RUNS * _original_s(target, scratch) + LIMIT_S
    running: dict[int, Mutant] = {}
    for mutant in chosen:
        if len(running) == AT_ONCE:
            yield _first_ended(running)
        code = mutant.code(target.path)
        running[_fork(partial(_run_tests, target, code, scratch, limit_s))] = mutant
    while running:
        yield _first_ended(running)
    _original_s(target, scratch)  # sources edited meanwhile may have failed the tests of every mutant


def _first_ended(running: dict[int, Mutant]) -> tuple[Mutant, bool]:
    process, status = os.wait()
    return running.pop(process), status != 0


def _original_s(target: Target, scratch: Path) -> float:
    """Seconds that the tests take without a mutant."""
    code = compile(target.path.read_bytes(), target.path, "exec", dont_inherit=True)
    began_s = time.monotonic()
    _, status = os.waitpid(_fork(partial(_run_tests, target, code, scratch, limit_s=0)), 0)
    if status:
        names = " ".join(str(path) for path in target.tests)
        raise click.ClickException(f"the tests fail without a mutant; run pytest {names}")
    return time.monotonic() - began_s


def _fork(run: Callable[[], int]) -> int:
    """Run a function in a forked process with its result as exit status; return the process id."""
    if process := os.fork():
        return process
    status = 1
    try:
        status = run()
    finally:
        os._exit(status)


def _run_tests(target: Target, code: CodeType, scratch: Path, limit_s: float) -> int:
    """Run a module's tests with this code in its place. The process ends after the limit; 0 is no limit."""
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    _limit_memory()
    _silence()
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")
    sys.meta_path.insert(0, _Finder(target, code))
    folder = scratch / str(os.getpid())
    return pytest.main([*PYTEST_OPTIONS.split(), "--basetemp", str(folder), *map(str, target.tests)])


def _limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + LIMIT_MB * 10**6, resource.RLIM_INFINITY))


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _tally(name: str, killed: Sequence[bool]) -> str:
    return f"{name}: {sum(killed)} of {len(killed)} killed ({_percent(killed):.0f} %)"


def _percent(killed: Sequence[bool]) -> float:
    return 100 * sum(killed) / max(len(killed), 1)


def _sampled(found: list[Mutant], sample: int | None, dice: random.Random) -> list[Mutant]:
    if sample is None or sample >= len(found):
        return found
    return [found[place] for place in sorted(dice.sample(range(len(found)), sample))]


def _test_module(module: str, tests: Sequence[str], chosen: Sequence[Mutant], scratch: Path) -> list[bool]:
    """Test mutants of a module and print the survivors; return for each whether it was killed."""
    name = ".".join(("benchtui", *Path(module).with_suffix("").parts))
    target = Target(name, ROOT / module, tuple(ROOT / each for each in tests))
    outcomes = []
    for mutant, killed in run_mutants(target, chosen, scratch):
        outcomes.append(killed)
        if not killed:
            click.echo(f"{module}:{mutant.line}: {mutant}")
    click.echo(_tally(module, outcomes))
    return outcomes


@click.command()
@click.option("--sample", type=click.IntRange(min=1), help="Mutants of each module, at random.  [default: all]")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the sample.")
@click.option(
    "--module",
    "modules",
    type=click.Choice(list(MODULES)),
    multiple=True,
    help="A module to mutate, repeatable.  [default: all]",
)
@click.option("--at-least", type=click.FloatRange(0, 100), help="Fail where a smaller percentage is killed.")
def main(sample: int | None, seed: int, modules: tuple[str, ...], at_least: float | None) -> None:
    """Mutate modules of the package, and print the mutants that their unit tests do not notice."""
    preload()
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        for module in modules or MODULES:
            files = (module, *MODULES[module])
            if missing := [path for path in files if not (ROOT / path).exists()]:
                click.echo(f"{module}: skipped, {missing[0]} does not exist")
                continue
            found = mutants((ROOT / module).read_text())
            chosen = _sampled(found, sample, random.Random(f"{seed} {module}"))
            outcomes += _test_module(module, MODULES[module], chosen, Path(scratch))
    click.echo(_tally("total", outcomes))
    if at_least is not None and _percent(outcomes) < at_least:
        sys.exit(1)


if __name__ == "__main__":
    main()
