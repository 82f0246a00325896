"""Quantities that a map may name, with their units, and the reading of cells."""

import re
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Outcome
from benchtui.sessions.files.bounded_toml import parse_toml
from benchtui.sessions.sanitize import quoted

MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6}
MB = {"b": 1e-6, "kb": 1e-3, "mb": 1.0, "gb": 1e3, "kib": 2**10 / 1e6, "mib": 2**20 / 1e6, "gib": 2**30 / 1e6}
DATA = Path(__file__).parent
NAMES: dict[str, dict[str, Any]] = parse_toml((DATA / "names.toml").read_text("utf-8"))
"""Names of columns and units, and words in cells."""
_NAMES_OF_UNITS = {name: unit for unit, names in NAMES["units"].items() for name in names}
UNIT_NAMES = tuple(sorted({*MS, *MB, *_NAMES_OF_UNITS} - {"min", "h"}, key=len, reverse=True))
"""Units at the end of a column's name, where ``min`` is the minimum."""
LARGEST = 1e15
"""Largest figure; anything larger isn't a result."""
TIMES = (
    *("step", "steps", "warmup", "total", "first_token", "per_token", "request", "user", "system"),
    *("compile_call", "prefill", "decode", "decode_per_token"),
)
SIZES = ("peak_rss", "peak_allocated", "peak_reserved", "peak_device", "host_memory", "gpu_memory")
RATES = ("samples_per_s", "tokens_per_s", "padded_tokens_per_s", "new_tokens_per_s")
FIGURES = (
    *(*RATES, "power_w", "energy_j"),
    *("gpu_utilization_percent", "n", "loops", "divide_steps_by", "samples", "tokens", "completed", "failed"),
    *("requests", "step_std_percent", "step_std_share", "batches_samples_per_s", "decode_tokens_per_s"),
    *("energy_per_step_kwh", "steps_per_s"),
)
WHOLE = ("batch_size", "sequence_length", "new_tokens", "threads")
OPTIONS = (
    *("model", "device", "precision", "mixed_precision", "quantization", "attention", "compile", "padding"),
    *("cache", "optimizer", *WHOLE),
)
WORDS = (
    *("name", "group", "option", "round", "status", "reason", "skipped", "exit_codes", "unit"),
    *("task", "dataset", "warmup_steps", "marks", "measured", "commit", "commit_dirty", "commit_branch"),
    *("host", "platform", "processor", "cpu_count", "gpu", "python", "torch", "cuda", "cudnn", "version"),
    *("architecture", "layers", "heads", "hidden_size", "parameters_of_model", "weights", "failure"),
    *("labeled", "prefix", "package", "ignored"),
)
LISTS = ("steps", "warmup", "prefill", "decode", "decode_per_token", "exit_codes", "marks")
STATISTICS = ("mean", "median", "std", "p90", "p95", "p99")
YES, SUCCESSES, EMPTY = (frozenset(NAMES["cells"][name]) for name in ("yes", "success", "empty"))
"""Cells that say yes, success, and nothing, in lower case."""
_UNITS = {
    **dict.fromkeys(TIMES, MS),
    **dict.fromkeys(SIZES, MB),
    "energy_j": {"mj": 1e-3, "j": 1.0, "kj": 1e3, "wh": 3.6e3, "kwh": 3.6e6},
    "power_w": {"mw": 1e-3, "w": 1.0, "kw": 1e3},
}
_PREFIXES = {"k": 1e3, "m": 1e6}
"""Of rates and counts, such as 1.2k tokens/s."""
_PER = {"ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60}
"""Of rates that aren't per second, such as ops/ms."""
_TARGET = re.compile(
    rf"(?P<stem>{'|'.join((*TIMES, *SIZES))})(?:_(?P<statistic>{'|'.join(STATISTICS)}|min(?=_)|max))?"
    rf"(?:_(?P<unit>{'|'.join((*MS, *MB))}))?"
)
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_DURATION = re.compile(r"(?:(\d+)\s?h)?\s?(?:(\d+)\s?m(?:in)?\s?(?=\d))(\d+(?:\.\d+)?)\s?s")
"""Time such as 1m03s."""
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(?:(?:,\d{3})+\.\d|(?:,\d{3}){2,}(?![\d,]))")
"""Number whose commas can only group thousands; one comma alone may be a decimal one."""
_UNIT_TEXT = r"(?:[^\W\d]|[%/])\S*(?:\s[^\W\d]\S*)?"
_CELL = re.compile(
    rf"[~≈$]?\s*(?P<value>[-+]?{_NUMBER})\s*(?P<unit>{_UNIT_TEXT})?"
    rf"(?:\s*(?:±|\+/-|\+-)\s*(?P<std>{_NUMBER})\s*(?P<of_std>{_UNIT_TEXT})?)?\s*(?:\(.*\)|\[.*\]|[*†‡✓✔]*)"
)
"""Number with a unit, a deviation with one, and a remark in parentheses or brackets."""


class Target(msgspec.Struct, frozen=True):
    """Quantity of a case, or a fact about the file, that a column is mapped to."""

    name: str
    statistic: str = "mean"
    unit: str | None = None
    """Unit of the column: of time or size. None for other quantities, or if a cell or the map states it."""

    @property
    def key(self) -> str:
        """Name of its value: with the statistic if it has several."""
        several = self.name in ("step", "first_token", "per_token", "request")
        return f"{self.name}_{self.statistic}" if several else self.name

    @property
    def is_figure(self) -> bool:
        """Whether it is a number, rather than a text."""
        return self.name in (*TIMES, *SIZES, *FIGURES)


def target(text: str, where: str) -> Target:
    """Parse the name of a quantity, such as ``step_p99_ms``. Raises BenchtuiError for an unknown one."""
    if text in (*FIGURES, *OPTIONS, *WORDS):
        return Target(text)
    match = _TARGET.fullmatch(text)
    unit = match["unit"] if match else None
    if match is None or (unit and unit not in (MB if match["stem"] in SIZES else MS)):
        raise BenchtuiError(
            f"{where}: {quoted(text)} isn't a quantity; known are step_ms (or _s, _us, _ns; also step_median_ms"
            f", step_p99_ms, steps_ms for a list), {', '.join(f'{name}_ms' for name in TIMES[4:7])},"
            f" {', '.join(f'{name}_mb' for name in SIZES[:4])}, {', '.join((*FIGURES, *OPTIONS))},"
            " name, group, option, round, status, reason, ignored"
        )
    if match["stem"] in TIMES and match["statistic"] in ("min", "max"):  # which no session has
        return Target("ignored")
    return Target(match["stem"], match["statistic"] or "mean", unit)


def is_empty(cell: object) -> bool:
    """Return whether a cell states nothing."""
    return cell is None or cell in ([], {}) or (isinstance(cell, str) and cell.strip().lower() in EMPTY)


def figure(cell: object, of: Target, unit: str | None = None) -> list[float]:
    """Read a number in ms, MB or its own unit, and the deviation after ±, if there is one.

    ``unit`` is that of the map if neither the cell nor the target has one. Returns nothing for an empty cell.
    Raises ValueError if it is something else, negative or too large.
    """
    if is_empty(cell):
        return []
    text = str(cell).strip().replace("**", "")
    if of.name in TIMES and (duration := _DURATION.fullmatch(text)):
        hours, minutes, seconds = (float(part or 0) for part in duration.groups())
        return [1000 * (3600 * hours + 60 * minutes + seconds)]
    if _GROUPED.match(text):
        text = text.replace(",", "")
    match = _CELL.fullmatch(text) if not isinstance(cell, bool | dict) else None
    if match is None:
        raise ValueError("isn't a number")
    percent = match["of_std"] == "%"
    scale = _scale(of, match["unit"] or (None if percent else match["of_std"]), unit)
    numbers = [_scaled(text, scale) for text in (match["value"], match["std"]) if text]
    if percent:
        numbers[1] = numbers[0] * float(match["std"]) / 100
    if not all(isfinite(number) and number <= LARGEST for number in numbers):
        raise ValueError("isn't a plausible figure")
    if numbers[0] < 0:
        raise ValueError("is negative")
    return numbers


def _scaled(number: str | float, scale: float) -> float:
    """Return a number in another unit, without the error of a scale below 1, such as 1e-6."""
    return float(number) * scale if scale >= 1 else float(number) / round(1 / scale)


def _scale(of: Target, in_cell: str | None, default: str | None) -> float:
    scales = _UNITS.get(of.name)
    stated = canonical_unit(in_cell)
    if scales is None:
        _, slash, per = (in_cell or default or "").rpartition("/")
        prefix = _PREFIXES.get((stated or "").partition(" ")[0], 1.0)
        return prefix * (_PER.get(per.lower(), 1.0) if slash else 1.0)
    unit = stated or of.unit or canonical_unit(default if scales is MS else None)
    if unit and unit not in scales:
        raise ValueError(f"has the unit {unit}, which isn't one of {', '.join(scales)}")
    return scales[unit] if unit else 1.0


def canonical_unit(unit: str | None) -> str | None:
    """Return a unit by its symbol, such as ``us`` for microseconds, also per step or item."""
    lowered = re.split(r"\s*/|\s+per\s|\s", unit.strip("()[] .").lower())[0] if unit else None
    return _NAMES_OF_UNITS.get(lowered, lowered) if lowered else None


def moment(cell: object) -> str | None:
    """Return seconds since 1970, or ms, us or ns, as a date; None for other cells."""
    with suppress(ValueError):
        number = float(str(cell))
        since_s = (number / per_s for per_s in (1, 1e3, 1e6, 1e9) if 1e9 < number / per_s < 1e10)
        return next((datetime.fromtimestamp(s, UTC).isoformat(timespec="seconds") for s in since_s), None)
    return None


def failed_outcome(text: str) -> Outcome | None:
    """Return the outcome that a word in place of a figure states: oom, timeout, skipped or failed."""
    patterns = msgspec.convert(NAMES["outcomes"], dict[Outcome, str]).items()
    return next((outcome for outcome, pattern in patterns if re.search(pattern, text, re.IGNORECASE)), None)
