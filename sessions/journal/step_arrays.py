"""Decoder of long ``steps`` lines: simdjson fills arrays without a Python object per number."""

from __future__ import annotations  # array[float] can't be evaluated before Python 3.12

from array import array
from typing import Any

import msgspec
import numpy as np
import simdjson

from benchtui.sessions.events import Steps
from benchtui.sessions.payloads import MOST

MOST_BITS = int(np.float64(MOST).view(np.uint64))
_parser = simdjson.Parser()
_REFUSED = (msgspec.MsgspecError, ValueError, TypeError, KeyError, AttributeError, RuntimeError)
"""RuntimeError: another thread is using the parser."""


def decode_steps(line: bytes) -> Steps | None:
    """Decode a ``steps`` line; None if it isn't in the engine's layout, so that msgspec must decode it."""
    try:
        steps = _steps(_parser.parse(line))
    except _REFUSED:
        return None
    columns = (steps.wall_ms, steps.device_ms, steps.host_ms, steps.tokens, steps.padded_tokens, steps.loss)
    lists = len(steps.parts_ms) + sum(column is not None for column in columns)
    # simdjson flattens nested lists
    return steps if np.count_nonzero(np.frombuffer(line, np.uint8) == ord("[")) == lists else None


def _steps(line: Any) -> Steps:  # noqa: ANN401  (simdjson has no types)
    parts, loss = line["parts_ms"], line["loss"]
    host_ms = line.get("host_ms")  # lines of older versions lack it
    head = {name: line[name] for name in ("event", "t", "case", "phase", "round")}
    head["loss"] = None if loss is None else loss.as_list()
    columns: dict[str, Any] = {
        "wall_ms": _times(line["wall_ms"]),
        "device_ms": None if line["device_ms"] is None else _times(line["device_ms"]),
        "host_ms": None if host_ms is None else _times(host_ms),
        "parts_ms": {part: _times(parts[part]) for part in parts.keys()},  # noqa: SIM118  (items() builds lists)
        "tokens": _counts(line["tokens"]),
        "padded_tokens": _counts(line["padded_tokens"]),
    }
    return msgspec.structs.replace(msgspec.convert({**head, "wall_ms": []}, Steps), **columns)


def _times(numbers: Any) -> array[float]:  # noqa: ANN401
    times = array("d")
    times.frombytes(numbers.as_buffer(of_type="d"))
    # as unsigned integers, the bits of floats sort in the same order, with negative floats above all others
    _require(np.frombuffer(times, np.uint64).max(initial=0) <= MOST_BITS)
    return times


def _counts(numbers: Any) -> array[int] | None:  # noqa: ANN401
    """Return counts as an array of the narrowest type that fits."""
    if numbers is None:
        return None
    counts = np.frombuffer(numbers.as_buffer(of_type="u"), np.uint64)
    most = counts.max(initial=0)
    _require(most <= MOST)
    column = array("H" if most < 2**16 else "I" if most < 2**32 else "Q")
    column.frombytes(counts.astype(column.typecode).tobytes())
    return column


def _require(in_range: bool) -> None:
    if not in_range:
        raise ValueError("out of range")
