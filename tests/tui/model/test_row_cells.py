from typing import Any

from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.sampling import Bounds
from benchtui.sessions.stats.verdicts import Ratio, Verdict
from benchtui.themes.symbols import ASCII, UNICODE
from benchtui.tui.model.row_cells import ratio_cell, ratio_graph, steps_trace


def graph(found: Ratio) -> str:
    return "".join(text for text, _ in ratio_graph(found, 16.0, 11, UNICODE))


def test_every_verdict_has_a_sign_besides_its_color() -> None:
    cells = [
        ratio_cell(value, verdict, UNICODE)
        for value, verdict in zip((2.0, 0.5, 1.0, 2.0), Verdict, strict=True)
    ]
    assert cells == [("2.00x", "good"), ("0.50x", "bad"), ("≈1.000x", "plain"), ("2.00x?", "muted")]
    assert ratio_cell(1.0, Verdict.SAME, ASCII)[0] == "~1.000x"


def test_a_ratio_without_an_interval_is_light_throughout() -> None:
    assert graph(Ratio(4.0)) == "▕    │▒▒  ▏"
    assert graph(Ratio(0.25)) == "▕  ▒▒│    ▏"
    assert graph(Ratio(4.0, Bounds(4.0, 4.0, 4.0, 4.0, 4.0))) == "▕    │██  ▏"
    assert graph(Ratio(0.0)) == ""


def test_the_trace_has_a_column_per_part_of_the_steps(story: Any) -> None:
    story.begin(batch_sizes=(1, 2)).start(0).prepare(0).steps(0, [10.0] * 30 + [20.0] * 10).finish(0)
    one, two = Session.load(story.path).cases
    assert steps_trace(one, 4, UNICODE) == "▄▄▄█"
    assert steps_trace(two, 4, UNICODE) == ""


def test_a_short_case_has_a_column_per_step(story: Any) -> None:
    story.begin(batch_sizes=(1,)).start(0).prepare(0).steps(0, [10.0, 20.0]).finish(0)
    (case,) = Session.load(story.path).cases
    assert steps_trace(case, 16, UNICODE) == "▃▅"
