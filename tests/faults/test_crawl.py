"""The command line over odd files, descriptors and limits: some calls at each check, 2,000 in the long run."""

import subprocess
import sys
from pathlib import Path

import crawl
import pytest


def crawled(count: int, seed: int) -> str:
    """What the crawler says; a process of its own, since it ends whatever its calls leave."""
    script = crawl.__file__
    words = [sys.executable, script, "--count", str(count), "--seed", str(seed)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-5000:]
    return ran.stdout


def test_random_calls_end_as_documented() -> None:
    said = crawled(24, seed=20261123)
    assert "24 calls, 0 kinds of faults" in said
    assert '"status 0"' in said and '"status 2"' in said


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_thousand_calls_end_as_documented() -> None:
    assert "2000 calls, 0 kinds of faults" in crawled(2000, seed=1)


def test_every_command_and_option_is_called() -> None:
    turns = sum(1 + len(command.params) for _, command in crawl.commands())
    calls = [crawl.call_of(1, number) for number in range(turns)]
    for words, command in crawl.commands():
        own = [call for call in calls if call.command == " ".join(words)]
        assert len(own) == 1 + len(command.params)
        said = {word for call in own for word in call.words}
        for option in command.params:
            spellings = {each.encode() for each in (*option.opts, *option.secondary_opts)}
            assert option.param_type_name == "argument" or said & spellings


def test_crawler_detects_faults() -> None:
    call = crawl.Call("plan", (b"plan", b"x"))
    usual = {"status": 0, "out": b"", "err": b"", "cpu_s": 0.1, "grown_mb": 1.0}
    for change, told in (
        ({"err": b"Traceback (most recent call last):\n  File 'x.py', line 1\nValueError: no\n"}, "traceback"),
        ({"status": 2, "err": b"benchtui: [Errno 9] Bad file descriptor\n"}, "what Python says"),
        ({"status": None}, "hangs"),
        ({"status": -9}, "ends with status -9"),
        ({"status": 2, "err": b"a\n" * 20}, "20 lines on standard error"),
        ({"out": b"\x1b[2J"}, "through"),
        ({"status": 2}, "without a word"),
        ({"cpu_s": 9.0}, "too long"),
        ({"grown_mb": 2000.0}, "2000 MB"),
        ({"status": 2, "err": b"x", "out": b"Usage: x"}, "on standard output"),
    ):
        ended = crawl.Ended(**(usual | change))
        assert any(told in each for each in crawl.said_wrong(call, ended)), told
    assert not list(crawl.said_wrong(call, crawl.Ended(**usual)))


def test_crawler_detects_leftovers() -> None:
    call, failed = crawl.Call("plan", (b"plan", b"x")), crawl.Ended(2, b"", b"x", 0.1, 1.0)
    for name, told in (
        ("work/.benchtui-1", "partial"),
        ("work/new", "wasn't named"),
        ("work/s.json", "a session"),
        ("tmp/x", "temporary"),
        ("home/x", "in the home"),
    ):
        before = {Path("work/s.json"): (1, 1, 1)}
        after = before | {Path(name): (1, 2, 2)}
        assert any(told in each for each in crawl.left_behind(call, failed, before, after)), told
    assert not list(crawl.left_behind(call, failed, before, before | {Path("work/x"): (1, 1, 1)}))
    removed = list(crawl.left_behind(call, failed, {Path("work/x"): (1, 1, 1)}, {}))
    assert removed == ["removes 'x'"]
