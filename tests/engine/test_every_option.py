"""A trained checkpoint over the options that run on a processor: measured, or skipped with the reason."""

from collections.abc import Callable

import pytest
from watching import Watched

from benchtui.sessions.analysis.applied_options import was_applied
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.sessions.sweep.options import READ_BACK

pytestmark = pytest.mark.long

QUANTIZATIONS = "off,torchao-int8,torchao-int8-dynamic,bnb-int8,bnb-nf4"
ATTENTIONS = "eager,sdpa,sdpa-math,sdpa-flash,sdpa-efficient,sdpa-cudnn,flash2,flash3,flex"


def checked(session: Session, option: str) -> dict[str, CaseState]:
    """Return the cases by value of an option. Each was measured as requested, or says why not."""
    for case in session.cases:
        assert case.finished is not None and case.state in ("ok", "skipped"), (case.name, case.finished)
        assert (case.state == "ok") == (case.finished.reason is None)
        if case.state == "ok":
            assert case.answer_absent is None, (case.name, case.answer_absent)
            unapplied = [each for each in READ_BACK if was_applied(case, each) is False]
            assert unapplied == [], (case.name, case.effective)
            assert was_applied(case, option) is True
    return {getattr(case.config, option): case for case in session.cases}


def divergence(case: CaseState) -> float:
    assert case.comparison is not None and case.comparison.kl_mean is not None, case.name
    return case.comparison.kl_mean


def verdict(case: CaseState) -> str | None:
    return case.comparison.verdict if case.comparison else None


def test_precisions(start: Callable[[Sweep], Watched], trained_sweep: Callable[..., Sweep]) -> None:
    session = start(trained_sweep("precision=fp32,bf16,int8", "attention=eager", "aa=true")).until_ended()
    found = checked(session, "precision")
    again = next(case for case in session.cases if case.config.repeat)
    assert [verdict(each) for each in (again, found["bf16"], found["int8"])] == ["identical", "close", "close"]
    assert 0 < divergence(found["bf16"]) < divergence(found["int8"])


def test_quantizations(start: Callable[[Sweep], Watched], trained_sweep: Callable[..., Sweep]) -> None:
    """Needs the extra packages for more than skipped rows: `make quantized`."""
    found = checked(start(trained_sweep(f"quantization={QUANTIZATIONS}")).until_ended(), "quantization")
    measured = {name: case for name, case in found.items() if case.state == "ok"}
    skipped = [case for case in found.values() if case.state == "skipped"]
    assert all(case.finished and "needs the package" in (case.finished.reason or "") for case in skipped)
    if {"bnb-int8", "bnb-nf4"} <= measured.keys():
        assert divergence(measured["bnb-nf4"]) > 2 * divergence(measured["bnb-int8"]) > 0


def test_attentions(start: Callable[[Sweep], Watched], trained_sweep: Callable[..., Sweep]) -> None:
    session = start(trained_sweep(f"attention={ATTENTIONS}")).until_ended()
    found = checked(session, "attention")
    measured = {name for name, case in found.items() if case.state == "ok"}
    assert measured >= {"eager", "sdpa", "sdpa-math", "sdpa-flash"}
    assert all(verdict(found[name]) in ("identical", "close") for name in measured - {"eager"})


def test_compiled(start: Callable[[Sweep], Watched], trained_sweep: Callable[..., Sweep]) -> None:
    session = start(trained_sweep("compile=off,default,reduce-overhead")).until_ended()
    found = checked(session, "compile")
    assert verdict(found["default"]) in ("identical", "close")
    assert found["reduce-overhead"].state == "skipped"


def test_caches_and_drafts(start: Callable[[Sweep], Watched], trained_sweep: Callable[..., Sweep]) -> None:
    """A model that drafts for itself is always right; greedy tokens are the same with any draft."""
    model = trained_sweep().model
    options = ("task=generate", "new_tokens=16", "cache=dynamic,static", f"draft=off,lookup:3,{model}")
    session = start(trained_sweep(*options)).until_ended()
    checked(session, "draft")
    drafted = [case for case in session.cases if case.state == "ok" and case.config.draft != "off"]
    assert len(drafted) >= 2
    for case in session.cases[1:]:
        assert case.state == "skipped" or verdict(case) == "identical", (case.name, case.comparison)
    for case in drafted:
        assert case.effective is not None
        assert not any("draft" in mark for mark in case.marks)  # tokens as without a draft
        assert case.effective.draft_acceptance == 1.0 or case.config.draft != model
