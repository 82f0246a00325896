"""What `benchtui next` decides: five short sweeps, each followed by the sweeps that it writes, up to two.

Small models of a few layers, in a fresh home. Of the pairs of cases that a session leaves open, it counts those
that the next session leaves open, too; and of a sweep's verdicts on its baseline, those that are UNSURE.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import click

from benchtui import sessions
from benchtui.sessions.advice.open_questions import open_questions
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.baseline import baselines
from benchtui.sessions.stats.ratios import comparison
from benchtui.sessions.stats.results import measured
from benchtui.sessions.stats.verdicts import Verdict

FIXTURES = Path(__file__).parents[2] / "fixtures"
SWEEPS_AFTER = 2
PROGRAM = Path(sys.executable).with_name("benchtui")

Pairs = set[frozenset[str]]


def verdicts(session: Session) -> dict[frozenset[str], Verdict]:
    """Return the verdict on each case and its baseline."""
    results = measured(session)
    bases = baselines(results, session.start.sweep.measure.baseline)
    pairs = ((bases[row.config.work], row) for row in results if row.config.work in bases)
    return {
        frozenset((base.name, row.name)): comparison(base, row).verdict
        for base, row in pairs
        if base is not row
    }


def open_pairs(session: Session) -> Pairs:
    """Return the pairs of cases that are open for any reason."""
    found = open_questions(session)
    return {frozenset(case.name for case in each.cases) for each in found if each.ratio}


def run(folder: Path, *words: str, allowed: tuple[int, ...] = (0,)) -> None:
    home = {**os.environ, **{f"XDG_{name}_HOME": str(folder / name) for name in ("DATA", "CONFIG", "CACHE")}}
    done = subprocess.run([PROGRAM, *words], cwd=folder, env=home, check=False, capture_output=True, text=True)
    if done.returncode not in allowed:
        raise click.ClickException(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr[-300:]}")


def follow(folder: Path, name: str) -> list[tuple[int, int, int, int]]:
    """Run a sweep, and what `next` writes; gives UNSURE and all verdicts, open and asked pairs each time."""
    run(folder, "run", f"{name}.toml", "-o", f"{name}.json")
    session = sessions.load(folder / f"{name}.json")
    asked = open_pairs(session)
    first = verdicts(session)
    found = [(sum(each is Verdict.UNSURE for each in first.values()), len(first), len(asked), len(asked))]
    for number in range(1, SWEEPS_AFTER + 1):
        if not asked:
            break
        sweep, made = f"{name}-{number}.toml", f"{name}-{number}.json"
        run(
            folder, "next", session_file(name, number - 1), "-o", sweep, allowed=(0, 1)
        )  # 1: no sweep decides it
        if not (folder / sweep).exists():
            break
        run(folder, "plan", sweep)
        run(folder, "run", sweep, "-o", made)
        session = sessions.load(folder / made)
        first |= verdicts(session)
        left = open_pairs(session) & asked
        found.append(
            (sum(each is Verdict.UNSURE for each in first.values()), len(first), len(left), len(asked))
        )
        asked = left
    return found


def session_file(name: str, number: int) -> str:
    return f"{name}-{number}.json" if number else f"{name}.json"


def main() -> None:
    spec = spec_from_file_location(
        "make_recorded", Path(__file__).parents[1] / "recording" / "make_recorded.py"
    )
    assert spec is not None and spec.loader is not None
    recorded = module_from_spec(spec)
    spec.loader.exec_module(recorded)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        recorded.make_models(folder)
        recorded.make_texts(folder / "reviews.csv")
        shutil.copy(FIXTURES / "own_step.py", folder)
        rows = []
        for name in sys.argv[1:] or recorded.SWEEPS:
            (folder / f"{name}.toml").write_text(f"name = '{name}'\n{recorded.SWEEPS[name]}")
            rows.append((name, follow(folder, name)))
            texts = [
                f"UNSURE {unsure} of {n}, open pairs {left} of {asked}"
                for unsure, n, left, asked in rows[-1][1]
            ]
            click.echo(f"{name:12} {' -> '.join(texts)}")
        for label, place_in in (("before", 0), ("after", -1)):
            unsure, n = (sum(found[place_in][at] for _, found in rows) for at in (0, 1))
            click.echo(f"{label:12} UNSURE {unsure} of {n} verdicts, {100 * unsure / max(n, 1):.0f} %")


if __name__ == "__main__":
    main()
