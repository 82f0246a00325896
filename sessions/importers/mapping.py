"""Application of a map to a file: its cases, and the facts and caveats about the file as a whole."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.case_values import BELOW_RESOLUTION, CaseValues
from benchtui.sessions.importers.file_map import FileMap, Row, lacking, rows_of, scalars, with_ranges
from benchtui.sessions.importers.imported import Imported, Measurement, loops_note
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
    rows = [row for row in rows_of(source, file_map) if not lacking(row, file_map)]
    kept = [row for row in rows if _is_kept(row, file_map)]
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
    host, runtime = _host(facts, file_map.package or file_map.tool), _runtime(facts)
    return Imported(
        kind=file_map.tool,
        model=models[0] if len(models) == 1 else f"{len(models)} models" if models else UNKNOWN,
        task=TASK_ALIASES.get(task or "", task or UNKNOWN),
        dataset=facts.common("dataset", everywhere=True) or UNKNOWN,
        warmup=int(facts.common("warmup_steps") or 0),
        host=host,
        runtime=runtime,
        measured=min(facts.all_of("measured"), default=None),
        measurements=measurements,
        grid=file_map.grid and not any(row.config.label for row in measurements),
        notes=(
            *filter(None, (with_ranges(note, kept) for note in file_map.notes)),
            *_left_out(file_map, [row for row in rows if row.place not in summaries], kept),
            *(
                f"left out {name}: it summarizes other rows"
                for name in map(reader.place, summaries[:MOST_NAMED])
            ),
            *loops_note(int(n) for values in cases if (n := values.loops)),
            *_rates_only(cases),
            *_shared(reader),
            *_without_length(file_map, measurements),
            *facts.differing(),
            *_counted(reader.remarks),
            *_ignored(_unread(kept, file_map, reader)),
        ),
    )


class _Facts:
    """Facts about the file as a whole, which every row may state."""

    def __init__(self, cases: Sequence[CaseValues]) -> None:
        self._cases = cases
        self._differing: dict[str, str] = {}
        """Note on each fact on which rows don't agree, by its name."""

    def all_of(self, name: str) -> list[str]:
        """Return the distinct values of a quantity, in the order of the file."""
        return list(dict.fromkeys(text for values in self._cases if (text := values.word(name))))

    def common(self, name: str, *, everywhere: bool = False) -> str | None:
        """Return the value on which all rows that state one agree, or all rows; None if there is none."""
        texts = self.all_of(name)
        if everywhere and texts and not all(values.word(name) for values in self._cases):
            texts.append("")
        if len(texts) > 1:
            self._differing[name] = f"{name} differs between rows: not recorded"
        return texts[0] if len(texts) == 1 else None

    def gpus(self) -> tuple[str, ...]:
        """Return the names of the GPUs."""
        return tuple(name.strip() for name in (self.common("gpu") or "").split(",") if name.strip())

    def packages(self) -> dict[str, str | None]:
        """Return the versions of packages that the first row states."""
        return dict(self._cases[0].packages) if self._cases else {}

    def differing(self) -> Iterator[str]:
        """Yield a note for each requested fact that differs between rows."""
        yield from self._differing.values()


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
        if named := ", ".join(visible(text, LONGEST_VALUE) for text in sorted(others)):
            raise BenchtuiError(f"{path}: no measurement: its {column} is {named}, not {wanted}")
    if all(BELOW_RESOLUTION in row.marks for row in measurements):
        raise BenchtuiError(f"{path}: all latencies are 0: its measurements failed")
    if all(row.outcome == "failed" and not row.failed_in_source for row in measurements):
        raise BenchtuiError(f"{path}: no row has a step time or a rate: {measurements[0].failure}")


def _is_kept(row: Row, file_map: FileMap) -> bool:
    return all(row.get(column) in (None, wanted) for column, wanted in file_map.keep.items())


def _summarizes(row: Row) -> bool:
    """Return whether the first cell of a row says that it is the mean or sum of others."""
    return _SUMMARIES.fullmatch(str(next((cell for cell in row.levels[0].values() if cell), ""))) is not None


def _left_out(file_map: FileMap, rows: Sequence[Row], kept: Sequence[Row]) -> Iterator[str]:
    places = {row.place for row in kept}
    dropped = [row for row in rows if row.place not in places]
    if dropped:
        texts = dict.fromkeys(str(row.get(column)) for row in dropped for column in file_map.keep)
        noun = "row" if len(dropped) == 1 else "rows"
        columns, wanted = ", ".join(file_map.keep), ", ".join(file_map.keep.values())
        named = ", ".join(visible(text, LONGEST_VALUE) for text in texts)
        yield f"left out {len(dropped):,} {noun} whose {columns} isn't {wanted}: {named}"


def _shared(reader: Reader) -> Iterator[str]:
    options = [f"{name}={visible(text, LONGEST_VALUE)}" for name, text in reader.shared_options.items()]
    if options:
        yield f"options shared by all rows: {', '.join(options)}"


def _without_length(file_map: FileMap, measurements: Sequence[Measurement]) -> Iterator[str]:
    if file_map.grid and any(row.config.label for row in measurements):
        yield "rows without a sequence length aren't part of a series of batch sizes"


def _rates_only(cases: Sequence[CaseValues]) -> Iterator[str]:
    if any(values.time_of_one_ms is not None and not values.whole("batch_size") for values in cases):
        yield "only rates are stated: a step is the mean time of one sample or token"


def _counted(remarks: Sequence[str]) -> Iterator[str]:
    yield from remarks[:MOST_NAMED]
    if (more := len(remarks) - MOST_NAMED) > 0:
        yield f"{more:,} more {'cell' if more == 1 else 'cells'} imported as unknown"


def _unread(rows: Sequence[Row], file_map: FileMap, reader: Reader) -> Iterator[str]:
    """Yield the columns that nothing reads: of rows, and of the objects around them."""
    outermost = file_map.rows.partition(".")[0].strip("?=")
    inside = f"{file_map.rows}." if outermost == file_map.rows.partition(".")[0] != "*" else ""
    inside = inside.lstrip(".")
    prefixes = tuple(prefix for by in file_map.split.values() for prefix in by)
    seen: dict[str, bool] = {}
    for row in rows:
        innermost, outermost_of_several = row.levels[0], row.levels[1:][-1:]
        for level, cells in enumerate((innermost, *outermost_of_several)):
            for path in scalars(cells, ""):
                bare = next((path.removeprefix(one) for one in prefixes if path.startswith(one)), path)
                shown = path if level else f"{inside}{path}"
                if level and (outermost == "*" or f"{path}.".startswith(f"{outermost}.")):
                    continue
                if shown not in seen:
                    seen[shown] = reader.reads(bare) or _is_around(bare, file_map)
    yield from (path for path, is_read in seen.items() if not is_read)


def _ignored(columns: Iterable[str]) -> Iterator[str]:
    """Yield a note that lists ignored columns."""
    names = [visible(column, LONGEST_VALUE) for column in columns]
    if names:
        more = [f"{len(names) - MOST_IGNORED:,} more"] if len(names) > MOST_IGNORED else []
        yield f"ignored fields: {', '.join([*names[:MOST_IGNORED], *more])}"


def _is_around(path: str, file_map: FileMap) -> bool:
    """Return whether columns inside a value are read, or all of it can't be."""
    columns = (alternative for column in file_map.columns for alternative in column.split("|"))
    return any(column.startswith((f"{path}.", f"^{path}.")) for column in columns) or any(
        fnmatchcase(path, pattern) for pattern in file_map.columns if "*" in pattern
    )


def _host(facts: _Facts, package: str) -> Host:
    """Return the machine, with the measured software and its commit as packages."""
    commit = facts.common("commit")
    versions = facts.packages() | {package: facts.common("version")}
    versions["commit"] = _commit(facts, commit) if commit else None
    return Host(
        hostname=facts.common("host"),
        platform=facts.common("platform"),
        processor=(facts.common("processor") or "").strip() or None,
        python=facts.common("python"),
        cpu_count=_whole(facts.common("cpu_count")),
        memory_mb=_number(facts.common("host_memory")),
        gpus=tuple(
            Gpu(index=index, name=name, memory_mb=_number(facts.common("gpu_memory")))
            for index, name in enumerate(facts.gpus())
        ),
        packages={name: version for name, version in versions.items() if version},
    )


def _commit(facts: _Facts, commit: str) -> str | None:
    if commit in _NO_COMMIT:
        return None
    branch = facts.common("commit_branch") or ""
    on = f" of {visible(branch, LONGEST_VALUE)}" if branch and not branch.startswith("(") else ""
    changed = ", with uncommitted changes" if facts.common("commit_dirty") == "true" else ""
    return f"{visible(commit, LONGEST_VALUE)}{on}{changed}"


def _runtime(facts: _Facts) -> Runtime | None:
    torch = facts.common("torch")
    if not torch:
        return None
    return Runtime(
        t=0.0,
        torch=torch,
        cuda=facts.common("cuda"),
        cudnn=_whole(facts.common("cudnn")),
        cuda_devices=facts.gpus(),
    )


def _whole(text: str | None) -> int | None:
    number = _number(text)
    return int(number) if number else None


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None
