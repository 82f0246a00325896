"""Engine requests: the call of each, and its error if it isn't possible."""

from typing import Any

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.live.feed import Feed
from benchtui.tui.monitor.requests import EngineRequests


@pytest.fixture
def requests_and_cases(story: Any, engine: Any, clock: Any) -> Any:
    story.begin(batch_sizes=(1, 2, 4, 8)).case(0).start(1)
    feed = Feed(story.path, engine, clock)
    feed.poll()
    yield EngineRequests(feed), feed.session.cases
    feed.close()


def test_each_request_reaches_the_engine(requests_and_cases: Any, engine: Any) -> None:
    requests, cases = requests_and_cases
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
    assert engine.commands == [
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
        ("batch_size", "use option=value, where option is one of machine, model, device"),
        ("colour=red", "'colour=red': use option=value"),
        ("batch_size=many", "batch_size: 'many' is not a whole number"),
        ("precision=fp17", "precision: 'fp17' is not recognized"),
        ("device=cpu precision=tf32", "on cpu it would measure fp32 again"),
        ("device=tpu", "device: 'tpu' is not a device"),
    ],
)
def test_an_invalid_case_is_rejected_with_one_line(requests_and_cases: Any, words: str, told: str) -> None:
    requests, cases = requests_and_cases
    with pytest.raises(BenchtuiError) as error:
        requests.add(words, cases[0].config)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_a_request_about_the_wrong_case_is_rejected(requests_and_cases: Any) -> None:
    requests, cases = requests_and_cases
    for attempt in (
        lambda: requests.rerun(cases[1]),
        lambda: requests.drop(cases[0]),
        lambda: requests.drop(None),
    ):
        with pytest.raises(BenchtuiError, match="select a case that"):
            attempt()


def test_a_refused_skip_cannot_be_undone(requests_and_cases: Any, engine: Any) -> None:
    requests, cases = requests_and_cases
    requests.drop(cases[2]).call()
    engine.error = "case 2 has ended"
    with pytest.raises(BenchtuiError, match="has ended"):
        requests.skip(cases[1]).call()
    assert requests.undo().message == "putting case 3 back into the queue"
    with pytest.raises(BenchtuiError, match="nothing to undo"):
        requests.undo()


def test_measured_case_can_be_rerun_and_dropped_between_further_rounds(
    story: Any, engine: Any, clock: Any
) -> None:
    story.begin(batch_sizes=(1, 2), auto=True).round(0).round(1).plan_rounds(0).start(0, round_index=1)
    feed = Feed(story.path, engine, clock)
    feed.poll()
    requests, cases = EngineRequests(feed), feed.session.cases
    requests.rerun(cases[1]).call()
    requests.drop(cases[1]).call()
    assert engine.commands == ["again 1", "drop [1]"]
    with pytest.raises(BenchtuiError, match="select a case that is still queued"):
        requests.move(cases[1], -1)
    feed.close()


def test_requests_without_an_engine_raise(story: Any, clock: Any) -> None:
    story.begin().case(0)
    feed = Feed(story.path, None, clock)
    feed.poll()
    with pytest.raises(BenchtuiError, match="no engine is running"):
        EngineRequests(feed).pause()
    feed.close()
