"""Long texts of others on their way into the record."""

from pathlib import Path

import msgspec
import pytest

from benchtui.engine.supervisor.session_writer import MAX_TEXT_BYTES, SessionLog, cut_long_texts, mask_secrets
from benchtui.sessions.events import CaseFinished, CasePrepared, Message
from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.payloads import Model, StepCost
from benchtui.sessions.sweep_secrets import Secrets

LONG = "ä" * MAX_TEXT_BYTES


def cut(text: str = LONG) -> str:
    return f"{text[: MAX_TEXT_BYTES // 2]}… (8 kB in total, aside)"


def test_every_long_text_of_an_event_is_cut() -> None:
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


def test_secrets_are_masked_before_a_text_is_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a secret isn't recognized, and the engine's log has the whole text."""
    secrets = Secrets(environment={"AWS_SECRET_ACCESS_KEY": "ambient-secret"})
    log = SessionLog(Journal(tmp_path / "s.json"), secrets=secrets)
    cut_here = "x" * (MAX_TEXT_BYTES - 10)
    log.write_message(f"{cut_here} ambient-secret hf_AbCdEfGhIjKlMnOpQrSt")
    log.close()
    written = capsys.readouterr().err + (tmp_path / "s.json").read_text()
    assert "ambient" not in written and "hf_A" not in written and "*** ***" in written
    end = CaseFinished(t=1.0, case=0, outcome="failed", reason="no", marks=("https://a:b@h",))
    masked = mask_secrets(end, secrets)
    assert isinstance(masked, CaseFinished) and masked.marks == ("https://***@h",)


def test_cut_text_is_logged_in_full_with_a_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = SessionLog(Journal(tmp_path / "s.json"), engine_log=tmp_path / "x.log")
    assert not log.engine_log_needed
    log.write_message("engine failed: no\n" + "x" * 5000)
    log.close()
    assert log.engine_log_needed
    assert capsys.readouterr().err == f"| engine failed: no\n| {'x' * 5000}\n"
    assert f"… (5 kB in total, see the engine's log, {tmp_path / 'x.log'})" in (tmp_path / "s.json").read_text(
        "utf-8"
    )


def test_non_utf8_file_name_bytes_are_written() -> None:
    event = cut_long_texts(Message(t=0.0, level="info", text="r\udcff.json and ä"), pytest.fail)
    assert isinstance(event, Message)
    assert event.text == "r?.json and ä"
    assert msgspec.json.encode(event)
