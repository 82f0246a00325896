from pathlib import Path
from typing import Any

import pytest

from benchtui.sessions.journal.writer import Journal
from benchtui.sessions.library import summaries
from benchtui.sessions.library.summaries import SummaryCache, summary
from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics


@pytest.fixture
def record(bench: Any, tmp_path: Path) -> Any:
    """Writes a session file of these cases."""

    def write(*made: Any, name: str = "s.json", **options: Any) -> Path:
        journal = Journal(tmp_path / name)
        for event in bench.events(*made, **options):
            journal.append(event)
        journal.close()
        return tmp_path / name

    return write


def test_a_summary_tells_outcomes_and_the_best_case(bench: Any, record: Any) -> None:
    path = record(
        bench.case(1, 10.0, marks=("random weights",)),
        bench.case(4, 20.0, marks=("random weights", "disturbed: others used 90% of a processor")),
        bench.case(8, outcome="oom"),
    )
    found = summary(path)
    assert (found.outcome, found.counts, found.measured) == ("completed", {"ok": 2, "oom": 1}, 2)
    assert found.best is not None
    assert found.best.case.startswith("cpu fp32 compile=off bs=4")
    figures = metrics(Session.load(path).cases[1])
    assert figures is not None
    assert found.best.samples_per_s == pytest.approx(figures.samples_per_s)
    assert found.marks == ("random weights", "disturbed")
    assert found.torch == "2.9"


def test_figures_taken_over_count_as_well(bench: Any, record: Any) -> None:
    reported = Reported(steps=20, latency_mean_ms=16.1, samples_per_s=497.94)
    found = summary(record(bench.case(8, end={"reported": reported})))
    assert found.best is not None
    assert found.best.samples_per_s == 497.94


def test_the_second_of_an_aa_pair_is_no_best_case(bench: Any, record: Any) -> None:
    found = summary(record(bench.case(1, 10.0), bench.case(1, 9.0, repeat=1)))
    assert found.best is not None
    assert found.best.samples_per_s == pytest.approx(100.0)


def test_a_record_that_breaks_off_or_is_broken_says_so(bench: Any, record: Any) -> None:
    assert summary(record(bench.case(1, 10.0), finished=None)).outcome == "cut off"
    path = record(bench.case(1, 10.0), name="broken.json")
    path.write_text(path.read_text() + '{"event":"steps"},\n')
    found = summary(path)
    assert found.outcome == "unreadable"
    assert (found.reason or "").startswith("line 10: a broken steps event")


def test_what_was_read_once_is_kept(
    bench: Any, record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, index = record(bench.case(1, 10.0)), tmp_path / "cache" / "index.json"
    first = SummaryCache(index)
    assert first.known(path) is None
    known = first.read(path)
    first.save()
    monkeypatch.setattr(summaries, "summary", lambda *_: pytest.fail("folded twice"))
    assert SummaryCache(index).read(path) == known == SummaryCache(index).known(path)


def test_a_file_that_has_changed_is_read_again(bench: Any, record: Any, tmp_path: Path) -> None:
    path, found = record(bench.case(1, 10.0), finished=None), SummaryCache(tmp_path / "index.json")
    assert found.read(path).outcome == "cut off"
    path.write_text(path.read_text() + '{"event":"session_finished","t":100.0,"outcome":"completed"}\n]\n')
    assert found.known(path) is None
    assert found.read(path).outcome == "completed"


@pytest.mark.parametrize("text", ["", "[", '{"version":2}', '{"version":99,"files":{}}', "\xff"])
def test_an_unreadable_index_is_built_anew_without_a_word(
    bench: Any, record: Any, tmp_path: Path, text: str
) -> None:
    index = tmp_path / "index.json"
    index.write_text(text, "latin-1")
    found = SummaryCache(index)
    assert found.read(record(bench.case(1, 10.0))).measured == 1
    found.save()
    assert '"version":2' in index.read_text()


def test_sessions_that_are_gone_leave_the_index(bench: Any, record: Any, tmp_path: Path) -> None:
    index = tmp_path / "index.json"
    paths = [record(bench.case(1, 10.0), name=name) for name in ("a.json", "b.json")]
    found = SummaryCache(index)
    for path in paths:
        found.read(path)
    paths[0].unlink()
    found.save()
    assert "a.json" not in index.read_text()
    assert "b.json" in index.read_text()


def test_a_place_that_can_not_be_written_is_no_loss(bench: Any, record: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = SummaryCache(tmp_path / "file" / "index.json")
    found.read(record(bench.case(1, 10.0)))
    found.save()
