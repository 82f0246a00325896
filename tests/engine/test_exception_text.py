"""Exceptions that don't want to say anything, or too much."""

import pytest

from benchtui.engine.exception_text import LONGEST, described, first_line, sendable


class Unsayable(Exception):
    def __init__(self, raised: BaseException) -> None:
        self.raised = raised

    def __str__(self) -> str:
        raise self.raised


@pytest.mark.parametrize("raised", [ValueError(), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_an_exception_whose_text_raises_is_named_all_the_same(raised: BaseException) -> None:
    said = f"(no text: its __str__ raised {type(raised).__name__})"
    assert described(Unsayable(raised)) == f"Unsayable: {said}"


def test_half_a_surrogate_pair_is_written_out() -> None:
    assert described(ValueError("a\ud800b\nc")) == r"ValueError: a\ud800b"
    assert sendable("ä𝄞") == "ä𝄞"


def test_a_text_is_bounded_and_may_be_empty() -> None:
    assert first_line(ValueError("x" * 5_000_000)) == "x" * LONGEST
    assert (first_line(ValueError()), described(ValueError("\n \n"))) == ("", "ValueError")
