"""Which planted causes ``benchtui explain`` names: ``python tests/bench/causes/run.py [--neighbor] [PLANT]``.

Each plant of ``plants.py`` is measured and then explained through the real engine, in fresh processes.
The table has a row per plant: whether the first finding is the cause, its confidence, and the finding. With
``--neighbor``, another process keeps one processor busy all the time; a finding about that is right as well for
a sound step. ``--sessions FOLDER`` keeps the sessions; those that exist are scored again by today's rules.
``--part 1/2`` runs the first half. The exit status is 1 if a wrong finding has high confidence.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

BENCHTUI = str(Path(sys.executable).with_name("benchtui"))
SWEEP = """
name = "causes"
task = "{file}:make"
[axes.parameters]
plant = {plants}
[run]
wait_for_quiet = "off"
[measure]
warmup = 8
iterations = 40
max_time = "0.4s"
answers = false
"""
GROUP = 8
"""Plants of a session. Each is explained soon after it was measured, since the speed of a machine drifts."""
SOUND = ("near the peak", "preempted")
"""Rules that say nothing about a cause in the step."""
NOTHING = "no rule found anything unusual"


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neighbor", action="store_true", help="keep one processor busy meanwhile")
    parser.add_argument("--file", default="plants.py", help="file of the plants, next to this one")
    parser.add_argument("--sessions", type=Path, help="folder of the sessions, to keep or to score again")
    parser.add_argument("--part", default="1/1", help="part of the plants, such as 2/3")
    parser.add_argument("plants", nargs="*")
    arguments = parser.parse_args()
    file = Path(__file__).with_name(arguments.file)
    expected = _expected(file)
    names = part_of(arguments.plants or list(expected), arguments.part)
    with neighbor(wanted=arguments.neighbor), tempfile.TemporaryDirectory() as folder:
        cases = _explained(file, names, arguments.sessions or Path(folder))
    rows = [_row(name, expected[name], case) for name, case in zip(names, cases, strict=True)]
    wrong = sum(not right and sure == "high" for right, sure in rows)
    print(f"{sum(right for right, _ in rows)} of {len(rows)} right, {wrong} wrong at high confidence")
    return int(wrong > 0)


@contextmanager
def neighbor(*, wanted: bool) -> Iterator[None]:
    """Keep one processor busy meanwhile."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if wanted else None
    try:
        yield
    finally:
        if process:
            process.kill()
            process.wait()


def part_of(names: Sequence[str], part: str) -> list[str]:
    """Return a part of the names, given as ``2/3``."""
    number, parts = map(int, part.split("/"))
    size = -(-len(names) // parts)
    return list(names[(number - 1) * size : number * size])


def _expected(file: Path) -> dict[str, str]:
    """Return the expectation of each plant of a file, read in another process, since plants import torch."""
    code = (
        f"import json, plants, {file.stem} as file; made = plants.PLANTS.items();"
        " own = [name for name, one in made if one.__module__ == file.__name__];"
        " print(json.dumps({name: plants.EXPECTED[name] for name in own}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=file.parent, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _explained(file: Path, names: list[str], folder: Path) -> list[dict[str, Any]]:
    """Measure and explain the plants that have no session yet."""
    folder.mkdir(exist_ok=True)
    groups = [names[first : first + GROUP] for first in range(0, len(names), GROUP)]
    files = [folder / f"{file.stem}-{group[0]}.json" for group in groups]
    return [case for group, path in zip(groups, files, strict=True) for case in _of_group(file, group, path)]


def _of_group(file: Path, names: list[str], session: Path) -> list[dict[str, Any]]:
    if not session.exists():
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as sweep:
            sweep.write(SWEEP.format(file=file, plants=json.dumps(names)))
            sweep.flush()
            subprocess.run([BENCHTUI, "run", sweep.name, "--trust", "-o", session], capture_output=True)
    numbers = [str(number + 1) for number in range(len(names))]
    command = [BENCHTUI, "explain", str(session), *numbers, "--json", "--trust"]
    done = subprocess.run(command, capture_output=True, text=True)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)["cases"]  # type: ignore[no-any-return]


def _row(name: str, expected: str, case: dict[str, Any]) -> tuple[bool, str]:
    """Print a plant's row. Return whether the first finding is right, and its confidence."""
    findings = case["findings"]
    first = findings[0] if findings else {"rule": "", "confidence": "", "sentence": _nothing(case)}
    right = _is_right(expected, first)
    sure = first["confidence"]
    step = f"{case['measured_ms'] or 0:7.1f} ms"
    verdict = "right" if right else "WRONG"
    print(f"{name:24} {verdict} {sure:6} {step} {first['rule']}: {first['sentence'][:230]}", flush=True)
    for further in findings[1:3] if not right else ():
        print(f"{'':46} then {further['rule']} [{further['confidence']}]: {further['sentence'][:140]}")
    return right, sure


def _nothing(case: dict[str, Any]) -> str:
    return case["absent"] or "; ".join(case["notes"])


def _is_right(expected: str, first: dict[str, Any]) -> bool:
    if not expected:
        return first["rule"] in SOUND or first["sentence"].startswith(NOTHING)
    for one in expected.split("|"):
        rule, _, word = one.partition(": ")
        if rule in ("*", first["rule"]) and word.lower() in first["sentence"].lower():
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
