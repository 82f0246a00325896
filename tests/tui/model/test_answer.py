"""What the Monitor says about a session, by moment."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.library.paths import CPU_DEMO, DEMO, demo_path
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import ASCII, UNICODE, Symbols
from benchtui.tui.live.feed import Feed
from benchtui.tui.model.answer import AnswerText, ending_of
from benchtui.tui.panels.answer_card import Answer, Rival, answer_height, answer_lines, answer_title
from benchtui.tui.table.case_names import CaseNames


class Alive:
    def alive(self) -> bool:
        return True

    def last_words(self) -> None:
        return None


def answer(path: Path, engine: Any = None, symbols: Symbols = UNICODE, *, concluded: bool = True) -> Answer:
    feed = Feed(path, engine, lambda: 0.0)
    feed.poll()
    names = CaseNames.of([case.config for case in feed.session.cases])
    text = AnswerText(feed.session, names, symbols, feed.command_word("trial"))
    ending = ending_of(feed.session, feed.cut_off, feed.exit_message or "")
    made = text.answer(ending, conclude(Session.load(path)) if concluded else None)
    feed.close()
    return made


def shown(made: Answer, width: int = 116, height: int = 12) -> str:
    lines = answer_lines(made, width, height, UNICODE)
    return "\n".join("".join(text for text, _ in line) for line in lines)


def test_a_running_sweep_names_its_rivals_and_what_is_next(story: Any) -> None:
    story.begin(rounds=1).case(0, 10.0).case(1, 19.8)
    made = answer(story.path, Alive())
    assert (made.word, made.over) == ("so far", False)
    assert "indistinguishable from 1 other, within 12 % of the best" in shown(made)
    assert "next       bs 4: every case of the plan gets a round" in shown(made)
    assert any("×" not in rival.text and rival.bounds for work in made.works for rival in work.rivals)


def test_what_stays_open_leaves_the_lines_of_the_case_and_its_figures(story: Any) -> None:
    """The figures of a long name have a line of their own."""
    made = answer(story.begin(rounds=1).case(0, 10.0).case(1, 19.8).case(2, 39.6).end().path)
    made = replace(made, works=(replace(made.works[0], name="a" * 50),), keys=())
    name, figures, note = shown(made, 60, 3).splitlines()
    assert name.endswith("aaa") and "samples/s" in figures
    assert note.startswith("   open       3 questions") and note.endswith("…")
    assert len(shown(made, 60, 12).splitlines()) > 5


def test_a_fact_without_room_for_all_its_lines_is_left_out(story: Any) -> None:
    made = answer(story.begin(rounds=1).case(0, 10.0).case(1, 19.8).case(2, 39.6).end().path)
    work = replace(made.works[0], facts=(("confidence", "clearly " * 12), ("latency", "4.10 ms")), rivals=())
    made = replace(made, works=(work,), notes=(), keys=())
    assert "latency" in shown(made, 60, 3) and "clearly" not in shown(made, 60, 3)
    assert "latency" in shown(made, 60, 5) and shown(made, 60, 5).count("clearly") == 12


def test_an_interrupted_sweep_offers_to_continue(story: Any) -> None:
    story.begin().case(0, 10.0).end("interrupted")
    made = answer(story.path)
    assert (made.word, made.role) == ("interrupted", "warning")
    assert made.keys[0] == "r continue" and "2 cases: benchtui run --resume trial" in shown(made)


def test_a_missing_engine_is_red_and_keeps_what_was_measured(story: Any) -> None:
    story.begin().case(0, 10.0).start(1)
    made = answer(story.path)
    assert (made.word, made.role) == ("engine gone", "bad")
    assert "bs 1" in shown(made) and "the recording is incomplete; measurements are kept" in shown(made)


def test_a_missing_baseline_is_explained(story: Any) -> None:
    story.begin().start(0).finish(0, "oom", reason="full").case(1, 10.0).case(2, 30.0).end()
    assert "baseline   none (" in shown(answer(story.path))


def test_an_unfinished_evaluation_says_so(story: Any) -> None:
    story.begin().case(0, 10.0).end()
    assert "evaluating the measurements" in shown(answer(story.path, concluded=False))


def test_an_answer_is_ascii_on_a_terminal_limited_to_it(story: Any) -> None:
    story.begin().case(0, 10.0).case(1, 19.8).case(2, 39.6).end()
    made = answer(story.path, symbols=ASCII)
    lines = answer_lines(made, 116, 12, ASCII)
    assert all(text.isascii() for line in lines for text, _ in line)


def test_a_short_screen_has_only_the_title_of_a_running_sweep(story: Any) -> None:
    story.begin().case(0, 10.0).case(1, 19.8)
    made = answer(story.path, Alive())
    assert answer_height(made, 78, 24, whole=False) == 0
    left, _ = answer_title(made, 0)
    assert "".join(text for text, _ in left) == "so far bs 1  99.8 samples/s  indistinguishable from 1 other"


def test_a_card_of_few_lines_has_a_figure_for_each_work(story: Any) -> None:
    story.begin(rounds=3, sequence_length=(32, 512))
    for case, config in enumerate(story.plan):
        story.case(case, config.sequence_length / 32 * (9 + config.batch_size), rounds=3)
    lines = answer_lines(answer(story.end().path), 78, 4, UNICODE)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert [text.split("   ")[0] for text in texts[:2]] == [" ★ bs 4 seq 32", " ★ bs 4 seq 512"]
    assert all("samples/s" in text and len(text) <= 78 for text in texts[:2])


@pytest.mark.parametrize("name", [DEMO, CPU_DEMO])
def test_a_card_of_80_columns_keeps_case_figure_and_confidence_of_two_works(name: str) -> None:
    made = answer(demo_path(name))
    lines = shown(made, 76, 8).splitlines()
    assert len(lines) == 8 and lines[6].startswith("   open ") and lines[6].endswith("…")
    for place, work in enumerate(made.works):
        case, figures, confidence = lines[3 * place : 3 * place + 3]
        assert case == f" ★ {work.name}"
        assert figures.startswith(f"   {work.figures[0]}   {work.figures[1]}")
        assert confidence == f"   confidence {work.certainty}"
    assert "…" not in shown(made, 76, 9)


def test_figures_share_the_line_of_the_case_before_its_confidence_is_left_out() -> None:
    made = answer(demo_path())
    made = replace(made, notes=(*made.notes, ("left", "2 cases: benchtui run --resume trial"), ("reason", "-")))
    lines = shown(made, 76, 8).splitlines()
    for place, work in enumerate(made.works):
        case, confidence = lines[2 * place : 2 * place + 2]
        assert case.startswith(f" ★ {work.name}   {work.figures[0]}") and work.certainty in confidence


def test_low_card_says_how_certain_the_answer_is_before_the_baseline(story: Any) -> None:
    """The ratio to the baseline is among the figures already."""
    story.begin(rounds=3)
    for case, ms in enumerate((10.0, 11.0, 12.0)):
        story.case(case, ms, rounds=3)
    text = shown(answer(story.end().path))
    assert text.index("confidence") < text.index("baseline   ")


def test_all_figures_of_two_works_are_shown_side_by_side_and_no_interval_is_cut(story: Any) -> None:
    story.begin(rounds=3, sequence_length=(32, 512))
    for case, config in enumerate(story.plan):
        story.case(case, config.sequence_length / 32 * (9 + config.batch_size), rounds=3)
    made = answer(story.end().path)
    text = shown(made)
    assert all(figure in text for work in made.works for figure in work.figures)
    rival = Rival("bs 2", "1.39x (1.003 to 1.86), NOT ESTABLISHED", "warning", (1.003, 1.86))
    made = replace(made, works=tuple(replace(work, rivals=(rival,), facts=()) for work in made.works))
    assert shown(made).count(rival.text) == 2
