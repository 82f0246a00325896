from by_turns import HandMade

from benchtui.sessions.state.judging import VerdictSettings
from benchtui.sessions.stats.ratios import throughput_ratio
from benchtui.sessions.stats.results import measured
from benchtui.tui.live.case_verdicts import CaseVerdicts


def test_screen_compares_cases_that_took_turns_as_the_report_does() -> None:
    made = HandMade(10.0, 10.5, 10.0).alone(0, 1, 2)
    live = CaseVerdicts(made.session, VerdictSettings())
    for pair in [(0, 1)] * 3 + [(0, 2)] * 7:
        made.by_turns(*pair)
        for case in live.with_new_rounds():
            live.add_ended(case)
    one, other, _ = measured(made.session)
    ratio = throughput_ratio(one, other)
    assert ratio and ratio.by_turns and ratio.rounds == 3
    assert live.verdict(other.case) == ratio
