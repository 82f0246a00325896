"""What the ends of cases lead to, with cases that are played."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseStarted, Outcome, Runtime
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Environment, Host, Memory
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Config, Measure

Begin = Callable[..., Any]
AUTO = Axes(batch_size_auto=True)


def texts(session: Session) -> list[str]:
    return [message.text for message in session.messages]


def test_worker_that_cannot_start_fails_only_its_case(stage: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = stage()
    launch = sweep.scheduler._launch

    def refuse_one(turn: Any) -> Any:
        if turn.case.index == 1:
            raise BenchtuiError("can't start the worker: why")
        return launch(turn)

    monkeypatch.setattr(sweep.scheduler, "_launch", refuse_one)
    assert sweep.finish(0) and sweep.running == [2]
    assert sweep.outcomes()[1] == ("failed", "can't start the worker: why")
    assert sweep.told().cases[1].started is None


def test_larger_cases_of_the_family_are_skipped_after_out_of_memory(stage: Begin) -> None:
    axes = Axes(precision=("fp32", "bf16"), sequence_length=(128, 64), batch_size=(4, 1, 8))
    sweep = stage(axes=axes)
    sweep.finish(0, "oom")
    reason = "larger than case 1, which ran out of memory"
    assert sweep.outcomes() == {0: ("oom", None), 2: ("skipped", reason)}
    sweep.finish_all(lambda config: ("ok", {}))
    assert [outcome for outcome, _ in sweep.outcomes().values()].count("ok") == 10
    assert sum(case.started is None for case in sweep.told().cases) == 1


def test_second_case_of_an_aa_pair_is_skipped_after_out_of_memory(stage: Begin) -> None:
    sweep = stage(axes=Axes(), measure=Measure(aa=True))
    assert not sweep.finish(0, "oom")
    assert sweep.outcomes()[1] == ("skipped", "as large as case 1, which ran out of memory")


def test_case_added_by_the_user_runs_despite_out_of_memory(stage: Begin) -> None:
    sweep = stage()
    sweep.finish(0, "oom")
    assert sweep.outcomes().keys() == {0, 1, 2}
    assert sweep.scheduler.add(Config(device="cpu", batch_size=8), "added by the user").index == 3
    assert sweep.scheduler.advance() and sweep.running == [3]


def test_cases_on_missing_devices_are_skipped_first(stage: Begin) -> None:
    runtime = Runtime(t=0.0, torch="2.9", cuda="12", cuda_devices=("H200",))
    sweep = stage(runtime=runtime, axes=Axes(device=("cuda:1", "cuda:0", "cpu"), precision=("tf32",)))
    assert sweep.running == [1]
    outcomes = sweep.outcomes()
    assert outcomes[0] == ("skipped", "no cuda:1 on this machine: torch 2.9 sees 1 CUDA device")
    assert "tf32" in outcomes[2][1]
    sweep.scheduler.add(Config(device="cuda:3"), "added by the user")
    assert "no cuda:3 on this machine" in sweep.outcomes()[3][1]


HOT = {"measured_s": (0.0, 1.0), "environment": Environment(throttle=("sw_thermal",))}


def test_disturbed_case_is_retried_after_a_pause(stage: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2)))
    first = sweep.played[0]
    sweep.finish(0, **HOT)
    assert sweep.running == [0]
    assert 0 < sweep.scheduler.left_s <= 5.0
    sweep.scheduler.advance()
    assert sweep.played[0] is first, "the machine rests"
    now_s = sweep.log.now_s()
    monkeypatch.setattr(sweep.log, "now_s", lambda: now_s + 6.0)
    sweep.scheduler.advance()
    assert sweep.played[0] is not first
    assert len(sweep.told().cases[0].measured) == 0, "what was disturbed doesn't count"
    sweep.finish(0)
    assert sweep.outcomes() == {0: ("ok", None)} and sweep.running == [1]
    assert "remeasuring in 5 s" in texts(sweep.told())[0]


def test_skipping_a_paused_retry_keeps_the_measurement(stage: Begin) -> None:
    sweep = stage(axes=Axes(batch_size=(1, 2)))
    sweep.finish(0, **HOT)
    sweep.scheduler.end(0, "skipped", "skipped by the user")
    sweep.scheduler.advance()
    assert sweep.running == [1] and sweep.outcomes()[0] == ("ok", None)
    assert len(sweep.told().cases[0].measured) == 20


def test_stopped_sweep_retries_nothing(stage: Begin) -> None:
    sweep = stage(axes=Axes())
    sweep.scheduler.stop("stopped")
    assert not sweep.finish(0, **HOT)
    assert sweep.outcomes() == {0: ("ok", None)}


def fitting(most: int, fastest: int = 10**9) -> Callable[[Config], tuple[Outcome, dict[str, Any]]]:
    """A machine on which so many samples fit, and throughput grows up to a batch size."""

    def ends(config: Config) -> tuple[Outcome, dict[str, Any]]:
        step_ms = max(1.0, config.batch_size / fastest)
        if config.batch_size > most:
            return "oom", {}
        return "ok", {"step_ms": step_ms, "memory": Memory(peak_allocated_mb=100.0 * config.batch_size)}

    return ends


def test_search_adds_cases_next_to_its_family(stage: Begin) -> None:
    sweep = stage(axes=Axes(precision=("fp32", "bf16"), batch_size_auto=True))
    sweep.finish_all(fitting(5))
    session = sweep.told()
    sizes = [(case.config.precision, case.config.batch_size) for case in session.cases]
    assert sizes[:2] == [("fp32", 1), ("bf16", 1)]
    assert sizes[2:7] == [("fp32", size) for size in (2, 4, 8, 6, 5)], "a family is finished before the next"
    assert sizes[7:] == [("bf16", size) for size in (2, 4, 8, 6, 5)]
    assert session.cases[2].added is not None and session.cases[2].added.why == "auto: doubling"
    assert texts(session) == [
        f"auto batch size of cpu {precision} compile=off seq=128: largest that fits 5 (6 ran out of memory);"
        " highest throughput at 5"
        for precision in ("fp32", "bf16")
    ]
    assert session.cases[4].state == "oom"


def started(sweep: Any) -> list[int]:
    """Batch sizes in the order in which their cases began."""
    events = read(sweep.path).events
    return [event.config.batch_size for event in events if isinstance(event, CaseStarted)]


def test_second_round_runs_the_searched_sizes_backward(stage: Begin) -> None:
    sweep = stage(axes=AUTO, measure=Measure(rounds=2))
    sweep.finish_all(fitting(3))
    session = sweep.told()
    outcomes = {case.config.batch_size: (case.state, len(case.measured.by_round())) for case in session.cases}
    assert outcomes == {1: ("ok", 2), 2: ("ok", 2), 4: ("oom", 1), 3: ("ok", 2)}
    assert started(sweep) == [1, 2, 4, 3, 3, 2, 1]
    assert len(texts(session)) == 1, "the search is over after its round"


def test_predicted_memory_avoids_a_case_that_would_not_fit(stage: Begin) -> None:
    host = Host(memory_mb=2000.0, absent={"rapl": "none"})
    sweep = stage(host=host, axes=AUTO)

    def ends(config: Config) -> tuple[Outcome, dict[str, Any]]:
        fields: dict[str, Any] = {"memory": Memory(peak_rss_mb=500.0 + 100.0 * config.batch_size)}
        return ("ok", fields) if config.batch_size <= 15 else ("oom", {})

    sweep.finish_all(ends)
    assert [case.config.batch_size for case in sweep.told().cases] == [1, 2, 4, 8, 12, 15]
    (text,) = texts(sweep.told())
    assert "largest that fits 15 (16 not run: predicted peak of 2,100 MB exceeds 2,000 MB)" in text


@pytest.mark.parametrize(("margin_percent", "largest"), [(0.0, 16), (5.0, 15), (10.0, 13)])
def test_margin_of_memory_stays_free(stage: Begin, margin_percent: float, largest: int) -> None:
    """The machine has room for 16 samples; prediction is exact from two sizes on."""
    host = Host(memory_mb=2110.0, absent={"rapl": "none"})
    sweep = stage(host=host, axes=AUTO, measure=Measure(margin_percent=margin_percent))
    sweep.finish_all(
        lambda config: (
            ("ok", {"memory": Memory(peak_rss_mb=500.0 + 100.0 * config.batch_size)})
            if config.batch_size <= 16
            else ("oom", {})
        )
    )
    assert max(case.config.batch_size for case in sweep.told().cases if case.state == "ok") == largest
    (text,) = texts(sweep.told())
    assert text.startswith(f"auto batch size of cpu fp32 compile=off seq=128: largest that fits {largest} (")
    assert (f"exceeds 2,110 MB less a margin of {margin_percent:g}%" in text) is (margin_percent > 0)


def test_size_that_leaves_too_little_memory_is_too_large(stage: Begin) -> None:
    """Before two sizes are known nothing is predicted: what was measured decides."""
    host = Host(memory_mb=1000.0, absent={"rapl": "none"})
    sweep = stage(host=host, axes=AUTO, measure=Measure(margin_percent=5.0))
    sweep.finish_all(
        lambda config: ("ok", {"memory": Memory(peak_rss_mb=700.0 if config.batch_size < 2 else 980.0)})
    )
    assert texts(sweep.told()) == [
        "auto batch size of cpu fp32 compile=off seq=128: largest that fits 1 (2 leaves 2.0% of memory free,"
        " less than the margin of 5%); highest throughput at 1"
    ]
    assert [case.state for case in sweep.told().cases] == ["ok", "ok"]


@pytest.mark.parametrize("fits", [1, 3])
def test_found_size_that_fails_in_a_later_round_is_replaced(stage: Begin, fits: int) -> None:
    """Each size is a whole case with all its steps; later rounds confirm it once more."""
    sweep = stage(axes=AUTO, measure=Measure(rounds=2))
    ends = fitting(fits)
    rounds: dict[int, int] = {}

    def worse(config: Config) -> tuple[Outcome, dict[str, Any]]:
        rounds[config.batch_size] = rounds.get(config.batch_size, 0) + 1
        late = config.batch_size == fits and rounds[fits] == 2
        return ("oom", {}) if late else ends(config)

    sweep.finish_all(worse)
    first, second = texts(sweep.told())
    assert f"largest that fits {fits} (" in first
    instead = "largest so far 2; highest throughput at 2" if fits > 1 else "no batch size fits"
    prefix = "auto batch size of cpu fp32 compile=off seq=128: "
    assert second == f"{prefix}{fits} ran out of memory in a later round; {instead}"


def test_gpu_without_a_known_uuid_is_not_held_against_the_memory_of_the_host(stage: Begin) -> None:
    host = Host(memory_mb=2000.0, absent={"rapl": "none"})
    sweep = stage(host=host, axes=Axes(device=("cuda:0",), batch_size_auto=True))

    def ends(config: Config) -> tuple[Outcome, dict[str, Any]]:
        fields: dict[str, Any] = {"memory": Memory(peak_allocated_mb=500.0 + 100.0 * config.batch_size)}
        return ("ok", fields) if config.batch_size <= 30 else ("oom", {})

    sweep.finish_all(ends)
    assert max(case.config.batch_size for case in sweep.told().cases) > 15


def test_search_respects_out_of_memory_at_a_shorter_sequence(stage: Begin) -> None:
    sweep = stage(axes=Axes(sequence_length=(64, 128), batch_size_auto=True))
    sweep.finish_all(fitting(3))
    sizes = [(case.config.sequence_length, case.config.batch_size) for case in sweep.told().cases]
    assert sizes == [(64, 1), (128, 1), (64, 2), (64, 4), (64, 3), (128, 2), (128, 3)]
    assert (
        "largest that fits 3 (4 not run: larger than case 4, which ran out of memory)" in texts(sweep.told())[1]
    )


def test_skipping_ends_a_search_with_a_message_and_stopping_does_not(stage: Begin) -> None:
    sweep = stage(axes=AUTO)
    sweep.finish(0)
    sweep.scheduler.end(1, "skipped", "skipped by the user")
    assert not sweep.scheduler.advance()
    (text,) = texts(sweep.told())
    assert "stopped at batch size 2 (skipped: skipped by the user); largest so far 1" in text
    stopped = stage(axes=AUTO)
    stopped.finish(0)
    stopped.scheduler.stop("stopped")
    stopped.scheduler.advance()
    assert texts(stopped.told()) == []


def test_second_case_of_an_aa_pair_is_not_searched(stage: Begin) -> None:
    sweep = stage(axes=AUTO, measure=Measure(aa=True))
    sweep.finish_all(fitting(1))
    assert [case.config.batch_size for case in sweep.told().cases] == [1, 1, 2]


@pytest.mark.parametrize(("mode", "ends_at"), [("latency", 32), ("throughput", 64)])
def test_search_in_throughput_mode_measures_noise_over_blocks(stage: Begin, mode: Any, ends_at: int) -> None:
    sweep = stage(axes=AUTO, measure=Measure(mode=mode))
    sweep.finish_all(fitting(10**6, fastest=8))
    assert sweep.told().cases[-1].config.batch_size == ends_at, "20 steps are one block, with unknown noise"
