"""The gate of a comparison: what fails, and what its line says about the rest."""

from typing import Any

import pytest

from benchtui.sessions.compare.align import AlignedCase, ComparedSession, PairwiseComparison, slower_by
from benchtui.sessions.compare.gate import Gate, case_problem, gate_line
from benchtui.sessions.events import CaseFinished
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.ratios import Comparison
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio
from benchtui.sessions.sweep import Config

NAME = "cpu fp32 compile=off bs={} seq=128"
ONE = NAME.format(1)
PASSES = "no case is significantly more than 5% slower"


def ratio(value: float, by: float = 1.01) -> Ratio:
    """A ratio with both intervals of this factor in either direction."""
    return Ratio(value, Bounds(value, value / by, value * by, value / by, value * by), same_within=0.02)


SLOWER, FASTER, SAME, UNSURE = ratio(0.8), ratio(1.25), ratio(1.0), ratio(1.0, 1.2)
REPORTED = Ratio(0.5, reported=True)


def case(size: int, outcome: Any = "ok") -> CaseState:
    made = CaseState(index=size - 1, config=Config(device="cpu", batch_size=size))
    made.finished = CaseFinished(t=0.0, case=size - 1, outcome=outcome)
    return made


def row(size: int, found: Ratio) -> AlignedCase:
    nobody: Any = None
    return AlignedCase(case(size), case(size), Comparison(nobody, nobody, found, None))


def against(*rows: AlignedCase | Ratio) -> PairwiseComparison:
    aligned = [each if isinstance(each, AlignedCase) else row(size, each) for size, each in enumerate(rows, 1)]
    sides = (ComparedSession(name, Session(), (), name) for name in ("old", "new"))
    return PairwiseComparison(*sides, "B", tuple(aligned), ())


def lost(size: int) -> AlignedCase:
    return AlignedCase(case(size), case(size, "failed"), None)


@pytest.mark.parametrize(
    ("rows", "gate", "line"),
    [
        ((SAME, FASTER), Gate(case=0.05), f"{PASSES}; 0 UNSURE"),
        ((SLOWER, SAME), Gate(case=0.3), f"{PASSES.replace('5', '30')}; 1 SLOWER by less than 30%; 0 UNSURE"),
        ((SLOWER,), Gate(overall=0.3), "… not …; 1 SLOWER by less; 0 UNSURE"),
        ((UNSURE,), Gate(case=0.05), f"{PASSES}; could not have seen less than 21% in {ONE}; 1 UNSURE"),
        ((UNSURE,), Gate(case=0.25), f"{PASSES.replace('5', '25')}; 1 UNSURE"),
        ((SAME, ratio(1.0, 1.99)), Gate(resolve=1.0), "1 UNSURE"),
        (
            (UNSURE, ratio(1.0, 2.0)),
            Gate(case=0.05),
            f"{PASSES}; could not have seen less than 2.01x in {NAME.format(2)}; 2 UNSURE",
        ),
        *(
            (
                (ratio(1.0, least / 1.005),),
                Gate(case=0.05),
                f"{PASSES}; could not have seen less than {least:.2f}x in {ONE}; 1 UNSURE",
            )
            for least in (2.0, 9.99)
        ),
        *(
            ((ratio(1.0, by),), Gate(case=0.05), f"{PASSES}; can't tell whether {ONE} is slower; 1 UNSURE")
            for by in (10 / 1.005, 10.0)
        ),
        ((REPORTED,), Gate(case=0.05), f"{PASSES}; can't tell whether {ONE} is slower; 0 UNSURE; 1 REPORTED"),
        (
            (AlignedCase(case(1), None, None), AlignedCase(None, case(2), None), SAME),
            Gate(case=0.05),
            f"{PASSES}; 1 case only in A, such as {ONE}; 1 case only in B, such as {NAME.format(2)}; 0 UNSURE",
        ),
    ],
)
def test_line_of_a_gate_that_passes_says_what_it_let_pass(rows: Any, gate: Gate, line: str) -> None:
    together = "all cases together are not significantly more than 30% slower"
    assert gate_line(against(*rows), gate) == (False, line.replace("… not …", together))
    assert not any(case_problem(against(*rows), each, gate) for each in against(*rows).rows)


@pytest.mark.parametrize(
    ("rows", "gate", "line"),
    [
        (
            (SAME, SLOWER, SLOWER),
            Gate(case=0.05, unsure_fails=True),
            "2 cases … 5% slower, such as bs=2; 0 UNSURE",
        ),
        (
            (ratio(1.0, 1.9),),
            Gate(unsure_fails=True),
            "could not have seen less than 91% in bs=1; 1 UNSURE (fails)",
        ),
        ((SAME, lost(2)), Gate(case=0.05), "1 case measured in A but not in B, such as bs=2; 0 UNSURE"),
        (
            (SLOWER, lost(2)),
            Gate(case=0.05),
            "1 case … 5% slower; 1 case measured in A but not in B, such as bs=1; 0 UNSURE",
        ),
        (
            (SLOWER, lost(2), ratio(0.97)),
            Gate(case=0.05),
            "1 case … 5% slower; 1 case measured in A but not in B, such as bs=1; 1 SLOWER by less than 5%;"
            " 0 UNSURE",
        ),
        ((SLOWER,), Gate(overall=0.05), "all cases together are … 5% slower; 1 SLOWER by less; 0 UNSURE"),
        (
            (UNSURE, ratio(1.0, 1.5)),
            Gate(resolve=0.1),
            "2 cases can't resolve 10%, such as bs=2: can't resolve below 51 %; 2 UNSURE",
        ),
        (
            (REPORTED,),
            Gate(resolve=0.1),
            "1 case can't resolve 10%, such as bs=1: can't tell; 0 UNSURE; 1 REPORTED",
        ),
        (
            (UNSURE, REPORTED, SAME),
            Gate(case=0.3, unsure_fails=True),
            "no case is … 30% slower; can't tell whether bs=2 is slower; 1 UNSURE (fails); 1 REPORTED (fails)",
        ),
    ],
)
def test_line_of_a_gate_that_fails_begins_with_the_session_and_its_reason(
    rows: Any, gate: Gate, line: str
) -> None:
    found, text = gate_line(against(*rows), gate)
    shown = text.replace("cpu fp32 compile=off ", "").replace(" seq=128", "")
    assert found and shown == f"new: {line.replace('…', 'significantly more than')}"


@pytest.mark.parametrize(
    ("gate", "problems"),
    [
        (Gate(), [None] * 5),
        (
            Gate(case=0.05),
            [None, "significantly more than 5% slower", None, None, "measured in A but not in B: failed"],
        ),
        (Gate(resolve=0.1), [None, None, "can't resolve 10%", "can't resolve 10%", None]),
        (Gate(unsure_fails=True), [None, None, "undecided", "undecided", None]),
    ],
)
def test_each_case_that_fails_has_its_problem(gate: Gate, problems: list[str | None]) -> None:
    pair = against(SAME, SLOWER, UNSURE, REPORTED, lost(5))
    found = [case_problem(pair, each, gate) for each in pair.rows]
    assert [each and each.split(": 0")[0].split(": 1")[0] for each in found] == problems


def test_sum_decides_its_gate_by_the_whole_interval() -> None:
    """Four losses of 20%, of which 19.5% are sure."""
    pair = against(*[SLOWER] * 4)
    assert case_problem(pair, pair.rows[0], Gate(case=slower_by(SLOWER))) is None
    assert pair.loss == pytest.approx(0.2, abs=0.06) and gate_line(pair, Gate(overall=pair.loss * 0.99))[0]
    assert not gate_line(pair, Gate(overall=pair.loss))[0]
