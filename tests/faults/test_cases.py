"""Cases that end badly, in one sweep: each is a recorded outcome, and the others are measured."""

import re
from collections.abc import Callable
from contextlib import suppress

import psutil
import pytest
from watching import Watched

from benchtui.engine.control import log_path
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep

pytestmark = pytest.mark.xdist_group("cases")  # one process runs the sweep, once
WAYS = {
    "aborts": "os.abort",
    "ends well too early": "lambda: os._exit(0)",
    "ends in a fault of memory": "lambda: ctypes.string_at(0)",
    "hangs in Python": "lambda: time.sleep(1000)",
    "hangs in C code": "lambda: ctypes.PyDLL(None).pause()",
    "shouts": "shout",
    "leaves children behind": "lambda: [subprocess.Popen(['sleep', '1000']) for _ in range(20)]",
    "leaves threads running": "leave_threads",
    "leaves an idle pool": "leave_pool",
    "is well": "lambda: time.sleep(0.001)",
    "raises what has no text": "unsayable",
    "raises half a surrogate pair": "surrogate",
    "raises 5 MB": "endless",
    "forks and comes back": "os.fork",
    "runs out of memory": "greed",
}
"""What a case does in its step, by its batch size, from 1 up: one larger than the last wouldn't be run."""
SHOUTED_MB = 350
"""Written to each of standard output and standard error, over all steps."""
ITERATIONS = 4
THREADS = 40

BODY = f"""
import resource, threading
from concurrent.futures import ThreadPoolExecutor
def leave_threads():
    for _ in range({THREADS} // {ITERATIONS}):
        threading.Thread(target=time.sleep, args=(1000,)).start()
def leave_pool():
    ThreadPoolExecutor(2).submit(int).result()
mega = b"x" * 999_999 + b"\\n"
def shout():
    for stream in (1, 2):
        for _ in range({SHOUTED_MB} // {ITERATIONS}):
            os.write(stream, mega)
def greed():
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, resource.RLIM_INFINITY))
    torch.ones(1_000_000_000)
class Unsayable(Exception):
    def __str__(self):
        raise ZeroDivisionError("no text")
def unsayable():
    raise Unsayable
def surrogate():
    raise ValueError("half \\udc80 of it")
def endless():
    raise ValueError("x" * 5_000_000)
return Step([{", ".join(WAYS.values())}][case.batch_size - 1])"""


@pytest.fixture(scope="module")
def ended() -> dict[str, tuple[Session, int, int]]:
    """The session, once it has been run, the engine's peak of memory and the size of its log, in bytes."""
    return {}


@pytest.fixture
def case(
    ended: dict[str, tuple[Session, int, int]], start: Callable[[Sweep], Watched], own: Callable[..., Sweep]
) -> Callable[[str], CaseState]:
    """A case by what it does."""
    if not ended:
        watched = start(own(BODY, f"batch_size=1..{len(WAYS)}", f"iterations={ITERATIONS}", "timeout=6s"))
        engine, most = psutil.Process(watched.engine.pid), 0

        def look() -> bool:
            nonlocal most
            with suppress(psutil.Error):
                most = max(most, engine.memory_info().rss)
            return not watched.engine.alive()

        watched.until(look)
        session = watched.until_ended()
        log = log_path(watched.engine.session_id)
        ended["session"] = session, most, log.stat().st_size if log.exists() else 0
    cases = ended["session"][0].cases
    return lambda way: cases[list(WAYS).index(way)]


@pytest.mark.parametrize(("way", "name"), [("aborts", "SIGABRT"), ("ends in a fault of memory", "SIGSEGV")])
def test_signal_is_named_in_the_reason(case: Callable[[str], CaseState], way: str, name: str) -> None:
    end = case(way).finished
    assert end is not None
    assert (end.outcome, end.signal, end.reason) == ("failed", name, f"the worker was killed by {name}")


def test_early_exit_with_status_0_is_a_failure(case: Callable[[str], CaseState]) -> None:
    end = case("ends well too early").finished
    assert end is not None
    assert (end.outcome, end.exit_code) == ("failed", 0)
    assert end.reason == "the worker exited with status 0 before the end of the case"


@pytest.mark.parametrize("way", ["hangs in Python", "hangs in C code"])
def test_hanging_case_is_killed_at_its_timeout(case: Callable[[str], CaseState], way: str) -> None:
    end = case(way).finished
    assert end is not None
    assert (end.outcome, end.reason) == ("timeout", "still running after 6 s")


def test_failed_host_allocation_is_out_of_memory(case: Callable[[str], CaseState]) -> None:
    end = case("runs out of memory").finished
    assert end is not None
    assert end.outcome == "oom" and end.reason is not None and end.reason.startswith("out of memory on cpu: ")


def test_gigabytes_of_output_neither_block_nor_fill_anything(
    case: Callable[[str], CaseState], ended: dict[str, tuple[Session, int, int]]
) -> None:
    shouting = case("shouts")
    session, most, _ = ended["session"]
    assert shouting.state == "ok" and len(shouting.measured) == ITERATIONS
    assert most < 300e6, "the engine's memory stays what it was"
    assert sum(len(message.text) for message in session.messages) < 100_000


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("raises what has no text", "Unsayable: (no message: __str__ raised ZeroDivisionError)"),
        ("raises half a surrogate pair", "ValueError: half \\udc80 of it"),
    ],
)
def test_exception_with_unreadable_text_keeps_its_location(
    case: Callable[[str], CaseState], way: str, said: str
) -> None:
    end = case(way).finished
    assert end is not None and end.reason is not None
    assert end.outcome == "failed"
    assert re.fullmatch(r".*own\.py:\d+: " + re.escape(said), end.reason)


def test_huge_text_is_cut_in_the_session_and_whole_in_the_log(
    case: Callable[[str], CaseState], ended: dict[str, tuple[Session, int, int]]
) -> None:
    end = case("raises 5 MB").finished
    assert end is not None and end.reason is not None
    assert re.search(r"own\.py:\d+: ValueError: xxx", end.reason)
    assert len(end.reason) < 4400
    assert "… (1,000 kB in total, see the engine's log, " in end.reason
    assert re.search(r"log, /\S+\.log\)$", end.reason)
    assert 1_000_000 < ended["session"][2] < 1_100_000, "the log stays where the record points at it"


def test_step_that_forks_and_returns_fails_with_that_reason(case: Callable[[str], CaseState]) -> None:
    end = case("forks and comes back").finished
    assert end is not None
    assert (end.outcome, end.reason) == (
        "failed",
        "the step forked and returned in both processes, which would both measure the case;"
        " end the forked process with os._exit",
    )


def test_other_cases_are_measured(case: Callable[[str], CaseState]) -> None:
    assert case("leaves children behind").state == case("is well").state == "ok"
    assert len(case("is well").measured) == ITERATIONS


def test_threads_that_a_step_left_running_are_ended_and_named(case: Callable[[str], CaseState]) -> None:
    left = case("leaves threads running")
    assert left.finished is not None and left.finished.outcome == "ok"
    (count,) = re.findall(
        r"^the step left (\d+) threads running; they were ended$", "\n".join(left.marks), re.M
    )
    assert int(count) >= THREADS  # warm-up steps and those that are looked at afterwards leave some, too
    assert not any("threads" in mark for mark in case("leaves an idle pool").marks)
