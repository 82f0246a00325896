"""Log of the Monitor: cases among the engine's messages."""

from typing import Any


async def test_log_shows_when_cases_start_and_end_with_their_metrics(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(batch_sizes=(1, 2, 4)).case(0, 10.0, 120, "random weights")
    story.t += 1.0
    story.start(1).finish(1, "oom", reason="out of memory at 4 GB").t += 1.0
    story.say("looking for a free GPU", "warning").t += 0.5
    story.say("cuda:0 fp32 compile=off bs=1 seq=128: throttled; remeasuring in 5 s", "warning").t += 0.5
    story.start(2)
    async with opened(story.path, engine) as seen:
        lines = [(line.level, line.text) for line in seen.app.screen.view.messages()]
        assert [text.partition(": ")[0] for _, text in lines] == [
            "case 1 finished",
            "case 2 out of memory",
            "looking for a free GPU",
            "cuda:0 fp32 bs 1 seq 128",
            "case 3 started",
        ]
        assert lines[0][1].startswith("case 1 finished: 10.0 ms, 99.8 samples/s")
        assert lines[1] == ("warning", "case 2 out of memory: out of memory at 4 GB")
        assert "case 3 started: cuda:0 fp32 bs 4 seq 128" in seen.panel("log")[-1]


async def test_marks_appear_in_older_lines_once_not_all_cases_share_them(
    story: Any, engine: Any, opened: Any
) -> None:
    story.begin(batch_sizes=(1, 2)).case(0, 10.0, 20, "random weights")
    async with opened(story.path, engine) as seen:
        view = seen.app.screen.view
        assert "random weights" not in view.messages()[0].text
        story.case(1, 10.0, 20)
        await seen.look()
        assert "random weights" in view.messages()[0].text
