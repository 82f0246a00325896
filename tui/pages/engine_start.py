"""Engine of a continued session or a follow-up: other sweeps, permissions, errors, and the end."""

import asyncio
from pathlib import Path
from typing import Any

from textual.app import App

from benchtui.engine.client import Engine
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.permissions.needed import PermissionNeededError
from benchtui.themes.symbols import Symbols
from benchtui.tui.drawing.format import clean
from benchtui.tui.pages.follow_up import join_at_end
from benchtui.tui.pages.permission import PermissionScreen
from benchtui.tui.shell.context import ANOTHER_SWEEP_RUNNING, AppContext
from benchtui.tui.shell.navigation import EngineRequested, Opened


async def start_engine(app: App[Any], context: AppContext, request: EngineRequested, symbols: Symbols) -> None:
    """Start an engine and show its session. Ask first about code and variables.

    It isn't started while another sweep is running on this machine.
    """

    def answer(yes: bool | None) -> None:
        if yes:
            app.post_message(EngineRequested(request.start, needed, into=request.into, refused=request.refused))
        else:
            request.refused()

    try:
        if await asyncio.to_thread(context.running):
            raise BenchtuiError(f"{ANOTHER_SWEEP_RUNNING} Start this one once it has ended.")
        engine = await asyncio.to_thread(request.start, context, request.consent)
    except PermissionNeededError as error:
        needed = error.consent
        app.push_screen(PermissionScreen("this sweep", error.permissions, symbols), answer)
    except BenchtuiError as error:
        request.refused()
        app.notify(clean(str(error)), markup=False)
    else:
        app.post_message(Opened(engine.path, engine))
        if request.into:
            await _join(app, engine, request.into)


async def _join(app: App[Any], engine: Engine, into: Path) -> None:
    """Append a follow-up to its session once it has ended, and show that session instead."""
    try:
        joined = await join_at_end(engine, into)
    except BenchtuiError as error:
        app.notify(clean(f"{error}; both: benchtui optimal {into} {engine.path}"), markup=False)
        return
    if joined:
        app.post_message(Opened(into, None, instead_of=engine.path))
