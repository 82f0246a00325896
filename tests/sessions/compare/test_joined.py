from pathlib import Path
from typing import Any

import pytest
from journals import write_journal
from msgspec.structs import replace

from benchtui.sessions.compare.joined import (
    join_follow_up,
    join_into,
    joined_copy,
    joined_events,
    load_joined,
    with_baselines,
)
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.payloads import Energy, Host, Memory
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.sessions.sweep import Axes, Baseline, Measure, Sweep
from benchtui.sessions.sweep.plan import included_configs

SWEEP = Sweep(name="first", model="tiny")


@pytest.fixture
def first(bench: Any, tmp_path: Path) -> Path:
    """A session of two cases, of one round of 30 steps each."""
    made = (bench.case(1, 10.0), bench.case(2, 15.0, end={"energy": Energy(energy_j=3.0, mean_power_w=1.0)}))
    return write_journal(tmp_path / "first.json", bench.events(*made, sweep=SWEEP))


def follow_up(bench: Any, path: Path, *made: Any, **sweep: Any) -> Path:
    return write_journal(path, bench.events(*made, sweep=replace(SWEEP, name="next", **sweep)))


def test_rounds_of_a_case_are_measured_together(bench: Any, first: Path, tmp_path: Path) -> None:
    end = {"energy": Energy(energy_j=2.0, mean_power_w=1.0), "memory": Memory(peak_rss_mb=7.0)}
    made = bench.case(2, rounds=[[20.0] * 5, [30.0] * 4], ms=[1.0], end=end)
    other = follow_up(bench, tmp_path / "b.json", made)
    session = load_joined([first, other])
    case = session.cases[1]
    assert (case.state, case.steps_measured) == ("ok", 39)
    assert metrics(case).latency_ms.n == 39
    assert case.finished is not None and case.finished.energy is not None
    assert (case.finished.energy.energy_j, case.peak_memory_mb) == (5.0, 7.0)
    assert [ended.round for ended in case.rounds] == [0]
    whole = Session()
    whole.apply_all(joined_events([first, other]))
    assert [number for number, _ in whole.cases[1].measured.rounds] == [0, 1, 2]
    assert session.cases[0].steps_measured == 30
    assert (session.cut_off, session.running, len(session.cases)) == (False, [], 2)


def test_disturbance_of_both_sessions_is_one_mark_with_its_rounds(bench: Any, tmp_path: Path) -> None:
    used = "disturbed: other processes used {}% CPU: {} (root)"
    path = write_journal(
        tmp_path / "first.json",
        bench.events(bench.case(1, 10.0, end={"marks": ("sample text", used.format(59, "a"))}), sweep=SWEEP),
    )
    for marks in ((used.format(80, "b"),), ("sample text",)):
        made = bench.case(1, 11.0, end={"marks": marks})
        join_into(path, follow_up(bench, tmp_path / f"{len(marks[0])}.json", made))
    expected = ("sample text", f"{used.format(80, 'b')}, in 2 of 3 rounds")
    assert Session.load(path).cases[0].marks == expected


def test_case_that_is_new_is_added(bench: Any, first: Path, tmp_path: Path) -> None:
    other = follow_up(bench, tmp_path / "b.json", bench.case(8, 40.0), bench.case(1, 10.0))
    session = load_joined([first, other])
    assert [case.config.batch_size for case in session.cases] == [1, 2, 8]
    assert session.cases[2].added is not None
    assert [len(case.ends) for case in session.cases] == [2, 1, 1]
    assert {config.batch_size for config in included_configs(session.start.sweep)} == {1, 8}


def test_new_cases_are_measured_with_the_baseline_of_their_answers(bench: Any, first: Path) -> None:
    session, named = Session.load(first), replace(SWEEP.measure, baseline=Baseline(batch_size=1))
    sweep = replace(SWEEP, measure=named, axes=Axes(precision=("bf16",), batch_size=(1, 4)))
    planned = [(each.precision, each.batch_size) for each in included_configs(with_baselines(session, sweep))]
    assert planned == [("fp32", 1), ("bf16", 1), ("bf16", 4)]
    for alone in (
        replace(sweep, axes=Axes(batch_size=(1, 4))),
        replace(sweep, axes=Axes(batch_size=(2,))),
        replace(sweep, measure=replace(named, answers=False)),
    ):
        assert with_baselines(session, alone) == alone


def test_case_that_failed_again_keeps_what_was_measured(bench: Any, first: Path, tmp_path: Path) -> None:
    failed = bench.case(2, 99.0, outcome="failed", end={"reason": "no"})
    session = load_joined([first, follow_up(bench, tmp_path / "b.json", failed)])
    assert (session.cases[1].state, session.cases[1].steps_measured) == ("ok", 30)


def test_case_that_failed_before_is_replaced(bench: Any, tmp_path: Path) -> None:
    failed = bench.case(1, 99.0, outcome="timeout", end={"reason": "slow"})
    first = write_journal(tmp_path / "a.json", bench.events(failed, sweep=SWEEP))
    session = load_joined([first, follow_up(bench, tmp_path / "b.json", bench.case(1, 10.0))])
    assert (session.cases[0].state, session.cases[0].steps_measured) == ("ok", 30)
    assert metrics(session.cases[0]).latency_ms.median == pytest.approx(10.0)


def test_joined_file_reads_as_the_joined_sessions(bench: Any, first: Path, tmp_path: Path) -> None:
    other = follow_up(bench, tmp_path / "b.json", bench.case(2, 15.0), bench.case(4, 20.0))
    expected = joined_events([first, other])
    join_into(first, other)
    session = Session.load(first)
    assert [len(case.ends) for case in session.cases] == [1, 2, 1]
    assert session.start.sweep.measure.rounds_auto
    assert session.now_s == expected[-1].t
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.json", "first.json"]


def test_follow_up_is_appended_and_its_file_removed(bench: Any, first: Path, tmp_path: Path) -> None:
    other = follow_up(bench, tmp_path / "b.json", bench.case(2, 15.0))
    assert join_follow_up(first, other, Session.load(other))
    assert [len(case.ends) for case in Session.load(first).cases] == [1, 2]
    assert not other.exists()


def test_follow_up_without_a_measured_case_stays_as_it_is(bench: Any, first: Path, tmp_path: Path) -> None:
    other = follow_up(bench, tmp_path / "b.json", bench.case(2, 15.0, outcome="failed", end={"reason": "no"}))
    assert not join_follow_up(first, other, Session.load(other))
    assert other.exists() and len(Session.load(first).cases[1].ends) == 1


def test_joined_copy_is_one_session_until_its_end(bench: Any, first: Path, tmp_path: Path) -> None:
    other = follow_up(bench, tmp_path / "b.json", bench.case(2, 15.0), bench.case(4, 20.0))
    with joined_copy([first, other]) as copy:
        assert [len(case.ends) for case in Session.load(copy).cases] == [1, 2, 1]
    assert not copy.exists() and other.exists() and len(Session.load(first).cases) == 2


@pytest.mark.parametrize(
    ("sweep", "host", "reason"),
    [
        ({"task": "generate"}, None, "they differ in task"),
        ({"weights": "random", "dataset": "synthetic"}, None, "they differ in weights, dataset"),
        ({"measure": Measure(mode="throughput")}, None, r"they differ in measure\.mode"),
        ({}, Host(platform="Darwin"), "the machine or its software has changed: "),
    ],
)
def test_sessions_of_other_work_are_refused(
    bench: Any, first: Path, tmp_path: Path, sweep: dict[str, Any], host: Host | None, reason: str
) -> None:
    made = bench.events(bench.case(1, 10.0), sweep=replace(SWEEP, **sweep), host=host)
    other, before = write_journal(tmp_path / "b.json", made), first.read_bytes()
    with pytest.raises(BenchtuiError, match=f"can't be joined: {reason}"):
        join_into(first, other)
    assert first.read_bytes() == before


def test_case_of_other_files_is_refused(bench: Any, first: Path, tmp_path: Path) -> None:
    changed = bench.case(1, 10.0, prepared={"files": {"config.json": "other"}})
    with pytest.raises(BenchtuiError, match="files of the step, the model or the dataset have changed"):
        load_joined([first, follow_up(bench, tmp_path / "b.json", changed)])
