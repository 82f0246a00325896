"""Follow-ups of a session that is over: their rounds are appended to it, and it is shown again."""

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchtui.engine.client import Engine
from benchtui.sessions.state.session import Session
from benchtui.sessions.sweep import Sweep
from benchtui.tui.monitor.screen import Monitor


class EndedEngine(Engine):
    """An engine that has written its session and is gone."""

    def alive(self) -> bool:
        return False


class FollowUps:
    """Starts follow-ups, each of which has been measured at once."""

    def __init__(self, make_story: Any, path: Path, **case: Any) -> None:
        self.sweeps: list[Sweep] = []
        self._make_story, self._path, self._case = make_story, path, case

    def start(self, sweep: Sweep, _consent: object, _wait: bool) -> Engine:
        self.sweeps.append(sweep)
        story = self._make_story(self._path).begin(batch_sizes=(1, 2), **self._case)
        story.case(0, 10.0).case(1, 19.0).end().close()
        return EndedEngine("story", self._path, 1)


def shown(seen: Any) -> Path:
    assert isinstance(seen.app.screen, Monitor)
    return seen.app.screen.feed.path


async def test_what_is_measured_further_is_appended_and_shown(
    story: Any, make_story: Any, opened: Any, app_context: Any, tmp_path: Path
) -> None:
    other = tmp_path / "next.json"
    follow_ups = FollowUps(make_story, other)
    story.begin(batch_sizes=(1, 2)).case(0, 10.0).case(1, 19.0).end()
    async with opened(story.path, app_context=replace(app_context, start=follow_ups.start)) as seen:
        await seen.settle()
        await seen.settle("M")
        assert follow_ups.sweeps[0].measure.rounds == 4  # five in all
        assert [len(case.ends) for case in Session.load(story.path).cases] == [2, 2]
        assert not other.exists()
        assert shown(seen) == story.path


async def test_follow_up_that_cannot_join_stays_a_session_of_its_own(
    story: Any, make_story: Any, opened: Any, app_context: Any, tmp_path: Path
) -> None:
    other = tmp_path / "next.json"
    follow_ups = FollowUps(make_story, other, gpus=2)
    story.begin(batch_sizes=(1, 2)).case(0, 10.0).case(1, 19.0).end()
    async with opened(story.path, app_context=replace(app_context, start=follow_ups.start)) as seen:
        await seen.settle()
        await seen.settle("M")
        assert len(Session.load(story.path).cases[0].ends) == 1
        assert shown(seen) == other
        (told,) = seen.app._notifications
        assert "can't be joined: the machine or its software has changed" in told.message
        assert told.message.endswith(f"both: benchtui optimal {story.path} {other}")
