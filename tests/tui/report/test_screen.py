"""The page Report: opened from the Monitor, a replay and the Library; scrolling, sections, errors."""

from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.library import paths
from benchtui.sessions.report.content import Section
from benchtui.tui.drawing.styled_text import width_of
from benchtui.tui.library.screen import Library
from benchtui.tui.monitor import dialogs
from benchtui.tui.report import generated as generating
from benchtui.tui.report.screen import GENERATING, ReportScreen

REPORT = Section(
    "Report of a model", tuple(Section(f"Section {place}", ("bf16 is FASTER",)) for place in range(30))
)


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Play the subprocess; return for which sessions a report was generated."""
    made: list[Any] = []

    def report(path: Any, judging: Any) -> Section:
        made.append(path)
        return REPORT

    monkeypatch.setattr(generating, "report_content", report)
    monkeypatch.setattr(dialogs, "report_content", report)
    return made


async def opened_page(seen: Any, *keys: str) -> Any:
    """Press keys, then wait until the report is shown."""
    await seen.press(*keys)
    await seen.app.workers.wait_for_complete()
    await seen.settle()
    assert isinstance(seen.app.screen, ReportScreen)
    return seen


async def test_report_opens_from_the_monitor_and_scrolls(story: Any, opened: Any, generated: list[Any]) -> None:
    story.begin().case(0, 10.0).end()
    async with opened(story.path, size=(80, 24)) as seen:
        await opened_page(seen, "v")
        assert generated == [story.path]
        assert "Report of a model" in seen.text and "Section 0" in seen.text
        await seen.settle("n", "n")
        assert seen.panel("page")[0].startswith("Section 1 ")
        await seen.settle("N", "N")
        assert seen.panel("page")[0] == "Report of a model"
        await seen.settle("G")
        assert "Section 29" in seen.text and "Section 20" not in seen.text
        assert {"n", "E", "?"} <= set(" ".join(seen.panel("keys")).split())
        await seen.settle("question_mark")
        assert "Next section" in seen.text
        await seen.settle("escape", "escape")
        assert not isinstance(seen.app.screen, ReportScreen)


async def test_export_asks_for_a_file_on_the_screen_below(
    story: Any, opened: Any, generated: list[Any]
) -> None:
    story.begin().case(0, 10.0).end()
    async with opened(story.path, size=(80, 24)) as seen:
        await opened_page(seen, "v")
        await seen.settle("E")
        assert not isinstance(seen.app.screen, ReportScreen)
        assert ".md" in seen.text


async def test_report_opens_from_the_library(stage: Any, app_context: Any, generated: list[Any]) -> None:
    async with stage.at("library", replace(app_context, recorded=paths.entries)) as seen:
        await opened_page(seen, "v")
        assert generated[0] in [entry.path for entry in paths.entries()]
        await seen.settle("escape")
        assert isinstance(seen.app.screen, Library)


async def test_problem_is_shown_instead_of_the_report(stage: Any, app_context: Any) -> None:
    def fail() -> Section:
        raise BenchtuiError("the session has no first event")

    async with stage.at("monitor", app_context) as seen:
        screen = ReportScreen(fail, lambda: None, seen.app._symbols)
        seen.app.push_screen(screen)
        assert GENERATING in screen.text(80)[0][0]
        await opened_page(seen)
        assert "the session has no first event" in seen.text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_report_of_a_session_fits_any_terminal(
    size: tuple[int, int], story: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchtui.sessions.report import document
    from benchtui.sessions.report.speedup_block import with_speedups
    from benchtui.sessions.state.session import Session
    from benchtui.sessions.stats.case_metrics import metrics

    story.begin(batch_sizes=(1, 2, 4)).case(0, 10.0).case(1, 15.0).case(2, 20.0).end()

    def report(path: Any, judging: Any) -> Section:
        session = Session.load(path, metrics)
        return with_speedups(document.report(session), session)

    monkeypatch.setattr(dialogs, "report_content", report)
    async with opened(story.path, size=size) as seen:
        await opened_page(seen, "v")
        lines = seen.app.screen._rendered(seen.app.screen._panel("page").size.width).lines
        assert [drawn for drawn in lines if width_of(drawn) > size[0]] == []
        assert any("bs=4" in text or "bs" in text for drawn in lines for text, _ in drawn)
