"""Exceptions that don't want to say anything, or too much."""

import pytest

from benchtui.engine.exception_text import MAX_TEXT_CHARS, described, first_line, sendable


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
