"""Start of an engine: other sweeps, permissions, errors, and the end of a follow-up."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import Consent, PermissionNeededError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.pages.follow_up import join_at_end
from benchtui.tui.pages.questions import OtherSweepScreen, PermissionScreen
from benchtui.tui.shell.context import AppContext
from benchtui.tui.shell.key_queue import HOLDS_KEYS
from benchtui.tui.shell.navigation import EngineRequested, Opened


async def start_engine(app: App[Any], context: AppContext, request: EngineRequested, symbols: Symbols) -> None:
    """Start an engine and show its session. Ask first about other sweeps, and about code and variables."""

    def proceed() -> None:
        app.run_worker(start_engine(app, context, request, symbols), name=HOLDS_KEYS)

    try:
        others = [] if request.wait is not None else await asyncio.to_thread(context.engines)
        if others:
            names = [context.name_of(other.path) for other in others]
            page = OtherSweepScreen(names, context.engines, symbols)
            app.push_screen(page, partial(_waits, request, proceed))
            return
        engine = await asyncio.to_thread(request.start, context, request.consent, bool(request.wait))
    except PermissionNeededError as error:
        question = PermissionScreen(request.name, error.permissions, symbols)
        app.push_screen(question, partial(_allows, request, proceed, error.consent))
    except BenchtuiError as error:
        request.refused(clean(str(error)))
    else:
        request.started()
        app.post_message(Opened(engine.path, engine))
        if request.into:
            app.run_worker(_join(app, engine, request.into))


def _waits(request: EngineRequested, proceed: Callable[[], None], answer: bool | None) -> None:
    """Continue with the answer to whether the sweep waits, if there is one."""
    if answer is None:
        request.refused("")
    else:
        request.wait = answer
        proceed()


def _allows(request: EngineRequested, proceed: Callable[[], None], consent: Consent, yes: bool | None) -> None:
    """Continue with the user's consent, if it was given."""
    if yes:
        request.consent |= consent
        proceed()
    else:
        request.refused("not started: its code or variables aren't allowed")


async def _join(app: App[Any], engine: Engine, into: Path) -> None:
    """Append a follow-up to its session once it has ended, and show that session instead."""
    try:
        joined = await join_at_end(engine, into)
    except BenchtuiError as error:
        app.notify(clean(f"{error}; both: benchtui optimal {into} {engine.path}"), markup=False)
        return
    if joined:
        app.post_message(Opened(into, None, instead_of=engine.path))
