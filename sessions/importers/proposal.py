"""Proposed map of a table: quantities and units by the names of its columns, as the field writes them."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import filter as filter_by
from fnmatch import fnmatchcase
from itertools import islice

import msgspec
from msgspec import structs

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.importers import quantities
from benchtui.sessions.importers.file_map import FileMap, Row, rows_of, scalars
from benchtui.sessions.importers.quantities import MB, MS, OPTIONS, RATES, SIZES, UNIT_NAMES, is_empty, target
from benchtui.sessions.importers.source import Source
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, shell_word, visible
from benchtui.sessions.sweep.library_names import ALIASES
from benchtui.sessions.sweep.options import BACKENDS, PRECISIONS

MOST_COLUMNS = 1_000
"""Maximum number of columns to look at for a proposal."""
_WORDS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in quantities.NAMES["words"].items()}
_OF_CASES = ("batch_size", "model", "device", "precision", "sequence_length")
"""Quantities that, like a name, tell cases apart, and that an object may state for all cases in its list."""
_LETTER = re.compile(r"(?![eE][-+]?\d)[^\W\d_]")
"""Letter of a unit, rather than the one before an exponent."""
_NUMBER = re.compile(r"[-+~≈$]?\.?\d")
_OPTION_VALUES = (*PRECISIONS, *ALIASES["precision"], *BACKENDS)
_YEARS_MS = 1e11
"""Time in milliseconds that isn't one of a step, but a moment since 1970."""
_RESULTS = ("step", "total", *RATES, "steps_per_s", "status", "reason", "skipped", "failed", "exit_codes")
"""Beginnings of the quantities of which a case has one; a record without any is something else."""
_WITH_STATISTICS = ("step", "first_token", "per_token", "request")
_UNIT = re.compile(
    rf"(?:[\s_(\[<./-]|^)({'|'.join(UNIT_NAMES)})"
    r"(?:\s*(?:/|per)\s*(?:step|iter|it|iteration|batch|token|tok|run|call|inference|forward|query|epoch))?[)\]>]?\s*$",
    re.IGNORECASE,
)
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001ffff\ufe0f]")
"""Arrows and pictures in names of columns."""
_UNIT_INSIDE = re.compile(rf"\s*[(\[](?:{'|'.join(UNIT_NAMES)})[)\]]\s*(?=\S)")
"""Unit in parentheses before the statistic, such as ``latency (ms) p50``."""
_TIME_IN = re.compile(r"\(time in (\w+)\)")
"""Unit of all times of a table, in the name of its first column."""
_UNIT_COLUMN = re.compile(r"(?i)(.*[._ ])?units?")


def propose(source: Source) -> FileMap | None:
    """Propose a map; None if no column is a step time or a rate of cases.

    Cases may be records, items of a list in the only one, columns for the values of an option, or, in a table with
    a quantity in each row, the whole file. Raises BenchtuiError if nothing states a unit, and for files without
    cases that a name is known for.
    """
    for identifying, cause in quantities.NAMES["refused"].items():
        if all(column in source.first for column in identifying.split(" + ")):
            raise BenchtuiError(f"{source.path}: {cause}")
    for shape in _shapes(source):
        rows = rows_of(source.beginning, shape)[:100]
        columns = _proposed(rows, named=shape.rows.endswith("*"))
        if columns is not None:
            if time_in := next(filter(None, map(_TIME_IN.search, columns)), None):
                shape = structs.replace(shape, unit=time_in[1])
            elif "unit" not in columns.values():
                _require_units(source, columns, rows)
            if shape.rows.endswith("*") and "name" not in columns.values():
                columns["*"] = "name"
            steps = {column: re.sub(r"^step(?!s)", "steps", str(name)) for column, name in columns.items()}
            if shape.gather:
                return structs.replace(shape, columns=steps)
            results = [name for name, of in columns.items() if of.startswith(_RESULTS)]
            requires = ("|".join(results),) if results and len(rows) > 1 else ()
            return structs.replace(shape, columns=columns, requires=requires)
    for pattern, (option, _) in _numbered(source.first).items():
        wide = filter_by(source.first, pattern)
        raise BenchtuiError(
            f"{source.path}: the columns {', '.join(wide[:3])} … are values of an option, and nothing says what their"
            f" cells are: say it with --map, such as --map '{pattern}={option}:step_ms'"
        )
    return None


def why_not(source: Source) -> str | None:
    """Return why no column of a table is the time of cases, and what to do, if some are named like one."""
    names = list(islice(source.first, MOST_COLUMNS))
    times = [name for name in names if _is_speed(name)]
    for name in names:
        as_ms = re.sub(r"(?i)[\W_]min\b", "_ms", name)
        if as_ms != name and _quantity(as_ms) == "step_ms" and _quantity(as_ms[:-3].strip("_ ")) != "step_ms":
            minutes = shell_word(f"{name}=step_min")
            return f"{quoted(name)} may be minutes or the minimum: for minutes, say --map {minutes}"
    for name in times:
        if all(is_empty(record.value.get(name)) for record in source.beginning.records):
            return f"{quoted(name)} has no number: all its cells are empty, NaN, infinite or unknown"
    if len(times) > 1 and all(map(_is_part, times)):
        example = shell_word(f"{times[0]}=step_ms")
        return (
            f"{' and '.join(map(quoted, times[:2]))} are parts of a step, and no column is the whole one: say which"
            f" to compare, such as --map {example}"
        )
    if times and len(source.records) > 1:
        why = f"no column tells the rows with {quoted(times[0])} apart: add one with the names of cases"
        steps = [f"{name}=steps_ms" for name in times if (_quantity(name) or "").startswith("step_")]
        return f"{why}; if they are steps of one case, say --map {shell_word(steps[0])}" if steps else why
    return None


def _is_part(column: str) -> bool:
    return _WORDS["part"].search(_words(column)) is not None


def _words(column: str) -> str:
    return re.sub(r"[_.]", " ", column)


def _numbered(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the option, or ``round``, and the end of columns that differ in their number, by their pattern."""
    matches = [
        match for name in names if (match := _WORDS["numbered"].fullmatch(name)) and (match[1] or not match[2])
    ]
    patterns = [f"{match[1]}[0-9]*{match[2].replace('[', '[[]')}" for match in matches]
    return {
        pattern: (_quantity(match[1].strip(" =_#-")) or "batch_size", match[2])
        for pattern, match in zip(patterns, matches, strict=True)
        if patterns.count(pattern) > 1
    }


def _shapes(source: Source) -> Iterator[FileMap]:
    """Yield where the cases of a file may be."""
    value = source.first
    objects = ((f"{name}=.*", item) for name, item in value.items() if "." not in name)
    for rows, named in (("*", value), *objects) if len(source.records) == 1 else ():
        items = list(named.values()) if isinstance(named, dict) else []
        keys = [set(item) for item in items if isinstance(item, dict)]
        if len(keys) == len(items) > 1 and set.intersection(*keys):
            yield FileMap(columns={}, rows=rows)
    yield FileMap(columns={})
    lists = (name for name, items in value.items() if isinstance(items, list) and "." not in name)
    yield from (FileMap(columns={}, rows=name) for name in lists)
    for name, inner in value.items():
        nested = inner if isinstance(inner, dict) and "." not in name else {}
        in_nested = (key for key in nested if isinstance(nested[key], list))
        yield from (FileMap(columns={}, rows=f"{name}=.{key}") for key in in_nested)
    if len(source.records) == 1:
        return
    if sum(not _WORDS["counter"].fullmatch(name) for name in value) == 1:
        yield FileMap(columns={}, gather=True)
    elif source.table and len(value) > 1 and _WORDS["value"].fullmatch(list(value)[1]):
        column = next(iter(value))
        if len({str(record.value.get(column)) for record in source.records}) == len(source.records):
            yield FileMap(columns={}, transpose=column)  # a name that comes again is another table's
    elif source.table and _WORDS["metric"].fullmatch(next(iter(value), "")):
        yield FileMap(columns={}, transpose=next(iter(value)), rows="*")


def _proposed(rows: Sequence[Row], *, named: bool) -> dict[str, str] | None:
    """Return the quantities of columns; None without a step time or a rate, or without any option or name.

    ``named`` says that something else than a column names the rows.
    """
    names = dict.fromkeys(path for row in rows for path in scalars(row.levels[0], ""))
    outer = dict.fromkeys(path for row in rows for level in row.levels[1:] for path in scalars(level, ""))
    patterns = _wide(rows, names)
    wide = {name for name in names for pattern in patterns if fnmatchcase(name, pattern)}
    by_column = {
        column: name
        for column in islice((name for name in (*names, *outer) if len(name) <= LONGEST_VALUE), MOST_COLUMNS)
        if (name := None if column in wide else _quantity(column))
        and (column in names or name in (*_OF_CASES, "measured", "option"))
        and _fits(name, [row.get(column) for row in rows])
    }
    by_column = _without_other_times(by_column)
    columns: dict[str, str] = {}
    for column in sorted(by_column, key=lambda column: _WORDS["micro_batch"].search(column) is not None):
        name, key = by_column[column], target(by_column[column], "").key
        first = next((other for other, taken in columns.items() if target(taken, "").key == key), None)
        if key == "step_mean" and any(isinstance(row.get(column), list) for row in rows):
            name = name.replace("step", "steps", 1)
        if first is None or name == "option" or _is_alternative(first, column):
            columns[column] = name
    cells = {name: {str(row.get(name)) for row in rows} for name in names if _UNIT_COLUMN.fullmatch(name)}
    unit_of = quantities.canonical_unit
    units = [name for name, texts in cells.items() if all(unit_of(text) in MS for text in texts)]
    columns |= {name: "unit" for name in units[:1]}
    if units and "name" in columns.values() and not any(of.startswith("step") for of in columns.values()):
        values = (name for name in names if name not in columns and _WORDS["value"].fullmatch(name))
        columns |= {name: "step" for name in islice(values, 1)}
    columns |= _options(rows, [name for name in names if name not in wide], columns)
    columns |= patterns
    results = [name.rpartition(":")[2] for name in columns.values()]
    if not any(name.startswith(("step", "total")) or name.endswith("per_s") for name in results):
        return None
    are_named = named or {of.partition(":")[0] for of in columns.values()} & {"name", *_OF_CASES}
    if len(rows) > 1 and not are_named:
        free = (name for name in names if columns.get(name, "option") == "option")
        texts = ((name, [str(row.get(name)) for row in rows]) for name in free)
        distinct = (name for name, of in texts if len({*of}) == len(of) and not any(map(_NUMBER.match, of)))
        columns |= {name: "name" for name in islice(distinct, 1)}
        return columns if "name" in columns.values() or "option" in columns.values() else None
    return columns


def _without_other_times(by_column: dict[str, str]) -> dict[str, str]:
    """Return the quantities without times of parts of a step, or of more than one, next to the time of a step.

    In a table that counts requests, other times than that of the run are those of requests. A total is divided by
    the number of its runs, if that is known and the total isn't that of parts.
    """
    serving = any(name in ("requests", "completed") or name.startswith("first") for name in by_column.values())
    named = {
        column: name if not serving or _WORDS["of_run"].search(column) else name.replace("step", "request", 1)
        for column, name in by_column.items()
    }
    means = [column for column, name in named.items() if target(name, "").key == "step_mean"]
    parts = [column for column in means if _is_part(column)]
    if len(means) > 1 and parts:
        means = [column for column in means if column not in parts]
        named = {name: of for name, of in named.items() if not (of.startswith("step") and _is_part(name))}
    best = min(means, key=lambda column: _rank(column, named[column]), default="")
    if _WORDS["sum"].search(best) and "n" in named.values() and not parts:
        named[best] = named[best].replace("step", "total", 1)
    others = {column for column in means if column != best and not _is_alternative(best, column)}
    return {column: name for column, name in named.items() if column not in others}


def _rank(column: str, name: str) -> tuple[bool, bool, bool]:
    """Rank a column of times by whether it is that of a run, has no unit, and isn't named a mean."""
    of_run, of_mean = (_WORDS[kind].search(_words(column)) is not None for kind in ("of_run", "mean"))
    return of_run, not target(name, "").unit, not of_mean


def _fits(name: str, cells: Sequence[object]) -> bool:
    """Return whether a column has a number or an outcome where its quantity is one."""
    items = [str(item) for cell in cells for item in (cell if isinstance(cell, list) else [cell])]
    of = target(name, "")
    if name in ("reason", "status"):  # not the error of a figure, nor a count of successes
        return not any(map(_NUMBER.match, {*items} - {"0", "1"}))
    if of.name in _WITH_STATISTICS and of.statistic not in ("mean", "median") and not of.unit:
        return any(_NUMBER.match(item) and _LETTER.search(item) for item in items)
    numbers = [item for item in items if _NUMBER.match(item)]
    with suppress(ValueError):
        if of.name == "step" and of.unit and all(float(item) * MS[of.unit] > _YEARS_MS for item in numbers):
            return False
    is_flag = name == "failed" and {*map(str.lower, items)} <= {"true", "false"}
    return bool(numbers) or is_flag or not (of.is_figure or of.name in quantities.WHOLE)


def _is_alternative(column: str, other: str) -> bool:
    """Return whether two columns have the same quantity of two options, such as ``fp16 (ms)`` and ``int8 (ms)``."""
    words, others = (re.findall(r"[^\W_]+", name.lower()) for name in (column, other))
    differing = [{word, instead} for word, instead in zip(words, others, strict=False) if word != instead]
    if len(words) != len(others) or len(differing) != 1:
        return False
    return all(word in _OPTION_VALUES or _WORDS["alternative"].fullmatch(word) for word in differing[0])


def _options(rows: Sequence[Row], names: Iterable[str], columns: dict[str, str]) -> dict[str, str]:
    """Return the columns without a quantity that tell cases apart.

    These are texts that differ, and whole numbers that differ between rows of one case. Such a number may be a
    result, but rows that differ in a setting, such as ``num_beams``, aren't repeats.
    """
    of_case = [column for column, of in columns.items() if of in (*OPTIONS, "name", "option")]
    options: dict[str, str] = {}
    for name in (name for name in names if name not in columns):
        cells = [row.get(name) for row in rows]
        texts = {cell for cell in cells if isinstance(cell, str)}
        cases = {(str(row.get(name)), *(str(row.get(column)) for column in of_case)) for row in rows}
        if len(texts) > 1 and not any(map(_NUMBER.match, texts)):
            options[name] = "option"
        elif all(str(cell).isdecimal() for cell in cells) and len(cases) > len({case[1:] for case in cases}):
            is_result = _WORDS["other_statistic"].search(name.replace("_", " ")) or _is_speed(name)
            options |= {} if is_result or _WORDS["counter"].fullmatch(name) else {name: "option"}
    return options


def _is_speed(column: str) -> bool:
    return (_quantity(column) or "").startswith(("step", *RATES))


def _wide(rows: Sequence[Row], names: Iterable[str]) -> dict[str, str]:
    """Return the quantity of columns that are values of an option or rounds, by pattern, as far as it is stated."""
    numbered = _numbered(names)
    first = next((name for name in names if not any(fnmatchcase(name, pattern) for pattern in numbered)), "")
    of_first = _quantity(first) or ""
    is_measure = of_first.startswith("step_") or of_first.endswith("per_s")
    columns: dict[str, str] = {}
    for pattern, (option, end) in numbered.items():
        in_cells = "step" if any(map(_LETTER.search, _cells(rows, pattern))) else ""
        stated = _quantity_of(f"time {end}") if end else of_first if is_measure else in_cells
        if stated and stated.startswith(("step", *RATES)):
            columns |= {pattern: f"{option}:{stated}", **({first: "name"} if is_measure and not end else {})}
    return columns


def _cells(rows: Sequence[Row], column: str) -> list[str]:
    """Return the numbers, as far as they are stated, in a column or in those of its pattern."""
    names = {column, *(name for row in rows for name in row.levels[0] if fnmatchcase(name, column))}
    return [str(cell) for row in rows for name in names if _NUMBER.match(str(cell := row.get(name)))]


def _require_units(source: Source, columns: dict[str, str], rows: Sequence[Row]) -> None:
    """Raise BenchtuiError if a step time has no unit, neither in its column's name nor in its cells."""
    for column, name in columns.items():
        of = target(name.rpartition(":")[2], "")
        is_time = of.name in (*_WITH_STATISTICS, "steps", "total")
        if is_time and not of.unit and not any(map(_LETTER.search, _cells(rows, column))):
            example = shown(FileMap(columns={**columns, column: f"{name}_ms"}))
            raise BenchtuiError(
                f"{source.path}: the unit of {quoted(column)} isn't stated: say it with --map, in milliseconds"
                f" --map {shell_word(example)}, in seconds {name}_s"
            )


def given(text: str, source: Source) -> FileMap:
    """Parse a map such as ``latency_ms=step_ms,batch=batch_size``. Raises BenchtuiError for an unknown name.

    Columns with the name of an option that it doesn't mention still tell cases apart.
    """
    columns: dict[str, str] = {}
    gather = False
    for part in next(csv.reader([text], skipinitialspace=True)):
        column, sign, name = part.strip().rpartition("=")
        if not sign or not column or not name:
            raise BenchtuiError(f"--map: {quoted(part)} isn't COLUMN=QUANTITY, such as latency_ms=step_ms")
        columns[column] = _usual(name)
        gather |= target(columns[column].rpartition(":")[2], "--map").name == "steps"
    shapes = sorted([*_shapes(source), FileMap(columns={}, gather=True)], key=lambda one: one.gather > gather)
    missing = [_missing(rows_of(source, one), columns, gather > one.gather) for one in shapes]
    fewest, shape = min(zip(missing, shapes, strict=True), key=lambda entry: len(entry[0]))
    if fewest:
        there = dict.fromkeys(column for record in source.records[:100] for column in record.value)
        present = ", ".join(visible(column, LONGEST_VALUE) for column in islice(there, 20))
        raise BenchtuiError(f"--map: {source.path} has no column {quoted(fewest[0])}; it has {present}")
    rows = rows_of(source.beginning, shape)[:100]
    if "unit" not in columns.values():
        _require_units(source, columns, rows)
    paths = dict.fromkeys(path for row in rows for path in scalars(row.levels[0], ""))
    unnamed = {path: option for path in paths if path not in columns and (option := _quantity(path)) in OPTIONS}
    said = {name.partition(":")[0] for name in columns.values()}
    options = {path: option for path, option in unnamed.items() if option and option not in said}
    return structs.replace(shape, columns={**options, **columns} if not gather else columns)


def _usual(name: str) -> str:
    """Return a quantity for the name of a column that has it, as exports do; the name itself if none has."""
    option, sign, of = name.rpartition(":")
    for name in (of, re.sub(r"^latency(?=_)", "step", of)):
        with suppress(BenchtuiError):
            target(name, "")
            return f"{option}{sign}{name}"
    quantity = _quantity(of) or of
    unit = next((unit for unit in ("_j", "_w") if quantity.endswith(unit)), "")
    sure = target(quantity, "--map").unit or target(quantity, "--map").name not in (*quantities.TIMES, *SIZES)
    return f"{option}{sign}{quantity}" if sure and of.endswith(unit) else name


def _missing(rows: Sequence[Row], columns: Iterable[str], lists: bool) -> list[str]:
    """Return the columns that no row has, or all of them if lists are wanted and cells aren't."""
    paths = [path for row in rows[:100] for path in scalars(row.levels[0], "")]
    there = {column for row in rows[:100] for column in columns if row.get(column) is not None}
    there |= {column for column in columns if filter_by(paths, column)}
    is_list = any(isinstance(row.get(column), list) for row in rows[:1] for column in columns)
    return [column for column in columns if column not in there or (lists and not is_list)]


def shown(file_map: FileMap) -> str:
    """Format a map as the option ``--map`` takes it."""
    text = io.StringIO()
    pairs = (f"{column}={name}" for column, name in file_map.columns.items())
    csv.writer(text, lineterminator="").writerow(pairs)
    return text.getvalue()


def _quantity(column: str) -> str | None:
    """Return the quantity and unit that a column's name says; None if it says none."""
    head, _, last = column.rpartition(".")
    if head and _WORDS["value"].fullmatch(last):
        return _quantity_of(head)
    if head and _WORDS["statistic"].fullmatch(last):
        return _quantity_of(f"{last} {head.rpartition('.')[2]}") or _quantity_of(last)
    return _quantity_of(last) or (_quantity_of(column) if head else None)


def _quantity_of(name: str) -> str | None:
    text = re.sub(r"(?<=[a-z])(?=[A-Z][a-z]|[A-Z][BS]$)", "_", name)
    text = _SYMBOL.sub("", text).strip().lower()
    if match := _UNIT_INSIDE.search(text):
        text = f"{text.replace(match[0], ' ')} {match[0].strip()}"
    unit_match = _UNIT.search(text)
    unit = quantities.canonical_unit(unit_match[1]) if unit_match else None
    bare = text[: unit_match.start()].strip(" _([") if unit_match else text
    spellings = {text, text.replace("_", " "), bare, bare.replace("_", " "), f"{bare}_{unit}"} - {""}
    quantity, spaced = _meaning("quantities", spellings), text.replace("_", " ")
    is_size = quantity in SIZES
    has_another = not is_size and quantity != "sequence_length" and _WORDS["other_statistic"].search(spaced)
    if not quantity or has_another:
        return None
    has_statistics = quantity in _WITH_STATISTICS
    if has_statistics and (statistic := _meaning("statistics", [spaced])):
        quantity = f"{quantity}_{statistic}"
    return f"{quantity}_{unit}" if unit in (MB if is_size else MS if has_statistics else ()) else quantity


def _meaning(table: str, texts: Iterable[str]) -> str:
    """Return what the first pattern of a table that fits a text stands for; empty if none does."""
    meanings = quantities.NAMES[table].items()
    return next((name for pattern, name in meanings if any(re.search(pattern, text) for text in texts)), "")


def user_map(content: object, name: str) -> FileMap:
    """Read a map of the user's from TOML. Raises BenchtuiError that says which entry is wrong."""
    try:
        file_map = msgspec.convert(content, FileMap)
        for pattern in file_map.remove.values():
            re.compile(pattern)
    except (msgspec.ValidationError, re.error) as error:
        raise BenchtuiError(f"map {name}: {error}") from error
    columns = {
        column: _usual(names) if isinstance(names, str) else tuple(map(_usual, names))
        for column, names in file_map.columns.items()
    }
    return structs.replace(file_map, columns=columns)
