from typing import Any

import pytest

from benchtui.themes.symbols import UNICODE
from benchtui.tui.case.screen import CaseScreen
from benchtui.tui.charts.line_chart import letter_of
from benchtui.tui.charts.screen import Charts
from benchtui.tui.monitor.screen import Monitor

PRECISIONS = ("fp32", "fp16")


def record_sweep(story: Any, sizes: tuple[int, ...] = (1, 2, 4)) -> Any:
    """Record a sweep of two precisions; the last case of the first ran out of memory."""
    story.begin(batch_sizes=sizes, precision=PRECISIONS)
    for number, config in enumerate(story.plan):
        if config.batch_size == sizes[-1] and config.precision == "fp32":
            story.start(number).finish(number, "oom", reason="CUDA out of memory")
        else:
            story.case(number, (10.0 if config.precision == "fp32" else 4.0) * (1 + number % 3 / 4), 30)
    return story


async def refresh(seen: Any) -> None:
    """Let the Charts view compute and redraw."""
    await seen.pilot.pause()
    seen.app.screen.tick()
    await seen.app.workers.wait_for_complete()
    await seen.pilot.pause()


async def press(seen: Any, *keys: str) -> None:
    await seen.pilot.press(*keys)
    await refresh(seen)


async def test_chart_shows_lines_points_and_lost_cases(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab")
        assert isinstance(seen.app.screen, Charts)
        assert "samples/s over batch size" in seen.panel("heading")[0]
        assert [row.lstrip(" ▸").split()[:2] for row in seen.panel("lines")[1:3]] == [
            ["a", "fp32"],
            ["b", "fp16"],
        ]
        assert "▲a" in "".join(seen.panel("plot"))
        rows = [row for row in seen.panel("points") if "▲ oom" in row]
        assert len(rows) == 1 and rows[0].split()[0] == "4"


async def test_arrows_select_line_and_point(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab")
        assert "fp32" in seen.panel("heading")[1] and "bs 1 " in seen.panel("heading")[1]
        await press(seen, "down", "right")
        assert "fp16" in seen.panel("heading")[1] and "bs 2 " in seen.panel("heading")[1]
        assert next(row for row in seen.panel("lines") if row.startswith("▸")).split()[1] == "fp16"
        assert next(row for row in seen.panel("points") if row.startswith("▸")).split()[1] == "2"
        await press(seen, "k", "left", "G")
        assert "fp16" in seen.panel("heading")[1]


async def test_metric_and_scale_can_be_changed(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "f")
        assert "typical step, ms over batch size" in seen.panel("heading")[0]
        await press(seen, "F", "F")
        assert "energy per sample, J" in seen.panel("heading")[0]
        await press(seen, "L")
        assert "logarithmic" in seen.panel("heading")[0]


async def test_axis_changes_if_there_is_another_one(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "v")
        assert "batch size is the only numeric axis" in seen.panel("word")[0]


async def test_sequence_length_is_an_axis(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=(32, 64))
    for number in range(4):
        story.case(number)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "v")
        assert "over sequence length" in seen.panel("heading")[0]
        assert any("bs 2" in row for row in seen.panel("lines"))


async def test_pareto_front_lists_the_nondominated_cases(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "p")
        assert "Pareto front: samples/s against typical step, ms" in seen.panel("heading")[0]
        rows = [row for row in seen.panel("lines")[1:] if row]
        assert rows and all("fp16" in row for row in rows)
        await press(seen, "down")
        assert seen.panel("lines")[2].startswith("▸")
        await press(seen, "v")
        assert "against energy per sample, J" in seen.panel("heading")[0]
        await press(seen, "f")
        assert "samples/s over batch size and precision" in seen.panel("heading")[0]


async def test_charts_name_the_rate_of_the_monitor(story: Any, engine: Any, opened: Any) -> None:
    story.begin(precision=PRECISIONS)
    for number in range(len(story.plan)):
        story.start(number).prepare(number, new_tokens=16).steps(number, [10.0 + number] * 20).finish(number)
    async with opened(story.path, engine) as seen:
        assert "new tokens/s" in seen.panel("header")[0]
        await press(seen, "3")
        assert "new tokens/s over batch size and precision" in seen.panel("heading")[0]
        assert "★ to run" in seen.text
        await press(seen, "p")
        assert "Pareto front: new tokens/s against" in seen.panel("heading")[0]
        await press(seen, "p", "f")
        assert "new tokens/s" not in seen.panel("heading")[0]
        await press(seen, "F")
        assert "new tokens/s" in seen.panel("heading")[0]


async def test_pareto_front_against_the_distance_of_answers(story: Any, engine: Any, opened: Any) -> None:
    """The baseline is at 0; the axis is logarithmic and has a place for it."""
    story.begin(batch_sizes=(1,), precision=("fp32", "bf16", "fp16", "tf32"))
    for number, step_ms in enumerate((10.0, 5.0, 6.0, 2.0)):
        story.case(number, step_ms, 30)
    for number, kl in ((1, 1e-4), (2, 3e-4), (3, 0.2)):
        story.answer(number, verdict="close", kl_mean=kl)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "p", *"vvv")
        assert "samples/s against KL divergence, nats" in seen.panel("heading")[0]
        assert "3 of 4 cases" in seen.panel("heading")[0]
        rows = [row for row in seen.panel("lines")[1:] if row]
        assert [row.split()[-1] for row in rows] == ["0", "0.000100", "0.200"]
        assert seen.panel("plot")[-2].split()[0] == "0"
        await press(seen, "end")
        assert "495 samples/s at 0.200 nats" in seen.panel("heading")[1]
        await press(seen, "v")
        assert "against typical step, ms" in seen.panel("heading")[0]


async def test_filter_shows_only_matching_lines(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "slash", *"fp16", "enter")
        assert "filter fp16   1 of 2 lines" in seen.panel("heading")[0]
        assert not any("fp32" in row for row in seen.panel("lines"))
        assert any(row.split()[:2] == ["▸b", "fp16"] for row in seen.panel("lines"))  # it keeps its letter
        await press(seen, "slash", "x")
        assert "no line matches 'fp16x'" in seen.text
        await press(seen, "escape")
        assert (
            "filter" not in seen.panel("heading")[0] and len([row for row in seen.panel("lines") if row]) == 3
        )
        await press(seen, "escape")
        assert isinstance(seen.app.screen, Monitor)


async def test_enter_opens_the_case_of_the_selected_point(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "down", "right")
        await seen.pilot.press("enter")
        await seen.pilot.pause()
        assert isinstance(seen.app.screen, CaseScreen)
        assert "fp16" in seen.text and "bs 2" in seen.text
        await seen.pilot.press("escape")
        await seen.pilot.pause()
        assert isinstance(seen.app.screen, Charts)


async def test_table_is_copied_as_markdown(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab", "y")
        assert "| bs | samples/s |" in seen.app.clipboard
        assert "▲ oom" in seen.app.clipboard
        await press(seen, "p", "y")
        assert "| case on the front |" in seen.app.clipboard


async def test_charts_update_while_the_sweep_is_running(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2, 4)).case(0)
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        assert "1 case has a value for samples/s so far; 2 pending" in seen.text
        story.case(1).start(2).prepare(2).steps(2, [9.0] * 10)
        seen.app.views.feed.poll()
        await refresh(seen)
        assert "▶ running" in seen.text
        assert sum("a" in row for row in seen.panel("plot")[1:30]) >= 2


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_no_text_is_truncated(story: Any, engine: Any, opened: Any, size: tuple[int, int]) -> None:
    record_sweep(story)
    async with opened(story.path, engine, size=size) as seen:
        await press(seen, "3", "tab", "right")
        for figure in ("samples/s", "fp32", "fp16", "▲ oom", "p Pareto"):
            assert figure in seen.text


async def test_arrows_select_a_cell_and_enter_opens_its_case(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "down", "right")
        assert "fp16 bs 2" in seen.panel("heading")[1]
        await seen.pilot.press("enter")
        await seen.pilot.pause()
        assert isinstance(seen.app.screen, CaseScreen)
        assert "cuda:0 fp16 bs 2 seq 128" in seen.text


async def test_heatmap_of_an_ended_sweep_begins_at_the_case_to_run(story: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.end().path) as seen:
        await press(seen, "3")
        await seen.until(lambda: "▸★" in seen.text)
        assert "fp16 bs 4" in seen.panel("heading")[1]
        await press(seen, "left")
        await seen.settle()
        assert "fp16 bs 2" in seen.panel("heading")[1]


async def test_view_key_keeps_the_selected_case(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "down", "right", "tab")
        assert "fp16 bs 2" in seen.panel("heading")[1] and "over batch size" in seen.panel("heading")[0]
        await press(seen, "right", "tab")
        assert "fp16 bs 4" in seen.panel("heading")[1]


async def test_axis_key_shows_another_pair_of_options(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=(32, 64), precision=PRECISIONS)
    for number in range(8):
        story.case(number)
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        assert "over batch size and sequence length" in seen.panel("heading")[0]
        shown = "".join(seen.panel("map"))
        assert "fp32  batch size" in shown and "fp16  batch size" in shown
        await press(seen, "v")
        assert "over batch size and precision" in seen.panel("heading")[0]


async def test_down_goes_from_the_last_row_to_the_next_grid(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=(32, 64), precision=PRECISIONS)
    for number in range(8):
        story.case(number)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "down", "down")
        assert "fp16 bs 1 seq 32" in seen.panel("heading")[1]


async def test_cells_without_a_value_show_why(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=(32, 64))
    story.case(0).start(1).finish(1, "skipped", reason="by hand").start(2).finish(2, "failed", reason="no")
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        rows = "".join(seen.panel("map"))
        assert "○" in rows and "✗" in rows and "· not measured yet" in rows


async def test_sweep_with_one_axis_opens_as_lines(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2)).case(0).case(1)
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        assert "over batch size" in seen.panel("heading")[0] and "a" in "".join(seen.panel("plot"))
        await press(seen, "tab")
        assert "needs two options" in seen.panel("word")[0]


async def test_each_sequence_length_has_its_own_front(story: Any, engine: Any, opened: Any) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=(32, 64))
    for number, ms in enumerate((4.0, 5.0, 8.0, 10.0)):
        story.case(number, ms)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "p")
        assert "Pareto fronts:" in seen.panel("heading")[0]
        assert "a front per sequence length" in seen.panel("heading")[0]
        assert [row.lstrip(" ▸").split()[:5] for row in seen.panel("lines")[1:5]] == [
            ["a", "bs", "1", "seq", "32"],
            ["a", "bs", "2", "seq", "32"],
            ["b", "bs", "1", "seq", "64"],
            ["b", "bs", "2", "seq", "64"],
        ]


async def test_no_two_lines_share_a_letter_and_no_neighbors_a_color(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(batch_sizes=(1, 2), sequence_length=tuple(range(8, 62)))
    for number in range(0, 108, 40):
        story.case(number)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab")
        named = [letter_of(place) for place in range(54)]
        letters = [letter for letter, _ in named if letter]
        colors = [role for letter, role in named if letter]
        assert len(set(letters)) == len(letters) == 52 and "muted" not in colors
        assert all(len(set(colors[place : place + 6])) == 6 for place in range(47))
        assert "2 lines not drawn" in seen.panel("heading")[0]


async def test_lists_leave_their_free_lines_to_the_plot(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine, size=(80, 24)) as seen:
        await press(seen, "3", "tab")
        assert len(seen.panel("lines")) == 4 and len(seen.panel("plot")) == 13


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40), (200, 50)])
async def test_heatmap_numbers_are_never_cut(
    story: Any, engine: Any, opened: Any, size: tuple[int, int]
) -> None:
    record_sweep(story)
    async with opened(story.path, engine, size=size) as seen:
        await press(seen, "3", "right", "down")
        for figure in ("249", "398", "664", "OOM", "★ to run", "out of memory"):
            assert figure in seen.text


async def test_click_on_a_cell_reads_its_case_out_and_a_double_click_opens_it(
    story: Any, engine: Any, opened: Any
) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        lines = seen.panel("map")
        row = next(at for at, line in enumerate(lines) if line.strip().startswith("fp16"))
        await seen.pilot.click("#map", offset=(lines[row].index("★"), row))
        assert "fp16 bs 4" in seen.panel("heading")[1]
        await seen.double_click("#map", (lines[row].index("★"), row))
        assert isinstance(seen.app.screen, CaseScreen)
        await seen.until(lambda: "cuda:0 fp16 bs 4 seq 128" in seen.text)


async def test_click_on_a_point_or_a_row_selects_its_case(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "tab")
        row, line = next((at, line) for at, line in enumerate(seen.panel("plot")) if "b" in line and at)
        await seen.pilot.click("#plot", offset=(line.rindex("b"), row))
        assert "fp16 bs 4" in seen.panel("heading")[1]
        await seen.pilot.click("#lines", offset=(5, 1))
        assert "fp32 bs 4" in seen.panel("heading")[1]
        await seen.pilot.click("#points", offset=(5, 2))
        assert "fp32 bs 2" in seen.panel("heading")[1]


async def test_click_reads_out_a_point_that_is_not_on_the_front(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "p")
        row, line = next((at, line) for at, line in enumerate(seen.panel("plot")) if UNICODE.dot in line)
        await seen.pilot.click("#plot", offset=(line.index(UNICODE.dot), row))
        assert "fp32" in seen.panel("heading")[1] and "not on the front" in seen.panel("heading")[1]
        await press(seen, "down")
        assert "fp16" in seen.panel("heading")[1] and "not on" not in seen.panel("heading")[1]


async def test_filter_takes_the_spelling_of_files_as_well(story: Any, engine: Any, opened: Any) -> None:
    record_sweep(story)
    async with opened(story.path, engine) as seen:
        await press(seen, "3", "slash", *"bs=2", "enter")
        rows = [row for row in seen.panel("lines")[1:] if row]
        assert len(rows) == 2 and all("bs 2" in row for row in rows)
        await press(seen, "slash", *"zzz", "enter")
        assert 'no case matches "bs=2zzz"; esc clears' in seen.text


async def test_heatmap_has_no_star_while_the_best_case_is_undecided(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(batch_sizes=(1, 2), precision=PRECISIONS, rounds=2)
    for number, ms in enumerate((10.0, 20.0, 9.8, 19.5)):
        story.rounds(number, ms, 1.5 * ms)
    async with opened(story.path, engine) as seen:
        await press(seen, "3")
        assert "★ to run" in seen.text
        assert not any("★" in line for line in seen.panel("map") if line.strip().startswith(PRECISIONS))
