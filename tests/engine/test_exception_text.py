"""Exceptions that don't want to say anything, or too much."""

import multiprocessing

import pytest

from benchtui.engine.exception_text import (
    MAX_TEXT_CHARS,
    blames_child,
    child_error,
    described,
    first_line,
    sendable,
)


class Unsayable(Exception):
    def __init__(self, raised: BaseException) -> None:
        self.raised = raised

    def __str__(self) -> str:
        raise self.raised


@pytest.mark.parametrize("raised", [ValueError(), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_exception_whose_str_raises_is_still_named(raised: BaseException) -> None:
    said = f"(no message: __str__ raised {type(raised).__name__})"
    assert described(Unsayable(raised)) == f"Unsayable: {said}"


def test_lone_surrogate_is_escaped() -> None:
    assert described(ValueError("a\ud800b\nc")) == r"ValueError: a\ud800b"
    assert sendable("ä𝄞") == "ä𝄞"


def test_exception_text_is_limited_and_may_be_empty() -> None:
    assert first_line(ValueError("x" * 5_000_000)) == "x" * MAX_TEXT_CHARS
    assert (first_line(ValueError()), described(ValueError("\n \n"))) == ("", "ValueError")


TRACE = """Traceback (most recent call last):
  File "/lib/worker.py", line 3, in loop
    fetch()
  File "/mine/step.py", line 12, in __getitem__
    raise ValueError(text)
"""


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ValueError(
                "Caught ValueError in DataLoader worker process 0.\nOriginal "
                + TRACE
                + "ValueError: row 3 is\nbroken\n"
            ),
            "ValueError: row 3 is (in DataLoader worker process 0)",
        ),
        (
            RuntimeError("\n\n-- Process 1 terminated with the following error:\n" + TRACE + "KeyError: 'x'\n"),
            "KeyError: 'x' (in process 1)",
        ),
        (
            RuntimeError("Caught OSError in pin memory thread for device 0.\nOriginal " + TRACE + "OSError\n"),
            "OSError (in pin memory thread for device 0)",
        ),
    ],
)
def test_exception_of_a_child_process_is_its_own_last_line(error: Exception, said: str) -> None:
    assert described(error) == said
    child = child_error(error)
    assert child is not None and child.frames[-1] == ("/mine/step.py", 12)


def test_exception_that_a_pool_raises_again_names_the_line_in_the_child() -> None:
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(ZeroDivisionError) as raised:
        pool.apply(divmod, (1, 0))
    assert (
        described(raised.value) == "ZeroDivisionError: integer division or modulo by zero (in a child process)"
    )
    child = child_error(raised.value)
    assert child is not None and child.frames[-1][0].endswith("pool.py")


@pytest.mark.parametrize(
    ("reason", "gone"),
    [
        ("RuntimeError: DataLoader worker (pid(s) 8801, 8802) exited unexpectedly", True),
        ("RuntimeError: DataLoader worker (pid 3) is killed by signal: Killed. ", True),
        ("BrokenProcessPool: A process in the process pool was terminated abruptly while", True),
        ("ProcessExitedException: process 0 terminated with exit code 1", True),
        ("s.py:3: EOFError", True),
        ("ValueError: row 3 is broken", False),
    ],
)
def test_reasons_that_a_child_is_gone(reason: str, gone: bool) -> None:
    assert blames_child(reason) is gone


def test_an_exception_without_a_child_is_described_as_before() -> None:
    error = ValueError("first\nsecond")
    error.__cause__ = KeyError("cause")
    assert (described(error), child_error(error)) == ("ValueError: first", None)
