"""Which planted causes ``benchtui explain`` names: ``python tests/bench/causes/run.py [--neighbor] [PLANT]``.

Each plant of ``plants.py`` is measured and then explained through the real engine, in fresh processes.
The table has a row per plant: whether the first finding is the cause, its confidence, and the finding. With
``--neighbor``, another process keeps one processor busy all the time; a finding about that is right as well for
a sound step. The exit status is 1 if a wrong finding has high confidence.
"""

import argparse
import json
import subprocess
import sys
import tempfile
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
SOUND = ("near the peak", "preempted")
"""Rules that say nothing about a cause in the step."""


def main() -> int:
    """Run the bench and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neighbor", action="store_true", help="keep one processor busy meanwhile")
    parser.add_argument("--later", action="store_true", help="the plants that were written after the rules")
    parser.add_argument("--half", choices=("1", "2"), help="only one half of the plants")
    parser.add_argument("plants", nargs="*")
    arguments = parser.parse_args()
    file = Path(__file__).with_name("later_plants.py" if arguments.later else "plants.py")
    expected = _expected(file)
    names = arguments.plants or list(expected)
    if arguments.half:
        names = names[(int(arguments.half) - 1) * len(names) // 2 : int(arguments.half) * len(names) // 2]
    neighbor = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if arguments.neighbor else None
    try:
        cases = _explained(file, names)
    finally:
        if neighbor:
            neighbor.kill()
            neighbor.wait()
    rows = [_row(name, expected[name], case) for name, case in zip(names, cases, strict=True)]
    print(f"{sum(right for right, _ in rows)} of {len(rows)} right")
    return int(any(not right and sure == "high" for right, sure in rows))


def _expected(file: Path) -> dict[str, str]:
    """Return the expectation of each plant, read in another process, since the plants import torch."""
    code = f"import json, {file.stem} as plants; print(json.dumps(plants.EXPECTED))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=file.parent, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def _explained(file: Path, names: list[str]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        sweep, session = Path(folder) / "causes.toml", Path(folder) / "causes.json"
        sweep.write_text(SWEEP.format(file=file, plants=json.dumps(names)))
        subprocess.run([BENCHTUI, "run", str(sweep), "--trust", "-o", str(session)], capture_output=True)
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
    print(f"{name:24} {verdict} {sure:6} {step} {first['rule']}: {first['sentence'][:230]}")
    for further in findings[1:3] if not right else ():
        print(f"{'':46} then {further['rule']} [{further['confidence']}]: {further['sentence'][:140]}")
    return right, sure


def _nothing(case: dict[str, Any]) -> str:
    return case["absent"] or "; ".join(case["notes"]) or "nothing unusual"


def _is_right(expected: str, first: dict[str, Any]) -> bool:
    if not expected:
        return first["rule"] in SOUND or first["sentence"] == "nothing unusual"
    for one in expected.split("|"):
        rule, _, word = one.partition(": ")
        if first["rule"] == rule and word.lower() in first["sentence"].lower():
            return True
    return False


if __name__ == "__main__":
    sys.exit(main())
