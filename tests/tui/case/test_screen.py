from typing import Any

import pytest

from benchtui.sessions.payloads import Compiling, Effective, Environment
from benchtui.tui.case.screen import SECTIONS, CaseScreen


async def press(seen: Any, *keys: str) -> None:
    await seen.pilot.press(*keys)
    await settle(seen)


async def settle(seen: Any) -> None:
    """Wait until everything is computed and drawn."""
    await seen.pilot.pause()
    if isinstance(seen.app.screen, CaseScreen):
        seen.app.screen.tick()
    await seen.app.workers.wait_for_complete()
    await seen.pilot.pause()


def write_session(story: Any) -> Any:
    """Three cases: measured with an outlier among the steps, failed, queued."""
    story.begin(iterations=120).start(0).wait(1.0)
    effective = Effective(weights_dtype="float16", attention="sdpa", compiled=False, threads=8)
    story.prepare(0, "random weights", effective=effective, load_s=0.4)
    story.steps(0, [90.0, 12.0], "warmup")
    began = story.t
    story.telemetry().telemetry(throttle="sw_thermal")
    story.steps(
        0, [10.0 + step % 9 / 50 for step in range(60)] + [80.0] + [10.0 + step % 9 / 50 for step in range(59)]
    )
    story.finish(
        0,
        measured_s=(began, story.t),
        stop="120 steps",
        warmup_stop="2 steps",
        environment=Environment(
            involuntary_switches=12, others_cpu_percent=3.0, processors=16, load_average=1.25
        ),
        compiling=Compiling(graphs=2, graph_breaks=1, recompiles=0),
    )
    reason = (
        "CUDA out of memory: "
        + "tried to allocate 2.00 GiB more than there is on this device, " * 6
        + "the end"
    )
    story.start(1).prepare(1).finish(
        1, "failed", reason=reason, signal="SIGKILL", stderr_line="Killed | by kernel"
    )
    return story


async def test_keys_switch_between_sections(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter")
        met = []
        for key in ("tab", "l", "tab", "l", "tab", "tab"):
            met.append(seen.panel("heading")[1].split("▸")[1].split()[0].lower())
            await press(seen, key)
        assert tuple(met) == SECTIONS
        assert "▸Summary" in seen.panel("heading")[1]
        await press(seen, "h")
        assert "▸Error" in seen.panel("heading")[1] and "no error" in seen.text


async def test_distribution_marks_percentiles_and_counts_outliers(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter", "tab")
        rows = seen.panel("page")
        assert "n 120" in rows[0] and "max 80.0" in rows[0]
        assert any(row.endswith("p50") for row in rows) and any("p99" in row for row in rows[3:])
        assert sum(int(row.split("ms")[1].split()[0]) for row in rows if " to " in row and " ms " in row) == 119
        assert "▴ 1 outlier off scale, still included in every statistic; }: next outlier" in seen.text


async def test_o_selects_the_next_outlier(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter", "right_curly_bracket")
        assert "▸Steps" in seen.panel("heading")[1] and "122 steps, 1 of them outliers" in seen.panel("word")[0]
        (row,) = [row for row in seen.panel("page") if row.startswith("▸")]
        assert row.split()[1] == "62" and "80.00" in row and row.endswith("▴")
        await press(seen, "right_curly_bracket")
        assert "no more outliers" in seen.panel("word")[0]
        await press(seen, "G", "left_curly_bracket")
        assert next(row for row in seen.panel("page") if row.startswith("▸")).split()[1] == "62"
        await press(seen, "home")
        assert "warm-up" in seen.panel("page")[1] and seen.panel("page")[1].startswith("▸")
        await press(seen, "right_curly_bracket")
        assert next(row for row in seen.panel("page") if row.startswith("▸")).split()[1] == "62"


async def test_machine_section_shows_memory_energy_and_compiler(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter", "h", "h")
        for fact in (
            "668 MiB",
            "50.0 J",
            "counter",
            "involuntary context switches   12",
            "1.25",
            "graph breaks",
        ):
            assert fact in seen.text


async def test_the_error_is_shown_in_full(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await seen.press("g")
        await press(seen, "enter", "n", "h")
        assert "case 2 of 3" in seen.text
        for fact in ("the end", "SIGKILL", "Killed | by kernel"):
            assert fact in " ".join(seen.text.split())
        await press(seen, "y")
        assert "Killed \\| by kernel" in seen.app.clipboard and "| option | requested |" in seen.app.clipboard


async def test_keys_select_previous_and_next_case(story: Any, engine: Any, opened: Any) -> None:
    write_session(story)
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter", "right", "right", "right")
        assert "case 3 of 3" in seen.text and "queued" in seen.text
        await press(seen, "tab")
        assert "no measured steps" in seen.text
        await press(seen, "tab")
        assert "no measured steps yet" in seen.text
        await press(seen, "tab")
        assert "the case has not started" in seen.text
        await press(seen, "tab")
        assert "available once the case has ended" in seen.text
        await press(seen, "N", "left", "left")
        assert "case 1 of 3" in seen.text


async def test_a_running_case_is_updated(story: Any, engine: Any, opened: Any) -> None:
    story.begin(iterations=100).start(0).prepare(0).steps(0, [10.0] * 10)
    async with opened(story.path, engine) as seen:
        await press(seen, "enter")
        assert "10, 1 sample each" in seen.text
        story.steps(0, [10.0] * 15)
        seen.app.views.feed.poll()
        await settle(seen)
        assert "25, 1 sample each" in seen.text


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (200, 50)])
async def test_every_section_fits_and_scrolls(
    story: Any, engine: Any, opened: Any, size: tuple[int, int]
) -> None:
    write_session(story)
    async with opened(story.path, engine, size=size, ascii_only=True) as seen:
        await seen.press("g")
        await press(seen, "enter")
        for section in SECTIONS:
            assert f"*{section.capitalize()}" in seen.panel("heading")[1]
            assert seen.text.isascii()
            await press(seen, "end", "pageup", "pagedown", "home", "down", "up", "tab")


async def test_session_text_cannot_control_the_terminal(story: Any, engine: Any, opened: Any) -> None:
    story.begin().start(0).prepare(0, "\x1b[31mred").finish(0, "failed", reason="a\x1b]0;title\x07b\nc")
    async with opened(story.path, engine) as seen:
        await seen.press("g")
        await press(seen, "enter")
        for _ in SECTIONS:
            assert "\x1b" not in seen.text and "\x07" not in seen.text
            await press(seen, "tab")


async def test_the_heading_has_the_verdict_and_the_page_begins_with_what_decides(
    story: Any, opened: Any
) -> None:
    story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 11.0, rounds=3, stop="20 steps").end()
    for keys in (("enter",), ("3", "right", "enter")):
        async with opened(story.path) as seen:
            await press(seen, *keys)
            lines = [row.strip("│ ") for row in seen.text.splitlines()]
            assert "bs 2" in lines[0] and "1.82x base" in lines[0]
            assert [row.split()[0] for row in lines[3:8]] == ["Figures", "step", "samples/s", "interval", "p50"]
            await press(seen, "N")
            assert seen.text.splitlines()[0].split("ok")[1].split()[:1] == ["base"]
