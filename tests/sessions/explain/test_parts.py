"""Parts of a step in explanations: the laps of a user's own step as well as those of a built-in task."""

from typing import Any

from msgspec.structs import replace

from benchtui.sessions.explain.cases import ExplainedCase
from benchtui.sessions.explain.sentences import parts_sentence
from benchtui.sessions.explain.tables import parts_table
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Config
from benchtui.tui.cli.explain.text import case_lines


def of_parts(make_profile: Any, **parts_ms: float) -> ExplainedCase:
    profile = replace(make_profile({"matmul": 6.0, "python": 4.0}), plain_ms=10.0, parts_ms=parts_ms)
    return ExplainedCase(CaseState(0, Config(device="cpu")), profile, 10.0)


def test_parts_come_before_families_with_their_shares(make_profile: Any) -> None:
    case = of_parts(make_profile, forward=3.0, data=5.2, backward=1.5, rest=0.3)
    assert parts_sentence(case) == "the step spends 52% in data, 30% in forward and 15% in backward"
    shown = parts_table(case)
    assert shown is not None
    assert [row[0] for row in shown.rows] == ["data", "forward", "backward", "rest"]
    lines = list(case_lines(case))
    assert f"  parts: {parts_sentence(case)}" in lines
    titles = [line.split()[0] for line in lines if line.endswith(("share %", "calls"))]
    assert titles == ["part", "family"]


def test_parts_that_leave_out_some_of_the_step_are_shares_of_the_whole(make_profile: Any) -> None:
    assert (
        parts_sentence(of_parts(make_profile, tokenize=4.0, transfer=0.1)) == "the step spends 40% in tokenize"
    )
