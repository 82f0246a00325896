"""Import of our own exports: results as CSV, JSON, JSON lines, Parquet or frame, and steps.

A row of results comes back as it is: options, figures, marks and outcome. Only comparisons are recomputed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isclose, log
from statistics import fmean
from typing import Any, TypeVar, get_args

import msgspec
from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import CaseFinished, CasePrepared, Outcome, Runtime, Steps
from benchtui.sessions.importers.imported import LONGEST_LABEL, OF_CASE, Imported, Measurement, joint_model
from benchtui.sessions.importers.source import Source
from benchtui.sessions.payloads import Gpu, Host, Memory, Model, Reported, ReportedTimes
from benchtui.sessions.sanitize import shortened
from benchtui.sessions.sweep import SERVE, UNKNOWN, Config
from benchtui.sessions.sweep.options import BY_NAME, IN_NAMES

TOOL = "benchtui-export"
_OF_RESULTS = frozenset(("latency_mean_ms", "outcome", "samples_per_s", "name", "marks"))
_OF_STEPS = frozenset(("case", "round", "phase", "step", "wall_ms"))
_LIVE = ("case", "number", "name", "again", "outcome", "marks", "baseline", "speedup", "verdict")
"""Beginnings of the columns that, like options, follow from the session itself."""
_STATISTICS = {"mean": "mean", "median": "p50", "std": "std", "p90": "p90", "p95": "p95", "p99": "p99"}
_TIMES = {"first_token": "time_to_first_token", "per_token": "time_per_output_token", "request": "request"}
"""Times of requests, with the beginning of their columns."""
_LISTS = ("marks", "rounds_p50_ms")
_NESTED = ("parts_ms", "outlier_steps")
_UNLABELED = "tokenizer_threads"
"""Option that only cases without a label state."""
_DISTURBED = "outside"
"""Doubt of a verdict whose rounds were disturbed: they decide nothing here, either."""
_STEP_COLUMNS = ("device_ms", "host_ms", "loss", "tokens", "padded_tokens")
_PART = re.compile(r"part_(.+)_ms")

T = TypeVar("T")
Cells = Mapping[str, Any]


def is_export(source: Source) -> bool:
    """Return whether a file is an export of results or of steps."""
    return any(row.keys() >= columns for row in _rows(source)[:1] for columns in (_OF_RESULTS, _OF_STEPS))


def read(source: Source) -> Imported:
    """Return the cases of an export. Raises BenchtuiError naming the cell that its column can't have."""
    rows = _rows(source)
    try:
        if rows[0].keys() >= _OF_RESULTS:
            return _results(rows, source.first)
        return Imported(kind=TOOL, measurements=tuple(_steps(rows)))
    except (msgspec.ValidationError, LookupError, ValueError, TypeError) as error:
        raise BenchtuiError(f"{source.path}: a damaged export: {shortened(str(error))}") from error


def _rows(source: Source) -> list[Cells]:
    """Return the rows of a table, or of a document that ``export --format json`` writes."""
    listed = source.first.get("cases", source.first.get("steps"))
    rows = listed if isinstance(listed, list) else [record.value for record in source.records]
    return [{name: _cell(name, cell) for name, cell in row.items()} for row in rows if isinstance(row, dict)]


def _cell(name: str, cell: object) -> object:
    """Return a cell without the apostrophe that keeps spreadsheets from evaluating it."""
    if not isinstance(cell, str):
        return cell
    if cell == "" and name in _LISTS:
        return None
    text = cell.removeprefix("'") if cell.startswith(("'=", "'+", "'-", "'@")) else cell
    return text.split("; ") if name in _LISTS else text


def _results(rows: Sequence[Cells], document: Cells) -> Imported:
    session = document.get("session")
    facts: Cells = session if isinstance(session, dict) else {}
    models = list(dict.fromkeys(str(row["model"]) for row in rows if row.get("model")))
    names = ("platform", "processor", "cpu_count", "memory_mb", "driver", "python")
    host = {"hostname": facts.get("host"), **{name: facts.get(name) for name in names}}
    gpus = [Gpu(index=index, name=str(name)) for index, name in enumerate(facts.get("gpus") or ())]
    packages = {name: version for name in ("transformers",) if (version := facts.get(name))}
    return Imported(
        kind=TOOL,
        model=facts.get("model") or joint_model(models),
        task=facts.get("task") or UNKNOWN,
        dataset=facts.get("dataset") or UNKNOWN,
        measured=facts.get("created"),
        host=msgspec.convert(host | {"gpus": gpus, "packages": packages}, Host),
        runtime=Runtime(t=0.0, torch=facts["torch"], cuda=facts.get("cuda")) if facts.get("torch") else None,
        measurements=tuple(map(_measurement, rows)),
        baselines=frozenset(int(row["baseline"]) for row in rows if row.get("baseline") is not None),
    )


def _measurement(row: Cells) -> Measurement:
    outcome: Outcome = row["outcome"] if row["outcome"] in get_args(Outcome) else "interrupted"
    return Measurement(
        config=_config(row),
        prepared=CasePrepared(
            **OF_CASE,
            model=Model(name=UNKNOWN),
            samples_per_step=msgspec.convert(row.get("samples_per_step"), int | None, strict=False),
            task=SERVE.name if row.get("sample") == SERVE.one_sample else None,
            new_tokens=msgspec.convert(row.get("new_tokens"), int | None, strict=False) or None,
        ),
        finished=CaseFinished(
            **OF_CASE,
            outcome=outcome,
            reason=None if outcome == "ok" else row.get("reason") or f"{row['outcome']} when it was exported",
            memory=_record(row, Memory),
            marks=tuple(row["marks"] or ()),
            reported=_reported(row),
            exported={
                name: tuple(_floats(cell)) if name == "rounds_p50_ms" and cell else cell
                for name, cell in row.items()
                if not name.startswith(_LIVE) and name not in (*_NESTED, *Config.__struct_fields__)
            },
        ),
        failed_in_source=True,
    )


def _reported(row: Cells) -> Reported | None:
    latency = {f"latency_{name}": cell for name, cell in _statistics(row, "latency").items()}
    times = {name: _record(_statistics(row, column), ReportedTimes) for name, column in _TIMES.items()}
    rounds = {"steps": row.get("n"), "repeats_mean_ms": _rounds(row)}
    return _record({**row, **latency, **times, **rounds}, Reported)


def _statistics(row: Cells, column: str) -> Cells:
    return {f"{name}_ms": row.get(f"{column}_{ending}_ms") for name, ending in _STATISTICS.items()}


def _rounds(row: Cells) -> list[float]:
    """Return the medians of the rounds; the typical step if some of them don't count or were disturbed."""
    medians = _floats(row.get("rounds_p50_ms") or ())
    typical = _floats(filter(None, [row.get("latency_typical_ms")]))
    every = row.get("verdict_doubt") != _DISTURBED and 0 not in medians
    whole = every and medians and typical and isclose(fmean(map(log, medians)), log(typical[0]), abs_tol=1e-9)
    return medians if whole else typical if medians else []


def _record(cells: Cells, record: type[T]) -> T | None:
    """Return the record that these cells fill; None if none of its fields is known."""
    names = record.__struct_fields__  # type: ignore[attr-defined]
    stated = {name: cells[name] for name in names if cells.get(name) not in (None, [])}
    return msgspec.convert(stated, record, strict=False) if stated else None


def _config(row: Cells) -> Config:
    """Return the options, with the name that the row has: the options make it, or it is a label."""
    name = str(row["name"])
    stated = {option: row[option] for option in Config.__struct_fields__ if row.get(option) is not None}
    again = int(str(row.get("again")).lower() == "true")
    options = {"device": UNKNOWN, "sequence_length": 0, **stated, "repeat": again}
    config = msgspec.convert(options, Config, strict=False)
    shown = name.split()
    unset = (option for option in IN_NAMES if f"{BY_NAME[option].prefix}{getattr(config, option)}" not in shown)
    for same in (config, replace(config, unset=tuple(unset))):
        if same.name == name and _UNLABELED in stated:
            return same
    label = name.removeprefix(f"{config.device} ").removesuffix(f" {config.parameters}")
    unknown = {option: UNKNOWN for option in ("compile", "padding") if option not in stated}
    return replace(config, label=label[:LONGEST_LABEL], **unknown)


def _steps(rows: Sequence[Cells]) -> Iterator[Measurement]:
    """Yield a measurement for each round of each case, with the steps that the rows are."""
    rounds: dict[tuple[int, int], dict[str, list[Cells]]] = {}
    for row in rows:
        phases = rounds.setdefault((int(row["case"]), int(row["round"])), {"warmup": [], "measure": []})
        phases[row["phase"]].append(row)
    for (case, number), phases in rounds.items():
        first = next(row for of_phase in phases.values() for row in of_phase)
        yield Measurement(
            config=Config(device=UNKNOWN, label=str(first.get("case_name") or f"case {case}")[:LONGEST_LABEL]),
            prepared=CasePrepared(**OF_CASE, model=Model(name=UNKNOWN), samples_per_step=0),
            steps=tuple(_columns(phase, steps) for phase, steps in phases.items() if steps),
            finished=CaseFinished(
                **OF_CASE, outcome="ok", marks=(str(first["simulated"]),) if first.get("simulated") else ()
            ),
            round=str(number),
        )


def _columns(phase: str, rows: Sequence[Cells]) -> Steps:
    """Return the steps of a phase; those of a warm-up are times alone."""
    columns = {name: [row.get(name) for row in rows] for name in _STEP_COLUMNS if phase == "measure"}
    parts = [_parts(row) for row in rows if phase == "measure"]
    names = dict.fromkeys(name for of_step in parts for name in of_step)
    stated = {
        "wall_ms": [row["wall_ms"] for row in rows],
        "parts_ms": {name: [of_step[name] for of_step in parts] for name in names},
        **{name: cells for name, cells in columns.items() if None not in cells},
    }
    return msgspec.convert({**OF_CASE, "event": "steps", "phase": phase, **stated}, Steps, strict=False)


def _parts(row: Cells) -> dict[str, object]:
    nested = row.get("parts_ms")
    stated = ((_PART.fullmatch(name), cell) for name, cell in row.items() if cell is not None)
    return nested if isinstance(nested, dict) else {match[1]: cell for match, cell in stated if match}


def _floats(cells: Iterable[object]) -> list[float]:
    return msgspec.convert(list(cells), list[float], strict=False)
