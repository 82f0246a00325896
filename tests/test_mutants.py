import ast
import subprocess
import sys
from pathlib import Path

import pytest
from bench.mutation.mutants import mutants

TESTS = Path(__file__).parent
LARGER = "def larger(one, other):\n    return one if one > other else other\n"
RUN = """
import sys
from pathlib import Path
import click
from bench.mutation.mutants import Target, mutants, preload, run_mutants
module, *tests = map(Path, sys.argv[1:])
preload()
for test in tests:
    target = Target("larger", module, (test,))
    try:
        for mutant, killed in run_mutants(target, mutants(module.read_text()), module.parent):
            print(mutant.operator, "killed" if killed else "survived")
    except click.ClickException as error:
        print(error.message)
"""


def changes(source: str) -> set[str]:
    return {str(mutant) for mutant in mutants(source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b == c", {"comparison: a < b == c -> a <= b == c", "comparison: a < b == c -> a < b != c"}),
        ("a is not b", {"comparison: a is not b -> a is b"}),
        ("a // b", {"arithmetic: a // b -> a / b"}),
        ("a += b", {"arithmetic: a += b -> a -= b"}),
        ("a and b and c", {"boolean: a and b and c -> a or b or c"}),
        ("a = not b", {"not removed: not b -> b"}),
        ("a = 0", {"number: 0 -> 1"}),
        ("a = 0.5, 0.0", {"number: (0.5, 0.0) -> (0.75, 0.0)", "number: (0.5, 0.0) -> (0.5, 1.0)"}),
        ("a[-1]", {"minus removed: a[-1] -> a[1]", "number: -1 -> -2"}),
        ("a[1:]", {"number: 1: -> 2:"}),
        ("min(a, b)", {"call: min(a, b) -> max(a, b)"}),
        ("all(a)", {"call: all(a) -> any(a)"}),
        ("def f():\n    return a", {"return: return a -> return None"}),
        ("f'{a + b} ms'", {"arithmetic: a + b -> a - b"}),
    ],
)
def test_each_operator_changes_the_smallest_expression(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


def test_every_mutant_is_a_distinct_module_with_one_change() -> None:
    source = "def f(a, b=1):\n    if a > 0 and b:\n        a += 2\n    return min(-a, b)\n"
    found = mutants(source)
    texts = [mutant.source() for mutant in found]
    assert len(set(texts)) == len(texts)
    original = ast.unparse(ast.parse(source)).splitlines()
    for mutant, text in zip(found, texts, strict=True):
        lines = text.splitlines()
        assert [n for n, line in enumerate(lines, 1) if line != original[n - 1]] == [mutant.line]


def test_killed_and_surviving_mutants_differ_and_failing_tests_are_rejected(tmp_path: Path) -> None:
    module, good, bad = (tmp_path / name for name in ("larger.py", "test_good.py", "test_bad.py"))
    module.write_text(LARGER)
    head = "from larger import larger\ndef test_larger():\n    assert larger(2, 1) =="
    good.write_text(f"{head} 2\n")
    bad.write_text(f"{head} 3\n")
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(module), str(good), str(bad)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *outcomes, refusal = done.stdout.splitlines()
    assert sorted(outcomes) == ["comparison survived", "condition negated killed", "return killed"]
    assert refusal == f"the tests fail without a mutant; run pytest {bad}"
    assert module.read_text() == LARGER
