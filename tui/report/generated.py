"""The report of a session, as Markdown or as its parts, generated in a subprocess."""

import subprocess
import sys
from pathlib import Path

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.report.content import Section
from benchtui.sessions.state.judging import SWEEP_DEFAULTS, VerdictSettings

EXPORT = "from benchtui.tui.cli import main; main()"
MOST_S = 120.0


def report_content(path: Path, judging: VerdictSettings) -> Section:
    """Generate the report of a session with the figure that a terminal draws. Raises BenchtuiError as below."""
    return msgspec.json.decode(report_markdown(path, judging, "--source"), type=Section)


def report_markdown(path: Path, judging: VerdictSettings = SWEEP_DEFAULTS, *more: str) -> str:
    """Export a session in a subprocess. In-process, the imports of a report would double the UI's memory.

    Verdicts use the same settings as on the screen.

    Raises:
        BenchtuiError: the export command failed (with its message) or timed out.
    """
    command = [sys.executable, "-P", "-c", EXPORT, "export", *_as_options(judging), *more, "--", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise BenchtuiError(f"generating the report took longer than {MOST_S:g} s") from error
    if done.returncode:
        problem = done.stderr.strip().splitlines()
        raise BenchtuiError(
            problem[-1] if problem else f"generating the report failed with exit status {done.returncode}"
        )
    return done.stdout


def _as_options(judging: VerdictSettings) -> list[str]:
    named = judging.baseline.named if judging.baseline else {}
    options = [f"--baseline={option}={value}" for option, value in named.items()]
    if judging.baseline_case is not None:
        options.append(f"--baseline={judging.baseline_case}")
    if judging.same_within is not None:
        options.append(f"--same-within={100 * judging.same_within:.12g}%")
    return options
