"""Verdicts on equal cases in fresh processes, and on a network of one layer more."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from findings import Findings
from msgspec.structs import replace
from sweeps import gpt2_sweep, on_gpu, record, require_all_ok

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import Comparison, comparison
from benchtui.sessions.stats.results import Result, measured

EQUAL = 5
LONGER = 3
"""Processes with the same network, and with one layer more."""


def host_bound(findings: Findings) -> None:
    """Compare where launching kernels sets the pace."""
    _verdicts(findings, batch=1, length=128, steps=("warmup=20", "iterations=100"))


def power_capped(findings: Findings) -> None:
    """Compare where the power cap sets the pace."""
    _verdicts(findings, batch=64, length=1024, steps=("warmup=10", "iterations=40"))


def _verdicts(findings: Findings, batch: int, length: int, steps: tuple[str, ...]) -> None:
    sizes, equal, longer = (batch, length, steps), EQUAL, LONGER
    if findings.brief:
        sizes, equal, longer = (1, 16, ("warmup=2", "iterations=10")), 2, 1
    once = _results(findings, equal, 75, *sizes)
    pairs = [comparison(base, new) for base, new in combinations(once, 2)]
    _equal(findings, "one round", pairs[:1] if findings.brief else pairs)
    more = _results(findings, longer, 60, *sizes, layers=13)
    _longer(findings, [comparison(base, new) for base, new in zip(once, more, strict=False)])
    if not findings.brief:
        thrice = _results(findings, 2, 75, batch, length, steps, rounds=3)
        _equal(findings, "three rounds", [comparison(base, new) for base, new in combinations(thrice, 2)])


def _results(
    findings: Findings,
    processes: int,
    limit_s: float,
    batch: int,
    length: int,
    steps: Iterable[str],
    layers: int = 12,
    rounds: int = 1,
) -> tuple[Result, ...]:
    """Record the same case so many times, each in a fresh process."""
    options = ("precision=bf16", f"sequence_length={length}", f"rounds={rounds}", *steps)
    wanted = gpt2_sweep(findings, *options, layers=layers)
    wanted = replace(wanted, axes=replace(wanted.axes, batch_size=(batch,) * processes))
    session: Session = record(findings, wanted, limit_s)
    require_all_ok(findings, on_gpu(session))
    found = measured(session)
    medians_ms = [each.metrics.latency_ms.median for each in found]
    findings.figure(f"{layers} layers, medians of {len(found)} cases with {' '.join(options)} (ms)", medians_ms)
    return found


def _equal(findings: Findings, how: str, pairs: list[Comparison]) -> None:
    """Note the verdicts on equal cases. Pairs that share a process aren't independent."""
    said = Counter(str(pair.verdict) for pair in pairs)
    wrong = said["faster"] + said["slower"]
    findings.expect_number(
        bool(pairs) and not wrong, f"equal cases, {how}: {_told(said)} of {len(pairs)} pairs"
    )


def _longer(findings: Findings, pairs: list[Comparison]) -> None:
    said = Counter(str(pair.verdict) for pair in pairs)
    ratios = [f"{pair.ratio.value:.3f}" for pair in pairs if pair.ratio]
    fine = bool(pairs) and not said["faster"] + said["same"]
    findings.expect_number(
        fine, f"one layer more: {_told(said)} of {len(pairs)} pairs, ratios {' '.join(ratios)}"
    )


def _told(said: Counter[str]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(said.items()) if count) or "no verdict"
