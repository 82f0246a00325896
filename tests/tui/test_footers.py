"""Each key that a footer shows does something visible, or says why not, in every state of a page."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from benchtui.themes.symbols import UNICODE
from benchtui.tui.replay.player import ReplayTarget, Start
from benchtui.tui.widgets.key_bar import KeyBar

NAMES = {UNICODE.arrows: "down", "esc": "escape"}
"""Keys of a footer that Textual calls otherwise."""


LAST = tuple(["help", leave] for leave in ("quit", "back", "leave"))
"""Last two entries of every footer."""


class State(NamedTuple):
    """A state of a page in which other keys have an effect than usual."""

    name: str
    record: Callable[[Any], Any] | None = None
    """Writes the session; None if none is open."""
    keys: tuple[str, ...] = ()
    """Keys that lead to the state."""
    place: str = "home"
    start: Start | None = None


def ended(story: Any) -> Any:
    return story.begin(rounds=3).case(0, 10.0, rounds=3).case(1, 11.0, rounds=3).case(2, 12.0, rounds=3).end()


AT_END = Start(target=ReplayTarget(percent=100))
STATES = (
    State("the end", ended),
    State(
        "nothing measured", lambda s: s.begin().finish(0, "failed", reason="no such model").end("interrupted")
    ),
    State("end of a replay", ended, start=AT_END),
    State("end of a simulated replay", lambda s: s.begin(simulated="computed").case(0).end(), start=AT_END),
    State("one axis", ended, ("3",)),
    State("Pareto front", ended, ("3", "p")),
    State("report", ended, ("v",)),
    State("why without a profile", lambda s: s.begin(simulated="computed").case(0).end(), ("W",)),
    State("case", ended, ("enter",)),
    State("empty home"),
    State("empty library", place="library"),
    State("empty comparison", place="compare"),
    State("no session", place="charts"),
    State("editor", place="sweep"),
)
IN_CI = ("the end", "why without a profile")
"""States that are tried before each change; the others take several times as long."""


@pytest.mark.parametrize(
    "state",
    [
        pytest.param(each, marks=[] if each.name in IN_CI else [pytest.mark.long], id=each.name)
        for each in STATES
    ],
)
async def test_every_key_of_the_footer_has_an_effect(
    state: State, make_story: Any, opened: Any, app_context: Any, tmp_path: Any
) -> None:
    path = None
    if state.record:
        story = make_story(tmp_path / "ended.json")
        state.record(story)
        story.close()
        path = story.path
    keys = await _footer(opened, path, state)
    assert keys, "no footer"
    dead = [entry for entry in keys if not await _acts(opened, path, state, entry)]
    assert not dead, f"without effect: {dead} of {keys}"


async def _footer(opened: Any, path: Any, state: State) -> list[str]:
    async with opened(path, place=state.place, start=state.start) as seen:
        await seen.settle(*state.keys)
        keys = seen.app.screen.query_one(KeyBar).shown[0]
        assert [does for _, does in keys[-2:]] in LAST
        return [key for key, _ in keys]


async def _acts(opened: Any, path: Any, state: State, entry: str) -> bool:
    """Return whether one of the keys of an entry, such as ``n N``, has an effect."""
    names = [NAMES[entry]] if entry in NAMES else [NAMES.get(key, key) for key in entry.split(" ")]
    for name in names:
        async with opened(path, place=state.place, start=state.start) as seen:
            await seen.settle(*state.keys)
            before = _facts(seen.app)
            await seen.settle(name)
            if _facts(seen.app) != before:
                return True
    return False


def _facts(app: Any) -> tuple[object, ...]:
    """Everything that a user could notice."""
    picture = [[*strip] for strip in app.screen._compositor.render_strips()]
    notified = [notification.message for notification in app._notifications]
    return picture, notified, app.clipboard, app.current_mode, len(app.screen_stack), app.return_value
