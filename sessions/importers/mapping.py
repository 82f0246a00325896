"""Application of a map to a file: its cases, and the facts and caveats about the file as a whole."""

import re
from collections.abc import Iterator, Sequence

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.events import Runtime
from benchtui.sessions.importers.case_values import BELOW_RESOLUTION, CaseValues
from benchtui.sessions.importers.file_map import FileMap, Row, lacking, rows_of, scalars, with_ranges
from benchtui.sessions.importers.imported import MOST_NAMED, Imported, Measurement, counted, joint_model, named
from benchtui.sessions.importers.reading import Reader
from benchtui.sessions.importers.source import Source
from benchtui.sessions.payloads import Gpu, Host
from benchtui.sessions.sanitize import LONGEST_VALUE, visible
from benchtui.sessions.sweep import UNKNOWN
from benchtui.sessions.sweep.library_names import TASK_ALIASES

MOST_IGNORED = 60
"""Maximum number of ignored fields to list in a note."""
_SUMMARIES = re.compile(r"(?i)(grand |over)?(all|total|sum|mean|average|avg|median|geo.?mean)s?:?")
"""Name of a row that people add below a table."""
_FACTS = (
    *("task", "version", "commit", "commit_branch", "commit_dirty", "host", "platform", "processor", "python"),
    *("cpu_count", "host_memory", "gpu", "gpu_memory", "torch", "cuda", "cudnn", "dataset", "warmup_steps"),
)
"""Quantities that describe the file as a whole, which every row may state."""


def apply(source: Source, file_map: FileMap) -> Imported:
    """Return the cases of a file; a bad row is one with its outcome. Raises BenchtuiError if there is none."""
    every = rows_of(source, file_map)
    identified = [row for row in every if not lacking(row, file_map)]
    rows, left_out = _without_others(source, file_map, identified)
    if file_map.tool == "table":
        neither = " nor ".join(file_map.requires).replace("|", " nor ")
        others = [row.place for row in every if lacking(row, file_map)]
        left_out += [f"left out {place}: it has neither {neither}" for place in others[:MOST_NAMED]]
    reader = Reader(file_map, rows)
    cases = [values for row in rows for values in reader.cases(row)]
    _share_device(cases)
    models = _distinct(cases, "model")
    measurements = tuple(values.measurement(several_models=len(models) > 1) for values in cases)
    _require_some(source, file_map, identified, measurements)
    facts, differing = _facts(cases)
    task, torch, cuda, cudnn = facts.word("task"), facts.word("torch"), facts.word("cuda"), facts.whole("cudnn")
    gpus = tuple(filter(None, map(str.strip, (facts.word("gpu") or "").split(","))))
    return Imported(
        kind=file_map.tool,
        model=joint_model(models),
        task=TASK_ALIASES.get(task or "", task or UNKNOWN),
        dataset=facts.word("dataset") or UNKNOWN,
        warmup=facts.whole("warmup_steps") or 0,
        host=_host(facts, gpus, cases[0].packages, file_map.package or file_map.tool),
        runtime=Runtime(t=0.0, torch=torch, cuda=cuda, cudnn=cudnn, cuda_devices=gpus) if torch else None,
        measured=min(_distinct(cases, "measured"), default=None),
        measurements=measurements,
        grid=file_map.grid and not any(row.config.label for row in measurements),
        notes=(
            *filter(None, (with_ranges(note, rows) for note in file_map.notes)),
            *left_out,
            *_caveats(file_map, cases, measurements),
            *differing,
            *_cells(reader, [visible(name, LONGEST_VALUE) for name in _unread(rows, file_map, reader)]),
        ),
    )


def _without_others(source: Source, file_map: FileMap, rows: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """Return the rows of cases, without those that the map leaves out or that summarize others, and notes."""
    wanted = file_map.keep.items()
    kept, dropped, notes = list[Row](), list[Row](), list[str]()
    for row in rows:
        is_kept = all(row.get(column) in (None, text) for column, text in wanted)
        (kept if is_kept else dropped).append(row)
    if dropped:
        texts = dict.fromkeys(str(row.get(column)) for row in dropped for column in file_map.keep)
        columns, cells = ", ".join(file_map.keep), ", ".join(visible(text, LONGEST_VALUE) for text in texts)
        what = f"whose {columns} isn't {', '.join(file_map.keep.values())}: {cells}"
        notes.append(f"left out {counted(len(dropped), 'row')} {what}")
    firsts = [(row, str(next(filter(None, row.levels[0].values()), ""))) for row in kept[1:] if source.table]
    summaries = [row.place for row, first in firsts if _SUMMARIES.fullmatch(first)]
    notes += [f"left out {place}: it summarizes other rows" for place in summaries[:MOST_NAMED]]
    return [row for row in kept if row.place not in summaries], notes


def _distinct(cases: Sequence[CaseValues], name: str) -> list[str]:
    """Return the distinct values of a quantity, in the order of the file."""
    return list(dict.fromkeys(text for values in cases if (text := values.word(name))))


def _facts(cases: Sequence[CaseValues]) -> tuple[CaseValues, list[str]]:
    """Return the facts on which all rows that state one agree, and a note on each of the others.

    A dataset must be that of all rows.
    """
    facts, differing = CaseValues(""), []
    for name in _FACTS:
        texts = _distinct(cases, name)
        if len(texts) > 1 or (texts and name == "dataset" and not all(case.word(name) for case in cases)):
            differing.append(f"{name} differs between rows: not recorded")
        elif texts:
            facts.words[name] = texts[0]
    return facts, differing


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
    if all(BELOW_RESOLUTION in row.finished.marks for row in measurements):
        raise BenchtuiError(f"{path}: all latencies are 0: its measurements failed")
    if all(row.finished.outcome == "failed" and not row.failed_in_source for row in measurements):
        raise BenchtuiError(f"{path}: no row has a step time or a rate: {measurements[0].finished.reason}")


def _caveats(
    file_map: FileMap, cases: Sequence[CaseValues], measurements: Sequence[Measurement]
) -> Iterator[str]:
    """Yield notes on steps that are means, and on what a file doesn't state and figures depend on."""
    amounts = (of.figures.get("loops") or of.figures.get("divide_steps_by") for of in cases)
    loops = sorted({int(amount) for amount in amounts if amount})
    if loops and loops[-1] > 1:
        span = f"{loops[-1]:,}" if len(loops) == 1 else f"{loops[0]:,} to {loops[-1]:,}"
        yield f"a step is the mean of {span} runs of the benchmarked code; percentiles are of these means"
    if any(values.time_of_one_ms is not None and not values.whole("batch_size") for values in cases):
        yield "only rates are stated: a step is the mean time of one sample or token"
    every = (row.finished.reported for row in measurements)
    stated = [reported for reported in every if reported and reported.center_ms]
    if not all(reported.latency_mean_ms for reported in stated):
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
        yield f"{counted(more, 'more cell')} imported as unknown"
    if unread:
        yield f"ignored fields: {named(unread, MOST_IGNORED)}"


def _unread(rows: Sequence[Row], file_map: FileMap, reader: Reader) -> Iterator[str]:
    """Yield the columns that nothing reads: of rows, and of the objects around them."""
    outermost = file_map.rows.partition(".")[0].strip("?=")
    inside = "" if {*file_map.rows} & {*"*="} else f"{file_map.rows.strip('?')}."
    paths: dict[str, str] = {}
    for row in rows:
        before = inside if row.levels[1:] else ""
        paths |= {f"{before}{path}": path for path in scalars(row.levels[0], "")}
        around = (path for level in row.levels[1:][-1:] for path in scalars(level, "") if outermost != "*")
        paths |= {path: path for path in around if not f"{path}.".startswith(f"{outermost}.")}
    yield from (shown for shown, path in paths.items() if not reader.reads(path))


def _host(facts: CaseValues, gpus: Sequence[str], packages: dict[str, str], package: str) -> Host:
    """Return the machine, with the measured software and its commit as packages."""
    versions = {**packages, package: facts.word("version"), "commit": _commit(facts)}
    memory_mb = facts.number("gpu_memory")
    return Host(
        hostname=facts.word("host"),
        platform=facts.word("platform"),
        processor=(facts.word("processor") or "").strip() or None,
        python=facts.word("python"),
        cpu_count=int(facts.number("cpu_count") or 0) or None,
        memory_mb=facts.number("host_memory"),
        gpus=tuple(Gpu(index=index, name=name, memory_mb=memory_mb) for index, name in enumerate(gpus)),
        packages={name: version for name, version in versions.items() if version},
    )


def _commit(facts: CaseValues) -> str | None:
    commit, branch = facts.word("commit"), facts.word("commit_branch") or ""
    if commit in (None, "unversioned", "unknown"):
        return None
    on = f" of {visible(branch, LONGEST_VALUE)}" if branch and not branch.startswith("(") else ""
    changed = ", with uncommitted changes" if facts.word("commit_dirty") == "true" else ""
    return f"{visible(commit, LONGEST_VALUE)}{on}{changed}"
