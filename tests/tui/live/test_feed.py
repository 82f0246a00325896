import os
from pathlib import Path
from typing import Any

import pytest

from benchtui.tui.live.feed import Feed


def test_appended_events_are_read(story: Any, engine: Any, clock: Any) -> None:
    story.begin()
    feed = Feed(story.path, engine, clock)
    feed.poll()
    assert (feed.session.started is not None, feed.session.done, feed.caught_up, feed.running) == (
        True,
        0,
        True,
        True,
    )
    story.case(0)
    feed.poll()
    assert feed.session.done == 1
    feed.close()


def test_a_line_longer_than_a_batch_does_not_end_reading(
    story: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchtui.tui.live.feed.BATCH_BYTES", 16)
    story.begin().case(0)
    feed = Feed(story.path, None, clock)
    feed.poll()
    assert feed.caught_up and feed.session.done == 1
    feed.close()


def test_a_dead_engine_is_detected_within_a_second(story: Any, engine: Any, clock: Any) -> None:
    story.begin()
    feed = Feed(story.path, engine, clock)
    feed.poll()
    engine.is_alive = False
    engine.exit_message = "the disk is full"
    clock.now_s += 1
    feed.poll()
    assert feed.cut_off and not feed.running
    assert feed.exit_message == "the disk is full"
    feed.close()


def test_a_completed_session_is_never_cut_off(story: Any, clock: Any) -> None:
    story.begin().end()
    feed = Feed(story.path, None, clock)
    feed.poll()
    assert not feed.cut_off and not feed.running
    feed.close()


def test_a_broken_line_ends_reading_with_an_error(story: Any, clock: Any) -> None:
    story.begin()
    with story.path.open("ab") as file:
        file.write(b"what is this\n")
    feed = Feed(story.path, None, clock)
    feed.poll()
    feed.poll()
    assert feed.problem is not None and "line 3" in feed.problem
    feed.close()


def test_resumed_cases_no_longer_count_as_ended(story: Any, engine: Any, clock: Any) -> None:
    """The feed then has a new session object, as in a replay that seeks back; derived data is rebuilt."""
    story.begin().case(0).start(1).steps(1, [50.0] * 5).finish(1, "interrupted").end("interrupted")
    feed = Feed(story.path, None, clock, lambda path: engine)
    feed.poll()
    before = feed.session
    assert (feed.session.done, feed.cut_off, feed.running) == (2, False, False)
    story.resume(1)
    feed.poll()
    assert feed.session is not before
    assert [case.index for case in feed.session.ended] == [0]
    assert feed.session.done == 1
    assert feed.running and feed.engine is engine, "whoever resumed it elsewhere is found"
    story.case(1).case(2).end()
    feed.poll()
    assert [case.index for case in feed.session.ended] == [0, 1, 2]
    assert len(feed.session.cases[1].measured) == 20
    feed.close()


def test_a_session_resumed_long_ago_has_no_engine(story: Any, clock: Any) -> None:
    asked: list[Path] = []
    story.begin().case(0).resume().case(1).start(2)
    feed = Feed(story.path, None, clock, asked.append)
    feed.poll()
    feed.poll()
    assert (asked, feed.cut_off, feed.engine) == ([story.path], True, None)
    feed.close()


def test_everything_names_the_rescue_file_once_the_session_continues_there(story: Any, clock: Any) -> None:
    story.begin().case(0)
    feed = Feed(story.path, None, clock)
    feed.poll()
    assert feed.command_word("name") == "name"
    rescued = story.path.with_name(f"{story.path.stem}.rescued.json")
    story.case(1).end()
    rescued.write_bytes(story.path.read_bytes())
    os.truncate(story.path, 0)
    feed.poll()
    assert feed.session.done == 2
    assert feed.path == feed.cache.path == feed.explainer.path == feed.explainer.remedies.path() == rescued
    assert feed.command_word("name") == str(rescued)
    feed.close()


def test_a_hostile_name_is_quoted_in_commands(story: Any, clock: Any) -> None:
    feed = Feed(story.begin().path, None, clock)
    assert feed.command_word("a b") == "'a b'"
    assert feed.command_word("n\x1b]0;x\x07") == r"$'n\x1b]0;x\x07'"
    feed.close()
