"""The answer at the end of a run: lines that fit a terminal, and the same as JSON."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchtui.sessions.advice.conclusion import conclude
from benchtui.sessions.library import paths
from benchtui.sessions.report.document import markdown
from benchtui.sessions.state.session import Session
from benchtui.sessions.stats.case_metrics import metrics
from benchtui.tui.cli.text.conclusion import lines
from benchtui.tui.cli.text.output import WIDTH


def answer(path: Path) -> list[str]:
    session = Session.load(path)
    return list(lines(session, conclude(session), path))


def test_answer_for_one_work_takes_few_lines(make_story: Any, home: Path) -> None:
    story = make_story(paths.path_of("s")).begin(batch_sizes=(1, 2), rounds=3)
    story.case(0, 10.0, rounds=3).case(1, 15.0, rounds=3).end().close()
    said = answer(story.path)
    assert said[0].startswith("run cuda:0 fp32 compile=off bs=2 seq=128: 133 samples/s, ") and len(said) <= 8
    assert all(len(line) <= WIDTH for line in said)
    assert "  confidence  clearly ahead of the next" in said
    assert any(
        line.startswith("  next best   cuda:0 fp32 compile=off bs=1 seq=128, 99.8 samples/s: 1.33 × (")
        for line in said
    )
    assert said[-1] == "  use it      benchtui optimal s --snippet; report: benchtui export s"


def test_answer_is_the_case_that_the_report_recommends(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1,), compile=("off", "default"))
    story.case(0, 10.0, 100).case(1, 9.999, 100).end().close()
    session = Session.load(story.path)
    assert max(session.cases, key=lambda case: metrics(case).samples_per_s).config.compile == "default"
    assert answer(story.path)[0].startswith("run cuda:0 fp32 compile=off bs=1 seq=128: ")
    said = "- **Run**: cuda:0 fp32 compile=off bs=1 seq=128, "
    assert said in markdown(session)


def test_open_questions_come_with_the_command_that_decides_them(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1, 2)).case(0, 10.0).case(1, 19.0).end()
    story.close()
    text = " ".join(" ".join(answer(story.path)).split())
    assert "indistinguishable from 1 other, within " in text
    assert f"would decide it; benchtui next {story.path} --run" in text


def test_works_are_named_and_counted_beyond_the_first(make_story: Any, tmp_path: Path) -> None:
    lengths = (16, 32, 64, 128)
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1,), sequence_length=lengths)
    for case in range(len(lengths)):
        story.case(case)
    story.end().close()
    said = answer(story.path)
    assert said[0].startswith("run at 16 tokens cuda:0 fp32 compile=off bs=1 seq=16: ")
    assert f"and 1 more: benchtui optimal {story.path}" in said
    assert f"optimal {story.path} --sequence-length 16 --snippet;" in " ".join(" ".join(said).split())


def test_own_step_is_used_as_a_sweep(make_story: Any, tmp_path: Path) -> None:
    story = make_story(tmp_path / "s.json").begin(batch_sizes=(1,)).case(0, 10.0).end()
    story.close()
    session = Session.load(story.path)
    session.started = replace(session.start, sweep=replace(session.start.sweep, task="step.py:make"))
    said = " ".join(" ".join(lines(session, conclude(session), Path("s.json"))).split())
    assert "use it benchtui optimal s.json --toml best.toml; report" in said
