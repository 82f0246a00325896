from pathlib import Path
from typing import Any

import pytest
from journals import write_journal

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.library import summaries
from benchtui.sessions.library.summaries import VERSION, SummaryCache, summary
from benchtui.sessions.payloads import Reported
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics


@pytest.fixture
def record(bench: Any, tmp_path: Path) -> Any:
    """Return a function that writes a session file of given cases."""

    def write(*made: Any, name: str = "s.json", **options: Any) -> Path:
        return write_journal(tmp_path / name, bench.events(*made, **options))

    return write


def test_summary_has_outcomes_and_the_best_case(bench: Any, record: Any) -> None:
    path = record(
        bench.case(1, 10.0, marks=("random weights",)),
        bench.case(4, 20.0, marks=("random weights", "disturbed: other processes used 90% CPU")),
        bench.case(8, outcome="oom"),
    )
    found = summary(path)
    assert (found.outcome, found.counts, found.measured) == ("completed", {"ok": 2, "oom": 1}, 2)
    assert found.best is not None
    assert found.best.config.name.startswith("cpu fp32 compile=off bs=4")
    figures = metrics(Session.load(path).cases[1])
    assert figures is not None
    assert found.best.samples_per_s == pytest.approx(figures.samples_per_s)
    assert found.marks == ("random weights", "disturbed")
    assert found.torch == "2.9"


def test_the_best_case_is_the_one_that_the_session_recommends(bench: Any, record: Any) -> None:
    rounds = [[ms + step / 1000 for step in range(30)] for ms in (10.0, 10.01, 10.02)]
    faster = [[ms * 0.995 for ms in times] for times in rounds]
    path = record(bench.case(1, rounds=rounds), bench.case(1, rounds=faster, compile="default"))
    best = summary(path).best
    assert best is not None and best.config.compile == "off", "the simpler of two that are the same"
    decision = conclude(Session.load(path)).works[0]
    assert (best.config, best.decided) == (decision.best.config, decision.decided)
    assert best.samples_per_s == pytest.approx(decision.best.metrics.samples_per_s)


def test_a_session_without_a_measured_case_has_failed(bench: Any, record: Any) -> None:
    found = summary(record(bench.case(1, outcome="failed"), bench.case(2, outcome="skipped")))
    assert (found.outcome, found.measured, found.best) == ("failed", 0, None)


def test_imported_metrics_are_summarized_too(bench: Any, record: Any) -> None:
    reported = Reported(steps=20, latency_mean_ms=16.1, samples_per_s=497.94)
    found = summary(record(bench.case(8, end={"reported": reported})))
    assert found.best is not None
    assert found.best.samples_per_s == 497.94


def test_the_best_of_cases_without_a_rate_has_the_shortest_step(bench: Any, record: Any) -> None:
    threads = {2: 20.0, 4: 12.0, 1: 30.0}
    made = [
        bench.case(1, threads=count, end={"reported": Reported(latency_mean_ms=ms)})
        for count, ms in threads.items()
    ]
    best = summary(record(*made)).best
    assert best is not None
    assert (best.config.threads, best.samples_per_s, best.rate, best.unit) == (4, None, 12.0, "ms per step")


def test_cut_off_and_unreadable_sessions_are_labeled(bench: Any, record: Any) -> None:
    assert summary(record(bench.case(1, 10.0), finished=None)).outcome == "crashed"
    path = record(bench.case(1, 10.0), name="broken.json")
    path.write_text(path.read_text() + '{"event":"steps"},\n')
    found = summary(path)
    assert found.outcome == "unreadable"
    assert (found.reason or "").startswith("line 10: invalid steps event")


def test_summary_is_cached(bench: Any, record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, index = record(bench.case(1, 10.0)), tmp_path / "cache" / "index.json"
    first = SummaryCache(index)
    assert first.known(path) is None
    known = first.read(path)
    first.save()
    monkeypatch.setattr(summaries, "summary", lambda *_: pytest.fail("folded twice"))
    assert SummaryCache(index).read(path) == known == SummaryCache(index).known(path)


def test_changed_file_is_read_again(bench: Any, record: Any, tmp_path: Path) -> None:
    path, found = record(bench.case(1, 10.0), finished=None), SummaryCache(tmp_path / "index.json")
    assert found.read(path).outcome == "crashed"
    path.write_text(path.read_text() + '{"event":"session_finished","t":100.0,"outcome":"completed"}\n]\n')
    assert found.known(path) is None
    assert found.read(path).outcome == "completed"


@pytest.mark.parametrize("text", ["", "[", '{"version":2}', '{"version":99,"files":{}}', "\xff"])
def test_unreadable_cache_is_rebuilt_silently(bench: Any, record: Any, tmp_path: Path, text: str) -> None:
    index = tmp_path / "index.json"
    index.write_text(text, "latin-1")
    found = SummaryCache(index)
    assert found.read(record(bench.case(1, 10.0))).measured == 1
    found.save()
    assert f'"version":{VERSION}' in index.read_text()


def test_deleted_sessions_are_dropped_from_the_cache(bench: Any, record: Any, tmp_path: Path) -> None:
    index = tmp_path / "index.json"
    paths = [record(bench.case(1, 10.0), name=name) for name in ("a.json", "b.json")]
    found = SummaryCache(index)
    for path in paths:
        found.read(path)
    paths[0].unlink()
    found.save()
    assert "a.json" not in index.read_text()
    assert "b.json" in index.read_text()


def test_unwritable_cache_is_ignored(bench: Any, record: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found = SummaryCache(tmp_path / "file" / "index.json")
    found.read(record(bench.case(1, 10.0)))
    found.save()
