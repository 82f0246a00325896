"""Requests to the engine: what each calls, and in what words it is refused."""

from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.live.feed import Feed
from benchtui.tui.monitor.requests import EngineRequests


@pytest.fixture
def made(story: Any, engine: Any, clock: Any) -> Any:
    story.begin(batch_sizes=(1, 2, 4, 8)).case(0).start(1)
    feed = Feed(story.path, engine, clock)
    feed.poll()
    yield EngineRequests(feed), feed.session.cases
    feed.close()


def test_each_request_reaches_the_engine(made: Any, engine: Any) -> None:
    requests, cases = made
    for request in (
        requests.pause(),
        requests.skip(None),
        requests.skip(cases[1]),
        requests.rerun(cases[0]),
        requests.drop(cases[2]),
        requests.move(cases[3], -1),
        requests.move(cases[2], 1),
        requests.add("batch_size=64 precision=fp16", cases[0].config),
        requests.stop(),
    ):
        request.call()
    assert engine.told == [
        "pause",
        "skip 1",
        "skip 1",
        "again 0",
        "drop [2]",
        "order [3, 2]",
        "order [3, 2]",
        "add cuda:0 fp16 compile=off bs=64 seq=128",
        "stop",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("batch_size", "options are written as option=value; options: machine, device"),
        ("colour=red", "'colour=red': options are written"),
        ("batch_size=many", "batch_size: 'many' is not a whole number"),
        ("precision=fp17", "precision: 'fp17' is not known"),
        ("device=cpu precision=tf32", "on cpu it would measure fp32 again"),
        ("device=5", "device: 5"),
    ],
)
def test_a_case_that_cannot_be_added_is_told_in_one_line(made: Any, words: str, told: str) -> None:
    requests, cases = made
    with pytest.raises(BenchtuiError) as error:
        requests.add(words, cases[0].config)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_the_wrong_case_is_refused_in_words(made: Any) -> None:
    requests, cases = made
    for attempt in (
        lambda: requests.rerun(cases[1]),
        lambda: requests.drop(cases[0]),
        lambda: requests.drop(None),
    ):
        with pytest.raises(BenchtuiError, match="choose a case that"):
            attempt()


def test_without_an_engine_every_request_says_so(story: Any, clock: Any) -> None:
    story.begin().case(0)
    feed = Feed(story.path, None, clock)
    feed.poll()
    with pytest.raises(BenchtuiError, match="no engine is running"):
        EngineRequests(feed).pause()
    feed.close()
