"""A sweep as the text of a TOML file, which reads back as the same sweep."""

import json
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Axes, Config, Generate, Measure, Run, Sweep, Train

Entries = Mapping[str, object]


def toml(sweep: Sweep) -> str:
    """The sweep's entries; of ``run``, ``train`` and ``generate`` only where they aren't at their defaults."""
    top = {name: getattr(sweep, name) for name in ("name", "model", "weights", "task", "dataset")}
    tables: dict[str, Entries] = {
        "axes": _axes(sweep.axes),
        "measure": _measure(sweep.measure),
        "run": structs.asdict(sweep.run) if sweep.run != Run() else {},
        "train": structs.asdict(sweep.train) if sweep.train != Train() else {},
        "generate": structs.asdict(sweep.generate) if sweep.generate != Generate() else {},
        "env": sweep.env,
    }
    blocks = (f"\n[{title}]\n{''.join(_lines(table))}" for title, table in tables.items() if table)
    return "".join((*_lines(top), *blocks))


def narrowed(sweep: Sweep, config: Config) -> Sweep:
    """The sweep with this one configuration in place of its axes, without a baseline to compare it with.

    Raises:
        BenchtuiError: for a case of another tool, whose options aren't all known.
    """
    if config.label:
        raise BenchtuiError(f"{config.name}: a case of another tool, which benchtui can't run")
    axes = msgspec.convert({axis: (getattr(config, axis),) for axis in _SINGLE}, Axes)
    measure = structs.replace(sweep.measure, baseline=None, aa=False)
    return structs.replace(sweep, name=f"{sweep.name}-optimal", axes=axes, measure=measure)


_SINGLE = tuple(name for name in Axes.__struct_fields__ if name != "batch_size_auto")


def _axes(axes: Axes) -> Entries:
    entries = {name: list(getattr(axes, name)) for name in _SINGLE}
    return entries | ({"batch_size": "auto"} if axes.batch_size_auto else {})


def _measure(measure: Measure) -> Entries:
    """The rules under the names that a file has for them; what is null is left out."""
    baseline = structs.asdict(measure.baseline) if measure.baseline else {}
    entries = {
        "warmup": "auto" if measure.warmup_auto else measure.warmup,
        "iterations": measure.iterations,
        "until": "auto" if measure.until_auto else measure.until_percent,
        "max_time": measure.max_time_s,
        "timeout": measure.timeout_s,
        "mode": measure.mode,
        "rounds": measure.rounds,
        "aa": measure.aa,
        "retries": measure.retries,
        "caches": measure.caches,
        "baseline": {name: value for name, value in baseline.items() if value is not None} or None,
    }
    return {name: value for name, value in entries.items() if value is not None}


def _lines(entries: Entries) -> Iterator[str]:
    return (f"{name} = {_value(value)}\n" for name, value in entries.items())


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value)
        case Mapping():
            return f"{{ {', '.join(f'{name} = {_value(each)}' for name, each in value.items())} }}"
        case list() if len(value) == 1:
            return _value(value[0])
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case _:
            return repr(value)


def _quoted(text: str) -> str:
    """A basic string of TOML, which is one of JSON but for the delete character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
