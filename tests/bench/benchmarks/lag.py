"""How late the event loop of an app is, told in a file from within: a line each half second, in ms."""

import asyncio
import os
import time
from pathlib import Path

FILE = "BENCHTUI_BENCHMARK_LAG"
"""Names the file; without it nothing is told."""
BETWEEN_S = 0.005
SPAN_S = 0.5


async def write_lag() -> None:
    """Write down by how much the loop was late at most, span by span, until the app ends."""
    if FILE not in os.environ:
        return
    with Path(os.environ[FILE]).open("a") as file:
        while True:
            print(f"{1000 * await _latest_s():.1f}", file=file, flush=True)


async def _latest_s() -> float:
    latest_s, end = 0.0, time.monotonic() + SPAN_S
    while (before := time.monotonic()) < end:
        await asyncio.sleep(BETWEEN_S)
        latest_s = max(latest_s, time.monotonic() - before - BETWEEN_S)
    return latest_s
