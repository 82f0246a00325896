import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from benchtui.engine import client
from benchtui.engine.client import Engine
from benchtui.tui.cli.consent import require_yes, waits_for_others


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


@pytest.mark.parametrize(("answer", "waits"), [(b"\n", True), (b"w\n", True), (b"y\n", False), (b"n\n", None)])
def test_sweep_next_to_another_one_waits_unless_told_otherwise(
    terminal: int, answer: bytes, waits: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    def echo(text: str, **_: object) -> None:
        told.append(text)
        if "[W/y]" in text:
            os.write(terminal, answer)

    monkeypatch.setattr(click, "echo", echo)
    monkeypatch.setattr(sys, "stderr", sys.stdin)
    monkeypatch.setattr(client, "running", lambda: [Engine("a", Path("/x/quick-77.json"), 1)])
    if waits is None:
        with pytest.raises(click.Abort):
            waits_for_others(False)
    else:
        assert waits_for_others(False) is waits
    assert "Another sweep is running on this machine" in told[0] and "quick-77" in told[0]
    assert told[1] == "w: wait, then start; y: start anyway [W/y]: "


def test_sweep_asks_nothing_without_a_terminal_or_another_sweep(
    terminal: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "running", lambda: [Engine("a", Path("/x/quick-77.json"), 1)])
    assert [waits_for_others(wait) for wait in (False, True)] == [False, True]
    monkeypatch.setattr(sys, "stderr", sys.stdin)
    monkeypatch.setattr(client, "running", list)
    assert waits_for_others(False) is False
