"""Waits of cases that are played, with a played clock and readings that are made up."""

from collections.abc import Callable
from math import ceil
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.engine.executor import Node
from benchtui.engine.supervisor.rounds import further
from benchtui.engine.supervisor.waits import Wait, Waits
from benchtui.sessions.advice.race import RacePlan
from benchtui.sessions.events import CasePrepared, CaseRepeated, CaseStarted, Message, Telemetry, Waiting
from benchtui.sessions.journal.reader import read
from benchtui.sessions.payloads import Environment, Gpu, GpuReadings, Host, HostReadings, Model, Neighbor
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Find, Measure, Run

MAKE = Neighbor(name="make", user="bob", cpu_percent=98.0)
BUSY = Environment(processors=2, others_cpu_percent=98.0, neighbors=(MAKE,))
SHARED = Environment(processors=2, others_cpu_percent=1.0, gpu_processes=1)
HOT = Environment(processors=2, others_cpu_percent=1.0, throttle=("hw_thermal",))
QUIET = Environment(processors=2, others_cpu_percent=1.0)
HOST = Host(gpus=(Gpu(index=3, name="H100", uuid="GPU-3"),), absent={"rapl": "none"})
MODEL = Model(name="tiny", architecture="Tiny", parameters=1, weights="random", source="folder")
NAME = "cpu fp32 compile=off bs=1 seq=128"
MARK = "disturbed: other processes used 98% CPU: make (bob)"


class Stage:
    """A sweep on a machine whose clock and readings the test sets."""

    def __init__(self, stage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, **entries: Any) -> None:
        self.sweep = stage(host=HOST, **{"axes": Axes(), "run": Run(wait_for_quiet_s=60.0)} | entries)
        self._began_s = float(ceil(self.sweep.log.now_s()))  # whole, so that sums are exact
        self._passed_s = 0.0
        monkeypatch.setattr(self.sweep.log, "now_s", lambda: self._began_s + self._passed_s)

    def finish(self, environment: Environment, index: int = 0, **fields: Any) -> bool:
        self.sweep.played[index].finish(environment=environment, measured_s=(0.0, 1.0), **fields)
        return bool(self.sweep.scheduler.advance())

    def wait(self, seconds: float, others: float = 1.0, **gpu: float) -> bool:
        """Let seconds pass in which the machine has the same readings, and one more moment come."""
        end_s = self._began_s + self._passed_s + seconds
        at_s = [end_s - each / 4 for each in reversed(range(round(4 * seconds)))]
        readings = (
            (GpuReadings(index=3, **{name: [value] * len(at_s) for name, value in gpu.items()}),) if gpu else ()
        )
        host = HostReadings(others_cpu_percent=[others] * len(at_s))
        self.sweep.loads.add(Telemetry(t=end_s, at_s=at_s, host=host, gpus=readings))
        self._passed_s += seconds
        return bool(self.sweep.scheduler.advance())

    def events(self, *kinds: type) -> list[Any]:
        return [each for each in read(self.sweep.path).events if isinstance(each, kinds)]

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.events(Message)]

    @property
    def starts(self) -> int:
        return len(self.events(CaseStarted))


@pytest.fixture
def begin(stage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    return lambda **entries: Stage(stage, monkeypatch, **entries)


def test_case_beside_neighbors_waits_until_they_are_gone_and_is_measured_again(
    begin: Callable[..., Stage],
) -> None:
    here = begin()
    assert here.finish(BUSY)
    assert here.texts[-1] == f"{NAME}: {MARK}; waiting for quiet, at most 60 s"
    (waiting,) = here.events(Waiting)
    assert waiting.reason == "waiting for quiet: other processes used 98% CPU: make (bob)"
    assert here.sweep.told().waiting == (waiting,)
    assert here.wait(10.0, others=98.0) and here.wait(1.5) and here.starts == 1, "two seconds must be quiet"
    assert here.wait(1.0) and here.starts == 2
    (repeated,) = here.events(CaseRepeated)
    assert (repeated.reason, repeated.pause_s) == (MARK, 12.5)
    assert here.sweep.told().waiting == ()
    assert not here.finish(QUIET)
    case = here.sweep.told().cases[0]
    assert len(case.measured) == 20 and case.finished.environment == QUIET


def test_without_quiet_the_disturbed_measurement_counts(begin: Callable[..., Stage]) -> None:
    here = begin()
    here.finish(BUSY, marks=(MARK,))
    assert here.wait(59.0, others=98.0)
    assert not here.wait(1.0, others=98.0)
    assert here.texts[-1] == f"{NAME}: stopped waiting for quiet after 60 s; the disturbed measurement counts"
    case = here.sweep.told().cases[0]
    assert (here.starts, case.repeated, case.marks) == (1, (), (MARK,))
    assert len(case.measured) == 20 and here.sweep.told().waiting == ()


@pytest.mark.parametrize("how", ["skip", "stop"])
def test_user_ends_a_wait_at_once(begin: Callable[..., Stage], how: str) -> None:
    here = begin()
    here.finish(BUSY)
    if how == "skip":
        here.sweep.scheduler.end(0, "skipped", "skipped by the user")
    else:
        here.sweep.scheduler.stop("stopped by the user")
    assert not here.sweep.scheduler.advance()
    assert here.sweep.outcomes() == {0: ("ok", None)} and here.sweep.told().waiting == ()


def test_neighbors_that_come_back_end_the_repeats(begin: Callable[..., Stage]) -> None:
    here = begin()
    for _ in range(2):
        assert here.finish(BUSY) and here.wait(3.0)
    assert not here.finish(BUSY) and here.starts == 3


def test_waits_of_a_session_together_take_a_limit_and_a_quarter_of_its_time(
    begin: Callable[..., Stage],
) -> None:
    here = begin(axes=Axes(batch_size=(1, 2, 3, 4)))
    here.finish(BUSY)
    here.wait(60.0, others=98.0)
    here.finish(BUSY, 1)
    assert here.events(Waiting)[-1].most_s == pytest.approx(15.0, abs=0.3), "a quarter of the first minute"
    here.wait(15.25, others=98.0)
    here.finish(BUSY, 2)
    assert here.events(Waiting)[-1].most_s == pytest.approx(3.75, abs=0.2)
    here.wait(4.0, others=98.0)
    here.finish(BUSY, 3)
    assert [each.case for each in here.events(Waiting)] == [0, 1, 2]
    assert here.texts[-1].endswith("no time is left to wait for quiet")


def test_case_is_marked_at_once_when_no_time_to_wait_is_left(begin: Callable[..., Stage]) -> None:
    here = begin(axes=Axes(batch_size=(1, 2)))
    here.sweep.scheduler._waits._spent_s = 60.0
    here.finish(BUSY)
    assert here.texts[-1] == f"{NAME}: {MARK}; no time is left to wait for quiet"
    assert here.sweep.outcomes() == {0: ("ok", None)} and here.sweep.running == [1]


@pytest.mark.parametrize(
    ("run", "retries"), [(Run(), None), (Run(wait_for_quiet_s=60.0), 0)], ids=["off", "no retries"]
)
def test_nothing_waits_that_must_not(begin: Callable[..., Stage], run: Run, retries: int | None) -> None:
    here = begin(run=run, measure=Measure(retries=retries))
    assert not here.finish(BUSY)
    assert here.events(Waiting) == [] and here.sweep.outcomes() == {0: ("ok", None)}


def test_shared_gpu_has_to_be_idle(begin: Callable[..., Stage]) -> None:
    here = begin(axes=Axes(device=("cuda:0",)))
    scheduled = here.sweep.scheduler.queue.running[0]
    prepared = here.sweep.played[0]
    prepared.finish(environment=SHARED, measured_s=(0.0, 1.0), gpu_uuid="GPU-3")
    here.sweep.scheduler.advance()
    assert scheduled.node is None and here.events(Waiting)[0].reason.endswith("shared GPU with 1 other process")
    assert here.wait(4.0, utilization_percent=80.0) and here.starts == 1
    assert here.wait(2.0) and here.starts == 1, "no newer reading says that it is idle"
    assert here.wait(1.0, utilization_percent=5.0) and here.starts == 2


COOL = {"axes": Axes(device=("cuda:0",)), "run": Run(wait_below_c=60.0)}


def test_case_starts_once_its_gpu_is_cool_enough(begin: Callable[..., Stage]) -> None:
    here = begin(**COOL | {"axes": Axes(device=("cuda:0",), batch_size=(1, 2))})
    assert here.starts == 1, "nothing is known to be hot"
    here.wait(1.0, temperature_c=71.4)
    assert here.finish(QUIET) and here.starts == 1
    (waiting,) = here.events(Waiting)
    assert (waiting.case, waiting.most_s) == (1, 60.0)
    assert waiting.reason == "waiting for a GPU below 60 °C, now at 71 °C"
    assert here.wait(5.0, temperature_c=60.0) and here.starts == 1
    assert here.wait(1.0, temperature_c=59.0) and here.starts == 2
    assert not here.finish(QUIET, 1)


def test_case_starts_anyway_on_a_gpu_that_stays_hot(begin: Callable[..., Stage]) -> None:
    here = begin(**COOL | {"axes": Axes(device=("cuda:0",), batch_size=(1, 2))})
    here.wait(1.0, temperature_c=80.0)
    here.finish(QUIET)
    assert here.wait(60.0, temperature_c=75.0) and here.starts == 2
    assert here.texts[-1].endswith(
        "stopped waiting for a GPU below 60 °C, now at 80 °C after 60 s; measuring anyway"
    )


def test_cases_on_a_cpu_do_not_wait_for_a_cooler_gpu(begin: Callable[..., Stage]) -> None:
    here = begin(run=Run(wait_below_c=60.0), axes=Axes(batch_size=(1, 2)))
    here.wait(1.0, temperature_c=80.0)
    assert here.finish(QUIET) and here.starts == 2


TAKE_TURNS = Measure(rounds_auto=True, iterations=20)


@pytest.fixture
def taking_turns(begin: Callable[..., Stage], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    """Begin a sweep of two measured cases that take turns until each has three rounds."""

    def plan(session: Session) -> RacePlan:
        missing = [case for case in session.cases if len(case.ends) < 3]
        order = tuple(case.index for case in sorted(missing, key=lambda case: len(case.ends)))
        return RacePlan(order, by_turns=True, ended=None if missing else "every question is decided")

    monkeypatch.setattr(further, "plan_rounds", plan)

    def taking(**entries: Any) -> Stage:
        here = begin(**{"axes": Axes(batch_size=(1, 2)), "measure": TAKE_TURNS} | entries)
        assert here.finish(QUIET) and here.finish(QUIET, 1) and here.starts == 4
        return here

    return taking


def test_next_turns_wait_until_the_neighbors_of_the_last_ones_are_gone(
    taking_turns: Callable[..., Stage],
) -> None:
    here = taking_turns()
    assert here.finish(BUSY) and here.texts == [], "the other case goes on"
    assert here.finish(QUIET, 1) and here.starts == 4
    name = here.sweep.scheduler.queue.cases[0].name
    assert here.texts == [f"{name}: {MARK}; waiting for quiet, at most 60 s"]
    assert here.sweep.told().waiting == tuple(here.events(Waiting)) != ()
    assert here.sweep.scheduler.left_s is not None and here.sweep.scheduler.left_s <= 0.5
    assert here.wait(10.0, others=98.0) and here.wait(1.5) and here.starts == 4, "two seconds must be quiet"
    assert here.wait(1.0) and here.starts == 6
    assert here.sweep.told().waiting == () and here.events(CaseRepeated) == []
    assert here.finish(QUIET) and not here.finish(QUIET, 1)


def test_next_turns_wait_only_for_what_disturbs_as_many_processors(taking_turns: Callable[..., Stage]) -> None:
    here = taking_turns()
    assert here.finish(replace(BUSY, processors=64, others_cpu_percent=3000.0))
    assert here.finish(QUIET, 1) and here.starts == 4
    assert here.wait(2.5, others=200.0) and here.starts == 6, "2 of 64 processors"


def test_turns_go_on_next_to_a_neighbor_that_never_leaves(taking_turns: Callable[..., Stage]) -> None:
    here = taking_turns()
    assert here.finish(BUSY) and here.finish(BUSY, 1)
    assert here.wait(60.5, others=98.0) and here.starts == 6
    assert here.texts[-1].endswith("stopped waiting for quiet after 60 s; measuring anyway")


def test_a_search_waits_no_longer_than_its_budget(taking_turns: Callable[..., Stage]) -> None:
    here = taking_turns(run=Run(wait_for_quiet_s=60.0, budget_s=30.0), find=Find())
    assert here.finish(BUSY) and here.finish(BUSY, 1)
    (waiting,) = here.events(Waiting)
    assert 20.0 < waiting.most_s <= 30.0


@pytest.mark.parametrize(
    ("entries", "around"),
    [({"run": Run()}, BUSY), ({"measure": replace(TAKE_TURNS, retries=0)}, BUSY), ({}, HOT)],
)
def test_turns_do_not_wait_if_no_quiet_is_to_come(
    taking_turns: Callable[..., Stage], entries: dict[str, Any], around: Environment
) -> None:
    here = taking_turns(**entries)
    assert here.finish(around) and here.finish(around, 1) and here.starts == 6


def test_stop_ends_a_wait_between_turns(taking_turns: Callable[..., Stage]) -> None:
    here = taking_turns()
    assert here.finish(BUSY) and here.finish(BUSY, 1)
    here.sweep.scheduler.stop("stopped by the user")
    assert not here.wait(0.5, others=98.0)
    assert here.starts == 4 and [case.state for case in here.sweep.told().cases] == ["interrupted"] * 2


def test_paused_turns_wait_without_ever_being_due(taking_turns: Callable[..., Stage]) -> None:
    here = taking_turns()
    assert here.finish(BUSY) and here.finish(BUSY, 1)
    here.sweep.scheduler.queue.paused = True
    assert here.wait(61.0, others=98.0) and here.starts == 4
    assert here.sweep.scheduler.left_s is None
    here.sweep.scheduler.queue.paused = False
    assert here.wait(0.5) and here.starts == 6


def test_wait_is_checked_every_half_a_second_until_its_end() -> None:
    wait = Wait("quiet", began_s=10.0, most_s=3.0, is_met=bool)
    assert [wait.left_s(now_s) for now_s in (10.0, 12.5, 12.75, 13.0, 14.0)] == [0.5, 0.5, 0.25, 0.0, 0.0]


def test_announced_wait_lasts_milliseconds_at_most(begin: Callable[..., Stage]) -> None:
    (scheduled,) = begin().sweep.scheduler.queue.running.values()
    _, waiting = Wait("quiet", began_s=10.0, most_s=2.34567, is_met=bool).announced(scheduled)
    assert isinstance(waiting, Waiting) and (waiting.reason, waiting.most_s) == ("waiting for quiet", 2.346)


def test_time_for_waits_grows_from_the_start_of_the_engine(begin: Callable[..., Stage]) -> None:
    """A session that is resumed after an hour has no hour to wait."""
    here = begin()
    (scheduled,) = here.sweep.scheduler.queue.running.values()
    waits = Waits(Run(wait_for_quiet_s=4.0), [], here.sweep.loads, began_s=3600.0)
    first = waits.quiet(scheduled, BUSY, 3600.0)
    assert first is not None and first.most_s == 4.0
    waits.spend(first, 3604.0)
    assert waits.quiet(scheduled, BUSY, 3604.0) is None, "1 s is left, and quiet takes 2"
    later = waits.quiet(scheduled, BUSY, 3612.0)
    assert later is not None and later.most_s == 3.0
    ending = Waits(Run(wait_for_quiet_s=4.0), [], here.sweep.loads, began_s=0.0, until_s=1010.0)
    last = ending.quiet(scheduled, BUSY, 1007.0)
    assert last is not None and last.most_s == 3.0
    assert ending.quiet(scheduled, BUSY, 1008.0) is None


def test_of_several_gpus_of_which_one_is_used_the_hottest_counts(begin: Callable[..., Stage]) -> None:
    cards = tuple(Gpu(index=index, name="H100", uuid=f"GPU-{index}") for index in (0, 1))
    here = begin(axes=Axes(device=("cuda:0",)))
    scheduled = here.sweep.scheduler.queue.running[0]
    node = Node(None, replace(HOST, gpus=cards))
    waits = Waits(Run(wait_below_c=60.0), [node], here.sweep.loads, 0.0)
    assert waits.cooling(scheduled, 0.0) is None, "nothing is known to be hot"
    gpus = tuple(
        GpuReadings(index=card.index, temperature_c=[celsius])
        for card, celsius in zip(cards, (40.0, 71.0), strict=True)
    )
    here.sweep.loads.add(Telemetry(t=1.0, at_s=[1.0], gpus=gpus))
    hot = waits.cooling(scheduled, 1.0)
    assert hot is not None and hot.what.endswith("now at 71 °C")
    waits.note_gpu(scheduled, CasePrepared(t=1.0, case=0, model=MODEL, gpu_uuid="GPU-0"))
    assert waits.cooling(scheduled, 1.0) is None
