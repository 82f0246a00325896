"""Sessions by hand whose cases take turns while the machine changes its pace."""

from collections.abc import Sequence
from math import exp
from random import Random
from typing import Any

from benchtui.sessions.events import CaseStarted, RoundFinished, SessionStarted, Steps
from benchtui.sessions.payloads import CaseRound, Energy, Environment, Gpu, Host, Memory, Turns
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Axes, Config, Find, Measure, Run, Sweep

SLICES, SLICE_STEPS, ROUND_S = 40, 3, 4.0
PACES = (0.0, 0.3, 0.45)
"""Logarithms of the paces of the machine, which it changes within a round."""


class HandMade:
    """A session with ``rounds = "auto"`` whose cases have these typical steps in ms."""

    def __init__(self, *steps_ms: float, seed: int = 1, **more: Any) -> None:
        self.dice = Random(seed)
        self.steps_ms = steps_ms
        self.peak_mb = 1000.0
        self.session = Session()
        self._t = 0.0
        devices: Sequence[str] = more.pop("devices", ["cpu"] * len(steps_ms))
        find: Find | None = more.pop("find", None)
        run = Run(budget_s=more.pop("budget_s", 600.0), **more.pop("run", {}))
        limit_mb = more.pop("container_memory_mb", None)
        gpus = tuple(
            Gpu(index=place, name="", uuid=f"GPU-{place}", memory_mb=memory_mb)
            for place, memory_mb in enumerate(more.pop("gpus_mb", ()))
        )
        memory_mb = more.pop("memory_mb", 8000.0)
        host = Host(platform="", memory_mb=memory_mb, container_memory_mb=limit_mb, gpus=gpus)
        lengths: Sequence[int] = more.pop("lengths", [16] * len(steps_ms))
        plan = tuple(
            Config(device=device, threads=1 + place, sequence_length=length)
            for place, (device, length) in enumerate(zip(devices, lengths, strict=True))
        )
        threads = tuple(range(1, len(plan) + 1))
        sweep = Sweep(
            name="hand",
            model="tiny",
            axes=Axes(
                device=tuple(dict.fromkeys(devices)),
                threads=threads,
                sequence_length=tuple(dict.fromkeys(lengths)),
            ),
            measure=Measure(rounds_auto=True, baseline=more.pop("baseline", None)),
            run=run,
            find=find,
        )
        started = SessionStarted(t=0.0, id="a", created="", sweep=sweep, plan=plan, host=host, **more)
        self.session.apply(started)

    def alone(self, *cases: int, **environment: Any) -> "HandMade":
        """Add a round of each case, at one of the machine's paces."""
        for case in cases:
            self._start(case)
            times = self._times(case, [self.dice.choice(PACES)] * SLICES)
            self._t += ROUND_S
            self._end(case, times, None, environment)
        return self

    def by_turns(self, *cases: int, spread: float = 0.006, **environment: Any) -> "HandMade":
        """Add a round of several cases by turns. Fresh processes differ by a spread."""
        rounds = [CaseRound(case=case, round=len(self.session.cases[case].rounds)) for case in cases]
        paces = [pace for _ in range(SLICES // 4) for pace in [self.dice.choice(PACES)] * 4]
        for case in cases:
            self._start(case)
        self._t += ROUND_S * len(cases) / 2
        for case in cases:
            times = self._times(case, paces, self.dice.gauss(0, spread))
            first, *others = (each for each in rounds if each.case != case)
            turns = Turns(case=first.case, round=first.round, slice_steps=SLICE_STEPS, others=tuple(others))
            self._end(case, times, turns, environment)
        return self

    def _start(self, case: int) -> None:
        config, round_index = self.session.cases[case].config, len(self.session.cases[case].rounds)
        self.session.apply(CaseStarted(t=self._t, case=case, round=round_index, config=config))

    def _times(self, case: int, paces: Sequence[float], offset: float = 0.0) -> list[float]:
        logs = (pace + offset + self.dice.gauss(0, 0.02) for pace in paces for _ in range(SLICE_STEPS))
        return [self.steps_ms[case] * exp(each) for each in logs]

    def _end(
        self, case: int, times: list[float], turns: Turns | None, environment: dict[str, Any] | None = None
    ) -> None:
        round_index = len(self.session.cases[case].rounds)
        self.session.apply(Steps(t=self._t, case=case, phase="measure", round=round_index, wall_ms=times))
        self.session.apply(
            RoundFinished(
                t=self._t,
                case=case,
                round=round_index,
                measured_s=(self._t - ROUND_S, self._t),
                memory=Memory(peak_rss_mb=self.peak_mb, peak_reserved_mb=self.peak_mb),
                environment=Environment(**environment) if environment else None,
                energy=Energy(absent="two cases") if turns else Energy(energy_j=24.0, mean_power_w=6.0),
                turns=turns,
            )
        )
