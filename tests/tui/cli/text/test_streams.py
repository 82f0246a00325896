"""Standard streams of the installed command: on a terminal, on a full disk, closed, and with little memory."""

import os
import pty
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from benchtui.sessions.library.paths import demo_path

HOSTILE = "a\x1b]0;PWN\x07\x9b2J\u202e\x7fb"


def run(script: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    before = "import sys, click\nfrom benchtui.tui.cli.text import streams\nstreams.guard()\n"
    return subprocess.run([sys.executable, "-c", before + script], capture_output=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def on_terminal(script: str) -> bytes:
    """Run a script whose standard output and error are a terminal, and return what it shows."""
    own, other = pty.openpty()
    before = "import sys, click\nfrom benchtui.tui.cli.text import streams\nstreams.guard()\n"
    process = subprocess.Popen([sys.executable, "-c", before + script], stdin=other, stdout=other, stderr=other)
    os.close(other)
    shown = b""
    try:
        while piece := os.read(own, 65536):
            shown += piece
    except OSError:  # the other end is closed
        pass
    os.close(own)
    assert process.wait(60) == 0
    return shown


@pytest.mark.parametrize(
    "write",
    ["click.echo(TEXT)", "click.echo(TEXT, err=True)", "print(TEXT)", "sys.stdout.buffer.write(TEXT.encode())"],
)
def test_no_control_reaches_a_terminal_whatever_wrote_it(write: str) -> None:
    shown = on_terminal(f"TEXT = {HOSTILE!r} + '\\r\\n\\tc\\n'\n{write}\nsys.stdout.flush()").decode()
    assert shown.replace("\r\n", "\n").rstrip("\n") == "a\ufffd]0;PWN\ufffd\ufffd2J\ufffd\ufffdb\n\tc"


def test_a_character_split_between_two_writes_is_whole() -> None:
    script = "for byte in 'é中\\x9b'.encode():\n    sys.stdout.buffer.raw.write(bytes([byte]))"
    assert on_terminal(script).decode() == "é中\ufffd"


def test_files_and_pipes_get_exactly_what_was_written() -> None:
    ran = run(f"sys.stdout.write({HOSTILE!r})\nsys.stdout.flush()\nsys.stdout.buffer.write(b'\\xff\\x1b')")
    assert ran.stdout == HOSTILE.encode() + b"\xff\x1b"


def test_an_error_of_standard_output_is_told_from_that_of_a_file() -> None:
    script = (
        "to_stdout = lambda: (print('x' * 100_000), sys.stdout.flush())\n"
        "to_a_file = lambda: open('/dev/full', 'wb', 0).write(b'x')\n"
        "for write in (to_stdout, to_a_file):\n"
        "    try: write()\n"
        "    except Exception as error: sys.stderr.write(type(error).__name__ + '\\n')\n"
    )
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                f"import sys\nfrom benchtui.tui.cli.text import streams\nstreams.guard()\n{script}",
            ],
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert ran.stderr.split() == [b"StandardOutputError", b"OSError"]
    assert ran.returncode == 0, "what couldn't be written isn't written again at exit"


def test_a_full_standard_error_is_ignored(command: str) -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [command, "export", "no-such-session"], stdout=subprocess.PIPE, stderr=full, timeout=60
        )
    assert (ran.returncode, ran.stdout) == (2, b"")


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "h.json", "-o", "i.json"],
        ["export", "s.json", "-o", "i.json"],
        ["next", "s.json", "-o", "i.json"],
    ],
)
def test_a_full_disk_is_reported_for_the_file_that_is_written(
    arguments: list[str], home: Path, command: str
) -> None:
    times = ", ".join(["1.0"] * 500)
    (home / "h.json").write_text(f'{{"results": [{{"command": "c", "mean": 1.0, "times": [{times}]}}]}}')
    (home / "s.json").write_bytes(demo_path("demo-cpu").read_bytes())
    ran = subprocess.run(
        [command, *arguments],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )
    assert (ran.returncode, ran.stderr) == (2, "benchtui: i.json: can't be written: File too large\n")
    assert not (home / "i.json").exists() and not list(home.glob(".benchtui-*"))


def test_running_out_of_memory_is_one_line(home: Path, command: str) -> None:
    script = (
        "import sys\nfrom benchtui.tui import cli\n"
        "def fill(**_): return bytearray(10**15)\n"
        "cli.app.main = fill\ncli.main()"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert ran.stderr.startswith("benchtui: out of memory; ")
