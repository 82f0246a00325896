"""Long texts of others on their way into the record."""

from pathlib import Path

import msgspec
import pytest

from benchtui.engine.supervisor.session_writer import SessionLog
from benchtui.engine.text_limits import LONGEST_BYTES, cut_long_texts
from benchtui.sessions.events import CaseFinished, CasePrepared, Message, Steps
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Model, StepCost

LONG = "ä" * LONGEST_BYTES


def cut(text: str = LONG) -> str:
    return f"{text[: LONGEST_BYTES // 2]}… (8 kB in all, aside)"


def test_every_text_of_an_event_is_cut_wherever_it_stands() -> None:
    seen: list[str] = []

    def aside(text: str) -> str:
        seen.append(text)
        return "aside"

    end = CaseFinished(
        t=1.0, case=0, outcome="failed", reason=LONG, marks=("m", LONG), work=StepCost(absent={"flops": LONG})
    )
    found = cut_long_texts(end, aside)
    assert isinstance(found, CaseFinished) and found.work
    assert (found.reason, found.marks, found.work.absent) == (cut(), ("m", cut()), {"flops": cut()})
    prepared = cut_long_texts(CasePrepared(t=1.0, case=0, model=Model(name=LONG)), aside)
    assert isinstance(prepared, CasePrepared) and prepared.model.name == cut()
    assert seen == [LONG] * 4


def test_what_is_short_stays_as_it_is() -> None:
    events = (
        Message(t=0.0, level="info", text="x" * LONGEST_BYTES),
        Steps(t=0.0, case=0, phase="measure", wall_ms=[1.0]),
        CaseFinished(t=1.0, case=0, outcome="ok", marks=("m",)),
    )
    assert all(cut_long_texts(event, str) is event for event in events)


def test_the_rest_is_in_the_log_and_is_none_of_the_engines_own_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = SessionLog(Journal(tmp_path / "s.json"), engine_log=tmp_path / "x.log")
    assert not log.engine_log_needed
    log.tell("the engine gives up: no\n" + "x" * 5000)
    log.close()
    assert log.engine_log_needed
    assert capsys.readouterr().err == f"| the engine gives up: no\n| {'x' * 5000}\n"
    assert f"… (5 kB in all, the rest is in the engine's log, {tmp_path / 'x.log'})" in (
        tmp_path / "s.json"
    ).read_text("utf-8")


def test_bytes_of_a_name_that_are_no_text_can_be_written() -> None:
    event = cut_long_texts(Message(t=0.0, level="info", text="r\udcff.json and ä"), pytest.fail)
    assert isinstance(event, Message)
    assert event.text == "r?.json and ä"
    assert msgspec.json.encode(event)
