"""Record a tour of the demo as an asciinema cast, for the documentation: `make cast`."""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pexpect

COLUMNS, ROWS = 100, 30
TOUR: tuple[tuple[str, float], ...] = (
    ("", 10.0),  # the Monitor, as cases end
    ("\x1b[B", 1.0),
    ("\x1b[B", 1.0),
    ("\r", 3.0),  # the page of a case
    ("\t", 3.0),  # its distribution
    ("\x1b", 2.0),
    ("3", 4.0),  # Charts
    ("p", 4.0),  # a Pareto front
    ("2", 3.0),
    ("?", 4.0),
    ("\x1b", 1.0),
    ("q", 1.0),
)
"""Keys, and the seconds that what they show stays."""
FRAME, BEFORE_S = 1_000, 0.5
"""Characters that only a frame has, and how long before the first one the cast begins."""


def record() -> list[tuple[float, str]]:
    """Return what the app writes, in pieces with their times in seconds since its start."""
    pieces: list[tuple[float, str]] = []
    with tempfile.TemporaryDirectory(prefix="cast-") as home:
        app = pexpect.spawn(
            str(Path(sys.executable).with_name("benchtui")),
            ["demo", "--speed", "32"],
            dimensions=(ROWS, COLUMNS),
            env=os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "HOME": home},
            encoding="utf-8",
            codec_errors="replace",
        )
        began = time.monotonic()
        for key, stay_s in TOUR:
            app.send(key)
            until = time.monotonic() + stay_s
            while (left := until - time.monotonic()) > 0:
                try:
                    pieces.append((time.monotonic() - began, app.read_nonblocking(65536, timeout=left)))
                except pexpect.TIMEOUT:
                    break
                except pexpect.EOF:
                    return pieces
        app.close(force=True)
    return pieces


def trimmed(pieces: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return the pieces from shortly before the first frame on, without the path that is printed at the end."""
    first_s = next(at_s for at_s, text in pieces if len(text) > FRAME)
    while "\x1b" not in pieces[-1][1]:
        pieces = pieces[:-1]
    return [(max(0.0, at_s - first_s + BEFORE_S), text) for at_s, text in pieces]


def main(target: Path) -> None:
    """Write the cast."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "benchtui demo (simulated)"}
    lines = [head, *([round(at_s, 3), "o", text] for at_s, text in trimmed(record()))]
    target.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
