"""Compare screen: every key, and the empty, loading and error states."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchtui.sessions.compare.align import compare_sessions, load_sessions
from benchtui.sessions.report.compare import markdown
from benchtui.sessions.state.judging import VerdictSettings
from benchtui.tui.compare.screen import Compare
from benchtui.tui.pages.page import Page
from benchtui.tui.shell.navigation import ComparisonRequested
from benchtui.tui.widgets.long_list import LongList

Pair = Callable[..., tuple[Path, ...]]


@pytest.fixture
def pair(make_story: Any, tmp_path: Path) -> Pair:
    """Return a function that writes sessions with these step times in milliseconds by batch size."""

    def write(*times: tuple[float | None, ...], rounds: int = 1, **options: Any) -> tuple[Path, ...]:
        paths = []
        for letter, ms in zip("abc", times, strict=False):
            paths.append(tmp_path / f"{letter}.json")
            story = make_story(paths[-1]).begin(batch_sizes=(1, 2, 4), rounds=rounds, **options)
            for case, each in enumerate(ms):
                if each is None:
                    story.start(case).finish(case, "oom", reason="out of memory")
                else:
                    story.case(case, each, 30, rounds=rounds)
            story.end().close()
        return tuple(paths)

    return write


class Shown:
    """The comparison in an app."""

    def __init__(self, seen: Any, paths: tuple[Path, ...]) -> None:
        self.seen = seen
        self.paths = paths

    async def begin(self) -> "Shown":
        self.seen.app.post_message(ComparisonRequested(self.paths))
        await self.seen.until(lambda: isinstance(self.seen.app.screen, Compare) and "reading" not in self.text)
        await self.seen.pilot.pause()
        return self

    async def press(self, *keys: str) -> None:
        await self.seen.pilot.press(*keys)
        await self.seen.pilot.pause()

    @property
    def text(self) -> str:
        return str(self.seen.text)

    @property
    def rows(self) -> list[str]:
        return list(self.seen.app.screen.query_one(LongList).lines())

    @property
    def sizes(self) -> list[str]:
        return [row.split("bs ")[1].split()[0] for row in self.rows]

    @property
    def chosen(self) -> str:
        return next(row for row in self.rows if row.startswith("▸")).split("bs ")[1].split()[0]

    @property
    def word(self) -> str:
        return " ".join(self.seen.panel("log")).strip()


async def test_an_empty_comparison_shows_how_to_select_sessions(opened: Any) -> None:
    async with opened() as seen:
        await seen.press("5")
        assert "no sessions to compare yet" in seen.text
        assert "mark two sessions with space" in seen.text
        assert "4 choose sessions" in seen.text
        for key in ("d", "y", "Y", "E", "slash", "b", "s", "n", "N", "down"):
            await seen.press(key)
        await seen.press("enter")
        assert "no sessions to compare yet: mark two in the Library (4)" in seen.text


async def test_pairs_are_listed_with_their_verdict(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0), rounds=3)).begin()
        assert "Neither session says which software it ran on; the rest is the same." in shown.text
        assert "B against A  1 FASTER  1 SLOWER  1 SAME" in shown.text
        one, two, four = shown.rows
        assert one.split()[4:6] == ["F", "FASTER"] and {"1.996x", "10.0", "5.02"} <= {*one.split()}
        assert "= SAME" in two and "S SLOWER" in four
        assert all(re.search(r" \d\.\d{3}x ", row) for row in shown.rows)
        assert "B is 1.996x as fast" in shown.text
        assert "A  n 90   step 10.0 ms" in shown.text
        assert "A, B: medians" in shown.text


async def test_the_page_says_the_decision_as_the_report_does(opened: Any, pair: Pair) -> None:
    paths = pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0), rounds=3)
    report = markdown(compare_sessions(load_sessions(paths, VerdictSettings())))
    for size in ((200, 50), (80, 24)):
        async with opened(size=size) as seen:
            shown = await Shown(seen, paths).begin()
            lines = [line.strip() for line in seen.panel("summary")]
            assert lines[0].startswith("It depends on the case: B (b) is")
            assert "B against A" in lines.pop()
            if lines[-1].endswith("enter shows all"):
                await shown.press("enter")
                page = [line.strip() for line in shown.text.splitlines()]
                lines = page[page.index("Decision") + 1 :]
                lines = lines[: lines.index("")]
            assert " ".join(lines).replace("x as fast", " × as fast") in report


async def test_an_unsure_pair_shows_why_and_what_would_decide_it(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (10.4, 20.0, 80.0))).begin()
        assert "B against A  1 SLOWER  2 UNSURE  all 0.783x SLOWER" in shown.text
        assert "? UNSURE" in shown.rows[0] and "S SLOWER" in shown.rows[2]
        assert "UNSURE: can't resolve below 13 %; next: " in shown.text
        await shown.press("down", "down")
        assert "UNSURE: " not in shown.text


async def test_a_sure_pair_shows_the_rule_that_its_interval_meets(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0), rounds=3)).begin()
        assert "FASTER: the whole 99 % interval lies beyond 0.5 %" in shown.text
        await shown.press("down")
        assert "SAME: the whole 95 % interval lies within 2 %" in shown.text
        await shown.press("down")
        assert "SLOWER: the whole 99 % interval lies beyond 0.5 %" in shown.text


async def test_pairs_are_judged_by_the_configured_margin(opened: Any, pair: Pair, app_context: Any) -> None:
    paths = pair((10.0, 20.0, 40.0), (10.0, 20.0, 40.0), rounds=3)
    for margin, word in ((None, "= SAME"), (0.0001, "? UNSURE")):
        here = replace(app_context, judging=VerdictSettings(same_within=margin))
        async with opened(app_context=here) as seen:
            shown = await Shown(seen, paths).begin()
            assert all(word in row for row in shown.rows)


async def test_differences_are_summarized_and_listed_in_full_on_a_page(
    opened: Any, pair: Pair, make_story: Any, tmp_path: Path
) -> None:
    (first,) = pair((10.0, 20.0, 40.0))
    story = make_story(tmp_path / "other.json").begin(batch_sizes=(1,), gpus=0, iterations=30, cpu_count=2)
    story.case(0).end().close()
    async with opened(size=(80, 24)) as seen:
        shown = await Shown(seen, (first, story.path)).begin()
        assert "differs  " in shown.text and "CPU count" in shown.text
        assert seen.panel("differences")[0].endswith("enter shows all")
        await shown.press("enter")
        assert isinstance(seen.app.screen, Page)
        assert "settings: iterations" in shown.text
        assert "machine: GPU\n   A  not recorded\n   B  none" in shown.text


async def test_a_lost_case_is_reported(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (10.0, 20.0, None))).begin()
        assert "1 lost" in shown.text
        assert "✗ lost" in shown.rows[2] and "A: ok; B: out of memory" in shown.rows[2]
        await shown.press("G", "y")
        assert "no measured pair is selected" in shown.word


async def test_keys_select_sort_and_filter(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 60.0, 41.0))).begin()
        for keys, size in (
            (("j",), "2"),
            (("end",), "4"),
            (("k",), "2"),
            (("home",), "1"),
            (("N",), "4"),
            (("n",), "1"),
            (("pagedown",), "4"),
            (("pageup",), "1"),
        ):
            await shown.press(*keys)
            assert shown.chosen == size, keys
        orders = []
        for _ in range(4):
            orders.append(shown.sizes)
            await shown.press("s")
        assert orders == [["1", "2", "4"], ["2", "4", "1"], ["1", "4", "2"], ["2", "4", "1"]]
        await shown.press("slash", *"faster", "enter")
        assert shown.sizes == ["1"]
        assert '1 of 3 with "faster"' in shown.text
        await shown.press("slash", "z")
        assert 'no case matches "fasterz"' in shown.text
        await shown.press("escape")
        assert len(shown.rows) == 3


async def test_b_cycles_through_the_bases(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 10.0, 20.0), (20.0, 40.0, 80.0))).begin()
        assert seen.panel("sides")[0].startswith("A base  a")
        assert [row[1:8] for row in shown.rows[:2]] == ["B cuda:", "C cuda:"]
        assert "B against A  3 FASTER  C against A  3 SLOWER" in shown.text
        await shown.press("b")
        await seen.until(lambda: "B against A  3 SLOWER  C against A  3 SLOWER" in shown.text)
        assert seen.panel("sides")[0].startswith("A base  b")


async def test_y_and_Y_copy_markdown(opened: Any, pair: Pair) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0))).begin()
        await shown.press("y")
        await seen.until(lambda: "copied the case" in shown.word)
        assert seen.app.clipboard.startswith("| Case")
        assert seen.app.clipboard.count("| cuda:0 ") == 1 < seen.app.clipboard.count("| :--")
        await shown.press("Y")
        await seen.until(lambda: "copied the comparison" in shown.word)
        assert seen.app.clipboard.startswith("# Comparison: a and b")


async def test_E_exports_and_asks_before_overwriting(opened: Any, pair: Pair, app_context: Any) -> None:
    async with opened() as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0))).begin()
        path = app_context.folder / "a-vs-b.md"
        path.write_text("mine")
        await shown.press("E", "enter")
        await seen.until(lambda: "already exists" in shown.word)
        await shown.press("escape")
        assert path.read_text() == "mine"
        await shown.press("E", "enter")
        await seen.until(lambda: "already exists" in shown.word)
        await shown.press("E")
        await seen.until(lambda: "wrote " in shown.word)
        assert path.read_text().startswith("# Comparison: a and b")


async def test_an_unreadable_session_is_named(opened: Any, pair: Pair, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"a": 1}')
    async with opened() as seen:
        shown = await Shown(seen, (*pair((10.0, 20.0, 40.0)), tmp_path / "bad.json")).begin()
        await seen.until(lambda: "bad.json" in shown.text)
        assert "not a session file" in shown.text or "not a session event" in shown.text
        assert "mark two sessions with space" in shown.text


async def test_sessions_without_common_cases_are_reported(opened: Any, make_story: Any, tmp_path: Path) -> None:
    for name, size in (("a", 1), ("b", 2)):
        make_story(tmp_path / f"{name}.json").begin(batch_sizes=(size,)).case(0).end().close()
    async with opened() as seen:
        shown = await Shown(seen, (tmp_path / "a.json", tmp_path / "b.json")).begin()
        assert "no case was measured in both" in shown.text
        assert "only in A: ok" in shown.rows[0]


async def test_sessions_without_steps_are_compared_without_histograms(opened: Any, tmp_path: Path) -> None:
    reference = Path(__file__).parents[2] / "fixtures" / "comprehensive-report.json"
    async with opened() as seen:
        shown = await Shown(seen, (reference, reference)).begin()
        assert "r REPORTED" in shown.rows[0]
        assert "mean 450 ms" in shown.text
        assert "no steps to plot: a session recorded none" in shown.text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_every_size_shows_cases_verdicts_and_ratio(
    opened: Any, pair: Pair, size: tuple[int, int], ascii_only: bool
) -> None:
    async with opened(size=size, ascii_only=ascii_only) as seen:
        shown = await Shown(seen, pair((10.0, 20.0, 40.0), (5.0, 20.0, 80.0))).begin()
        assert "F FASTER" in shown.rows[0] and "1.996x" in shown.rows[0]
        assert not ascii_only or shown.text.isascii()
        for figure in ("step ms", "samples/s", "memory", "J/sample"):
            header = shown.seen.panel("header")[0]
            assert (f"A {figure}" in header) == (f"B {figure}" in header)
        assert "A step ms" in header
        assert (("|" if ascii_only else "▕") in shown.rows[0]) == (size[0] >= 80), "the ratio's bar"
        assert ("A samples/s" in header) == (size[0] >= 120)
