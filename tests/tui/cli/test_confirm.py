import io
import os
import sys
from collections.abc import Iterator

import click
import pytest

from benchtui.tui.cli.consent.confirm import require_yes


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Return the end of a terminal at which keys are typed; the other end is standard input."""
    typed, read = os.openpty()
    with io.TextIOWrapper(os.fdopen(read, "rb")) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield typed
    os.close(typed)


@pytest.mark.parametrize("answer", [b"y\n", b"n\n"])
def test_only_what_is_typed_after_the_question_answers_it(
    terminal: int, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.write(terminal, b"n\n" if answer == b"y\n" else b"y\n")
    monkeypatch.setattr(click, "echo", lambda *_, **__: os.write(terminal, answer))
    if answer == b"y\n":
        require_yes("really?")
    else:
        with pytest.raises(click.Abort):
            require_yes("really?")
