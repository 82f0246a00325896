"""Application of a map to a file: its cases, and the facts and caveats about the file as a whole."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.case_values import BELOW_RESOLUTION, CaseValues
from benchtui.sessions.importers.file_map import FileMap, Row, lacking, rows_of, scalars, with_ranges
from benchtui.sessions.importers.imported import Imported, Measurement, loops_note, named
from benchtui.sessions.importers.quantities import LARGEST
from benchtui.sessions.importers.reading import Reader
from benchtui.sessions.importers.source import Source
from benchtui.sessions.payloads import Gpu, Host
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.sweep.library_names import TASK_ALIASES

MOST_NAMED = 3
MOST_IGNORED = 60
"""Maximum number of ignored fields to list in a note."""
_SUMMARIES = re.compile(r"(?i)(grand |over)?(all|total|sum|mean|average|avg|median|geo.?mean)s?:?")
"""Name of a row that people add below a table."""
_NO_COMMIT = ("unversioned", "unknown")


def apply(source: Source, file_map: FileMap) -> Imported:
    """Return the cases of a file; a bad row is one with its outcome. Raises BenchtuiError if there is none."""
    every = rows_of(source, file_map)
    rows = [row for row in every if not lacking(row, file_map)]
    others = [row.place for row in every if lacking(row, file_map)] if file_map.tool == "table" else []
    columns = " nor ".join(file_map.requires).replace("|", " nor ")
    wanted = file_map.keep.items()
    kept = [row for row in rows if all(row.get(column) in (None, text) for column, text in wanted)]
    summaries = [row.place for row in kept[1:] if source.table and _summarizes(row)]
    kept = [row for row in kept if row.place not in summaries]
    reader = Reader(file_map, kept, str(source.path))
    cases = [values for row in kept for values in reader.cases(row)]
    _share_device(cases)
    facts = _Facts(cases)
    models = facts.all_of("model")
    measurements = tuple(values.measurement(several_models=len(models) > 1) for values in cases)
    _require_some(source, file_map, rows, measurements)
    task = facts.common("task")
    host = _host(facts, cases[0].packages, file_map.package or file_map.tool)
    torch, cuda, cudnn = facts.common("torch"), facts.common("cuda"), facts.whole("cudnn")
    runtime = Runtime(t=0.0, torch=torch, cuda=cuda, cudnn=cudnn, cuda_devices=facts.gpus()) if torch else None
    return Imported(
        kind=file_map.tool,
        model=models[0] if len(models) == 1 else f"{len(models)} models" if models else UNKNOWN,
        task=TASK_ALIASES.get(task or "", task or UNKNOWN),
        dataset=facts.common("dataset", everywhere=True) or UNKNOWN,
        warmup=facts.whole("warmup_steps") or 0,
        host=host,
        runtime=runtime,
        measured=min(facts.all_of("measured"), default=None),
        measurements=measurements,
        grid=file_map.grid and not any(row.config.label for row in measurements),
        notes=(
            *filter(None, (with_ranges(note, kept) for note in file_map.notes)),
            *_left_out(file_map, [row for row in rows if row.place not in summaries], kept),
            *(f"left out {reader.place(one)}: it summarizes other rows" for one in summaries[:MOST_NAMED]),
            *(f"left out {reader.place(one)}: it has neither {columns}" for one in others[:MOST_NAMED]),
            *loops_note(int(n) for values in cases if (n := values.loops)),
            *_unknown(file_map, cases, measurements),
            *facts.differing.values(),
            *_cells(reader, [visible(name, LONGEST_VALUE) for name in _unread(kept, file_map, reader)]),
        ),
    )


class _Facts:
    """Facts about the file as a whole, which every row may state."""

    def __init__(self, cases: Sequence[CaseValues]) -> None:
        self._cases = cases
        self.differing: dict[str, str] = {}
        """Note on each requested fact that differs between rows."""

    def all_of(self, name: str) -> list[str]:
        """Return the distinct values of a quantity, in the order of the file."""
        return list(dict.fromkeys(text for values in self._cases if (text := values.word(name))))

    def common(self, name: str, *, everywhere: bool = False) -> str | None:
        """Return the value on which all rows that state one agree, or all rows; None if there is none."""
        texts = self.all_of(name)
        if everywhere and texts and not all(values.word(name) for values in self._cases):
            texts.append("")
        if len(texts) > 1:
            self.differing[name] = f"{name} differs between rows: not recorded"
        return texts[0] if len(texts) == 1 else None

    def number(self, name: str) -> float | None:
        """Return a number on which all rows that state one agree; None if it isn't one."""
        try:
            number = float(self.common(name) or "")
        except ValueError:
            return None
        return number if abs(number) <= LARGEST else None

    def whole(self, name: str) -> int | None:
        """Return a whole number on which all rows that state one agree."""
        return int(self.number(name) or 0) or None

    def gpus(self) -> tuple[str, ...]:
        """Return the names of the GPUs."""
        return tuple(name.strip() for name in (self.common("gpu") or "").split(",") if name.strip())


def _share_device(cases: Sequence[CaseValues]) -> None:
    """Set the device of cases without figures, which may not state it, to the one of all others."""
    devices = {values.word("device") for values in cases if not values.outcome}
    device = devices.pop() if len(devices) == 1 else None
    for values in cases:
        if device and values.outcome:
            values.words.setdefault("device", device)


def _require_some(
    source: Source, file_map: FileMap, rows: Sequence[Row], measurements: Sequence[Measurement]
) -> None:
    path = source.path
    if not rows:
        raise BenchtuiError(f"{path}: no rows with {', '.join(file_map.requires or file_map.columns)}")
    for column, wanted in file_map.keep.items() if not measurements else ():
        others = {str(row.get(column)) for row in rows} - {wanted, "None"}
        if units := ", ".join(visible(text, LONGEST_VALUE) for text in sorted(others)):
            raise BenchtuiError(f"{path}: no measurement: its {column} is {units}, not {wanted}")
    if all(BELOW_RESOLUTION in row.marks for row in measurements):
        raise BenchtuiError(f"{path}: all latencies are 0: its measurements failed")
    if all(row.outcome == "failed" and not row.failed_in_source for row in measurements):
        raise BenchtuiError(f"{path}: no row has a step time or a rate: {measurements[0].failure}")


def _summarizes(row: Row) -> bool:
    return _SUMMARIES.fullmatch(str(next((cell for cell in row.levels[0].values() if cell), ""))) is not None


def _left_out(file_map: FileMap, rows: Sequence[Row], kept: Sequence[Row]) -> Iterator[str]:
    places = {row.place for row in kept}
    dropped = [row for row in rows if row.place not in places]
    if dropped:
        texts = dict.fromkeys(str(row.get(column)) for row in dropped for column in file_map.keep)
        noun = "row" if len(dropped) == 1 else "rows"
        columns, wanted = ", ".join(file_map.keep), ", ".join(file_map.keep.values())
        cells = ", ".join(visible(text, LONGEST_VALUE) for text in texts)
        yield f"left out {len(dropped):,} {noun} whose {columns} isn't {wanted}: {cells}"


def _unknown(
    file_map: FileMap, cases: Sequence[CaseValues], measurements: Sequence[Measurement]
) -> Iterator[str]:
    """Yield notes on what a file doesn't state and figures depend on."""
    if any(values.time_of_one_ms is not None and not values.whole("batch_size") for values in cases):
        yield "only rates are stated: a step is the mean time of one sample or token"
    if any(
        row.reported and row.reported.center_ms and not row.reported.latency_mean_ms for row in measurements
    ):
        yield "only medians of steps are stated: means are unknown, and computed rates are of the median"
    if file_map.grid and any(row.config.label for row in measurements):
        yield "rows without a sequence length aren't part of a series of batch sizes"


def _cells(reader: Reader, unread: Sequence[str]) -> Iterator[str]:
    """Yield notes on options that all rows share, cells that say nothing, and columns that nothing reads."""
    options = [f"{name}={visible(text, LONGEST_VALUE)}" for name, text in reader.shared_options.items()]
    if options:
        yield f"options shared by all rows: {', '.join(options)}"
    yield from reader.remarks[:MOST_NAMED]
    if (more := len(reader.remarks) - MOST_NAMED) > 0:
        yield f"{more:,} more {'cell' if more == 1 else 'cells'} imported as unknown"
    if unread:
        yield f"ignored fields: {named(unread, MOST_IGNORED)}"


def _unread(rows: Sequence[Row], file_map: FileMap, reader: Reader) -> Iterator[str]:
    """Yield the columns that nothing reads: of rows, and of the objects around them."""
    outermost = file_map.rows.partition(".")[0].strip("?=")
    inside = "" if {*file_map.rows} & {*"*="} else f"{file_map.rows.strip('?')}."
    seen: dict[str, bool] = {}
    for row in rows:
        innermost, outermost_of_several = row.levels[0], row.levels[1:][-1:]
        for level, cells in enumerate((innermost, *outermost_of_several)):
            for path in scalars(cells, ""):
                shown = path if level or len(row.levels) == 1 else f"{inside}{path}"
                if level and (outermost == "*" or f"{path}.".startswith(f"{outermost}.")):
                    continue
                if shown not in seen:
                    seen[shown] = reader.reads(path) or _is_around(path, file_map)
    yield from (path for path, is_read in seen.items() if not is_read)


def _is_around(path: str, file_map: FileMap) -> bool:
    """Return whether columns inside a value are read, or all of it can't be."""
    columns = (alternative for column in file_map.columns for alternative in column.split("|"))
    return any(column.startswith((f"{path}.", f"^{path}.")) for column in columns) or any(
        fnmatchcase(path, pattern) for pattern in file_map.columns if "*" in pattern
    )


def _host(facts: _Facts, packages: dict[str, str], package: str) -> Host:
    """Return the machine, with the measured software and its commit as packages."""
    versions = {**packages, package: facts.common("version"), "commit": _commit(facts)}
    return Host(
        hostname=facts.common("host"),
        platform=facts.common("platform"),
        processor=(facts.common("processor") or "").strip() or None,
        python=facts.common("python"),
        cpu_count=facts.whole("cpu_count"),
        memory_mb=facts.number("host_memory"),
        gpus=tuple(
            Gpu(index=index, name=name, memory_mb=facts.number("gpu_memory"))
            for index, name in enumerate(facts.gpus())
        ),
        packages={name: version for name, version in versions.items() if version},
    )


def _commit(facts: _Facts) -> str | None:
    commit = facts.common("commit")
    if not commit or commit in _NO_COMMIT:
        return None
    branch = facts.common("commit_branch") or ""
    on = f" of {visible(branch, LONGEST_VALUE)}" if branch and not branch.startswith("(") else ""
    changed = ", with uncommitted changes" if facts.common("commit_dirty") == "true" else ""
    return f"{visible(commit, LONGEST_VALUE)}{on}{changed}"
