"""What the user may ask of a sweep on its way, with cases that are played."""

from collections.abc import Callable
from typing import Any

import pytest

from benchtui.engine.control import Command
from benchtui.engine.supervisor import command_handler
from benchtui.engine.supervisor.command_handler import execute
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Axes, Config, Run

Begin = Callable[..., Any]


def ask(sweep: Any, verb: Any, *cases: int, **fields: Any) -> tuple[int, ...]:
    made = execute(Command(command=verb, cases=cases, **fields), sweep.scheduler)
    sweep.scheduler.advance()
    sweep.told()
    return made


@pytest.fixture
def sweep(stage: Begin) -> Any:
    """Four cases, of which the first runs."""
    return stage(axes=Axes(batch_size=(1, 2, 3, 4)))


def test_paused_sweep_finishes_running_cases_and_can_be_continued(sweep: Any) -> None:
    ask(sweep, "pause")
    ask(sweep, "pause")
    assert sweep.finish(0)
    assert (sweep.running, sweep.pending) == ([], [1, 2, 3])
    assert sweep.told().paused
    ask(sweep, "continue")
    assert sweep.running == [1] and not sweep.told().paused
    ask(sweep, "continue")


def test_skip_ends_the_running_or_the_named_case(sweep: Any) -> None:
    ask(sweep, "skip")
    ask(sweep, "skip", 3)
    assert sweep.running == [1] and sweep.pending == [2]
    ask(sweep, "skip", 1)
    assert sweep.outcomes() == dict.fromkeys((0, 1, 3), ("skipped", "skipped by the user"))
    with pytest.raises(BenchtuiError, match=r"^case 1 has already ended$"):
        ask(sweep, "skip", 0)
    with pytest.raises(BenchtuiError, match=r"^no case 10; the sweep has 4 cases, numbered from 1$"):
        ask(sweep, "skip", 9)


def test_skip_without_a_case_needs_exactly_one_running_case(stage: Begin) -> None:
    sweep = stage(axes=Axes(device=("cuda:0", "cuda:1")), run=Run(parallel=True))
    with pytest.raises(BenchtuiError, match=r"^2 cases are running: 1, 2; specify one$"):
        ask(sweep, "skip")
    ask(sweep, "skip", 1)
    assert sweep.running == [0]
    ask(sweep, "pause")
    sweep.finish(0)
    with pytest.raises(BenchtuiError, match=r"^no case is running$"):
        ask(sweep, "skip")


def test_dropped_cases_are_recorded_as_skipped(sweep: Any) -> None:
    ask(sweep, "drop", 3, 1)
    assert sweep.outcomes() == dict.fromkeys((1, 3), ("skipped", "dropped by the user"))
    assert sweep.pending == [2]
    with pytest.raises(BenchtuiError, match=r"^case 1 is running; only pending cases can be dropped or moved$"):
        ask(sweep, "drop", 2, 0)
    assert sweep.pending == [2], "a refused command changes nothing"


def test_added_cases_are_validated_like_those_of_a_sweep(sweep: Any) -> None:
    configs = (Config(device="cpu", batch_size=64), Config(device="cpu", precision="tf32"))
    assert ask(sweep, "add", configs=configs) == (4, 5)
    session = sweep.told()
    assert [case.added.why for case in session.cases[4:]] == ["added by the user"] * 2
    assert sweep.pending == [1, 2, 3, 4]
    assert "tf32" in sweep.outcomes()[5][1]


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ((), "no cases to add"),
        ((Config(device="cpu"), Config(device="tpu")), "device: 'tpu' is not a device"),
        ((Config(device="cpu"),) * 2, "can't add 2 cases to 4: a sweep has at most 5"),
    ],
)
def test_invalid_add_is_rejected_entirely(
    sweep: Any, configs: tuple[Config, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_handler, "MOST_CASES", 5)
    with pytest.raises(BenchtuiError, match=said):
        ask(sweep, "add", configs=configs)
    assert len(sweep.scheduler.queue.cases) == 4


def test_pending_cases_can_be_reordered(sweep: Any) -> None:
    ask(sweep, "order", 3, 2)
    assert sweep.pending == [3, 2, 1]
    with pytest.raises(BenchtuiError, match="case 1 is running"):
        ask(sweep, "order", 0)
    sweep.finish(0)
    assert sweep.running == [3]


def test_ended_case_is_rerun_as_a_new_one(sweep: Any) -> None:
    with pytest.raises(BenchtuiError, match=r"^case 1 hasn't ended yet; only ended cases can be rerun$"):
        ask(sweep, "again", 0)
    sweep.finish(0, "oom")
    assert ask(sweep, "again", 0) == (4,)
    case = sweep.told().cases[4]
    assert (case.config, case.name) == (sweep.told().cases[0].config, f"{case.config.name} (rerun of case 1)")
    assert sweep.running == [4], "nothing else was left after running out of memory"
    assert sweep.outcomes()[1][0] == "skipped"


@pytest.mark.parametrize("verb", ["drop", "order", "again"])
def test_case_commands_require_case_numbers(sweep: Any, verb: str) -> None:
    with pytest.raises(BenchtuiError, match=r"^no case number given$"):
        ask(sweep, verb)


def test_stop_by_a_time_limit_is_recorded_as_one(sweep: Any) -> None:
    execute(Command(command="stop", cause="a time limit (SIGUSR1)"), sweep.scheduler)
    with pytest.raises(BenchtuiError, match=r"^the sweep is stopping: stopped by a time limit \(SIGUSR1\)$"):
        execute(Command(command="pause"), sweep.scheduler)


def test_stopping_sweep_accepts_only_stop(sweep: Any) -> None:
    execute(Command(command="stop"), sweep.scheduler)
    for verb in ("pause", "continue", "skip", "drop", "add", "order", "again"):
        with pytest.raises(BenchtuiError, match=r"^the sweep is stopping: stopped by the user$"):
            execute(Command(command=verb, cases=(1,)), sweep.scheduler)
    execute(Command(command="stop"), sweep.scheduler)
    execute(Command(command="status"), sweep.scheduler)
    assert not sweep.scheduler.advance()
