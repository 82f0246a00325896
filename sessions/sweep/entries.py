"""Entries of a sweep file: the type of each, and the parser of those whose text has a syntax of its own.

The types are those of the file, not of the sweep: a time may be ``"90s"``. Parsers check values against them,
and the JSON Schema of a sweep file is generated from ``sweep_file_type``.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import Meta, inspect

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, visible
from benchtui.sessions.sweep import named_values, options, ranges
from benchtui.sessions.sweep.library_names import (
    ALIASES,
    DEVICE_ALIASES,
    DEVICE_HINTS,
    NUMBER_HINTS,
    TASK_ALIASES,
    TASK_HINTS,
    aliases,
    entry_hint,
    entry_named,
    flag_named,
    flags,
    value_hint,
    value_names,
)
from benchtui.sessions.sweep.model import (
    ALL_GPUS,
    ALL_KINDS,
    MOST_CELSIUS,
    WAIT_FOR_QUIET_S,
    Explain,
    Find,
    Generate,
    Measure,
    Rounds,
    Run,
    Train,
    Weights,
    custom_task,
)
from benchtui.sessions.sweep.ranges import AT_MOST, AUTO
from benchtui.sessions.sweep.tasks import TASKS

Schema = dict[str, Any]
Table = dict[str, Any]
Parser = Callable[[Any, str], Any]
Check = Callable[[str, str], str]

_UNIT = re.compile("_(percent|s|c)$")
FIELDS = {
    _UNIT.sub("", field): field
    for record in (Measure, Run)
    for field in record.__struct_fields__
    if _UNIT.search(field)
}
"""Fields by the names of entries without a unit."""
NAMES = {field: name for name, field in FIELDS.items()}
_AUTOMATIC = {
    "warmup": "warmup_auto",
    "iterations": "iterations_auto",
    "until_percent": "until_auto",
    "rounds": "rounds_auto",
}
COUNTS = {"min_warmup_s": "warmup", "min_time_s": "iterations"}
"""Count of steps that belongs to each minimum time."""

Text = Annotated[str, Meta(min_length=1)]
Scalar = str | int | float | bool
NamedValues = dict[str, Scalar | list[Scalar]] | Text


class Entry(NamedTuple):
    """Entry of a sweep file."""

    kind: Any
    """Type of its value in the file."""
    parse: Parser
    """Returns the value in the sweep, given the value in the file and its place. Raises BenchtuiError."""


Entries = Mapping[str, Entry]


def _stripped(value: object) -> object:
    return value.strip() if isinstance(value, str) else value


def typed_entry(kind: Any, read: Callable[[object], object] = _stripped, problem: str = "") -> Entry:  # noqa: ANN401
    """Return an entry of this type. ``read`` converts text, and ``problem`` says what other values aren't."""
    names = ranges.Words(get_args(kind), aliases(get_args(kind))) if get_origin(kind) is Literal else None
    read = flag_named if kind is bool else read

    def parse(value: object, where: str) -> object:
        try:
            word = read(value)
            return msgspec.convert(names.named(word) if names and isinstance(word, str) else word, kind)
        except msgspec.ValidationError as error:
            raise BenchtuiError(f"{where}: {quoted(value)} {problem or _mismatch(kind, value)}") from error

    return Entry(kind, parse)


def _mismatch(kind: Any, value: object) -> str:  # noqa: ANN401
    """Return what is wrong with a value that isn't of this type, and what is allowed."""
    info = inspect.type_info(kind)
    if isinstance(info, inspect.UnionType):
        info = next(kind for kind in info.types if isinstance(kind, inspect.IntType | inspect.FloatType))
    if isinstance(info, inspect.IntType):
        return f"is not a whole number from {info.ge} to {info.le}"
    if isinstance(info, inspect.FloatType):
        return f"is not a number above {info.gt:g}"
    if isinstance(info, inspect.BoolType):
        return "is neither true nor false"
    allowed = get_args(kind)
    if not isinstance(value, str | bool) or not str(value).strip():
        return "is not text; write it in quotes"
    hint = ranges.nearest(str(value), allowed) or value_hint(str(value))
    return f"is not recognized{hint}; allowed: {', '.join(allowed)}"


def _text_of(*forms: Schema) -> Any:  # noqa: ANN401  (a type)
    """Return the type of text in one of these forms; any text if there are none."""
    return Annotated[str, Meta(extra_json_schema={"anyOf": list(forms)})] if forms else str


def fields_of(record: type[msgspec.Struct], own: Entries, *first: str) -> dict[str, Entry]:
    """Return an entry for each field of a record: its own, or one of the field's type.

    Fields that follow from another entry, such as ``warmup_auto``, have none.
    """
    kinds = {NAMES.get(field.name, field.name): field.type for field in msgspec.structs.fields(record)}
    names = (name for name in dict.fromkeys((*first, *kinds)) if name not in _AUTOMATIC.values())
    return {name: own.get(name) or typed_entry(kinds[name]) for name in names}


def table_entry(name: str, entries: Entries, build: Callable[..., Any]) -> Entry:
    """Return the entry of a table. ``build`` makes its value from the values of its entries, by field."""

    def parse(value: object, where: str) -> object:
        if not isinstance(value, dict):
            raise BenchtuiError(f"{where}: {quoted(value)} is not a table of entries")
        return build(**parse_entries(value, entries, f"{where}."))

    return Entry(file_type(name, entries), parse)


def file_type(name: str, entries: Entries) -> type[msgspec.Struct]:
    """Return the record type of a table in the file."""
    fields = [(entry, kind, msgspec.UNSET) for entry, (kind, _) in entries.items()]
    return msgspec.defstruct(name, fields, forbid_unknown_fields=True)


def parse_entries(table: Table, entries: Entries, prefix: str) -> Table:
    """Return the values of a table by the names of their fields. Raises BenchtuiError naming the entry."""
    values = {}
    for key, value in table.items():
        name, shown = entry_named(key, entries), visible(key, LONGEST_VALUE)
        if name not in entries:
            hint = _home_hint(key) or entry_hint(key, entries)
            raise BenchtuiError(f"{prefix}{shown}: unknown entry{hint}; allowed: {', '.join(entries)}")
        field = FIELDS.get(name, name)
        if field in values:
            raise BenchtuiError(f"{prefix}{shown}: {name} is set twice, under two names; remove one")
        values[field] = entries[name].parse(value, prefix + key)
    return values


def _home_hint(key: str) -> str:
    """Return where an entry belongs that isn't allowed in its place; empty if it is unknown."""
    places = {"the top level": ENTRIES} | {f"[{table}]": entries for table, entries in TABLES.items()}
    homes = {place: name for place, entries in places.items() if (name := entry_named(key, entries)) in entries}
    name = next((f", as {name}" for name in homes.values() if name != key), "")
    return f" (it belongs to {' or '.join(homes)}{name})" if homes else ""


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BenchtuiError(f"{where}: {quoted(value)} is not text; write it in quotes")
    if value != value.encode("utf-8", "replace").decode():
        raise BenchtuiError(f"{where}: {quoted(value)} is not UTF-8; names and paths in a sweep must be")
    return value.strip()


def _matching(pattern: str, problem: str, *exceptions: str) -> Check:
    """Return a check of words by their pattern; ``problem`` says what else they could be."""

    def check(word: str, where: str) -> str:
        if word not in exceptions and not re.fullmatch(pattern, word, re.ASCII):
            raise BenchtuiError(f"{where}: {quoted(word)} {problem}")
        return word

    return check


def _devices(problem: str, *exceptions: str) -> Check:
    check = _matching(r"cpu|cuda:(0|[1-9]\d{0,3})", f"is not a device; allowed: {problem}", *exceptions)

    def named(word: str, where: str) -> str:
        device = re.sub(r"^(cuda)?:?(?=\d)", "cuda:", word.lower().replace("gpu", "cuda"))
        if hint := DEVICE_HINTS.get(device.partition(":")[0]):
            raise BenchtuiError(f"{where}: {quoted(word)} is not a device; allowed: {problem} ({hint})")
        return check(DEVICE_ALIASES.get(device, device), where)

    return named


def _machines(problem: str, *exceptions: str) -> Check:
    forms = "names no nodes; allowed: a kind (H100), a label (a=b), a resource, a node"
    return _matching(r"[A-Za-z0-9_][\w.:/#+=-]{0,199}", f"{forms}{problem}", "", *exceptions)


_device = _devices("cpu, cuda, cuda:N")
_machine = _machines("")


def _address(value: object, where: str) -> str:
    forms = "is not the address of a Ray cluster; allowed: auto, host:port, ray://host:port"
    host = r"(?:[\w.-]+|\[[0-9A-Fa-f:]+\])"
    return _matching(rf"auto|(?:ray://)?{host}:\d{{1,5}}", forms)(_text(value, where), where)


def _place(value: object, where: str) -> str:
    return _machine(value if value == "" else _text(value, where), where)


def _task(value: object, where: str) -> str:
    task = _text(value, where)
    if custom_task(task):
        return task
    try:
        return ranges.one_of(ranges.Words((AUTO, *TASKS), TASK_ALIASES, TASK_HINTS))(task, where)
    except BenchtuiError as error:
        raise BenchtuiError(f'{error}, or a step of your own as "file.py:function"') from error


def _words(check: Check) -> Parser:
    return lambda value, where: ranges.words(value, where, check)


def _or(word: str, entry: Entry, meaning: object, *others: object) -> Entry:
    """Return an entry that also accepts a word or the other values; ``meaning`` is what the sweep then has."""

    def parse(value: object, where: str) -> object:
        try:
            return meaning if value in (word, *others) else entry.parse(value, where)
        except BenchtuiError as error:
            raise BenchtuiError(f'{error}, or "{word}"') from error

    return Entry(entry.kind, parse)


def _duration(least: Meta, form: str = "") -> Entry:
    above = "" if least.gt is None else " above 0"
    problem = f'is not a time{above}; write seconds, or text such as "90s", "10m", "1h30m"'
    number = typed_entry(Annotated[float, least, Meta(le=options.LARGEST)], ranges.seconds, problem)
    return number._replace(
        kind=number.kind | _text_of({"pattern": rf"^ *({form}([\d.]+ *[hms] *)+|[\d.]+) *$"})
    )


def _or_off(entry: Entry) -> Entry:
    """Return an entry of a time that may be ``off`` as well, which YAML 1.1 reads as false: 0 in the sweep."""
    kind = entry.kind | Annotated[bool, Meta(extra_json_schema={"const": False})]
    return _or("off", entry._replace(kind=kind), 0.0, False)


def _temperature() -> Entry:
    problem = f'is not a temperature up to {MOST_CELSIUS:g} °C; write text such as "60C"'
    number = typed_entry(Annotated[float, Meta(gt=0, le=MOST_CELSIUS)], ranges.celsius, problem)
    return number._replace(kind=number.kind | _text_of({"pattern": r"^ *[\d.]+ *(°? *C)? *$"}))


def _share(least: Meta, what: str, form: str = "") -> Entry:
    number = typed_entry(Annotated[float, least, Meta(lt=100)], ranges.percent, f"is not a {what}")
    return number._replace(kind=number.kind | _text_of({"pattern": rf"^ *({form}[\d.eE+-]+ *%?) *$"}))


def _explain(value: object, where: str) -> tuple[Explain, ...]:
    """Parse the cases to explain: true for all, false for none, or a list of words."""
    if isinstance(value, bool):
        return ("all",) if value else ()
    return _EXPLAINED(value, where) if value != [] else ()


def _axis(option: options.Option) -> Parser:
    if option.numeric:
        info: Any = inspect.type_info(option.kind)
        bounds = ranges.Bounds(info.ge, info.le, NUMBER_HINTS.get(option.name, {}))
        return lambda value, where: ranges.whole_numbers(value, where, bounds)
    return _words(ranges.one_of(value_names(option), option.pattern, option.pattern_help))


def _option_type(option: options.Option, *, several: bool) -> Any:  # noqa: ANN401
    """Return the type of an option in the file: a value, or with ``several`` also a list of values."""
    described = Meta(description=option.help)
    if option.named_values:
        return Annotated[NamedValues, described]
    plain = (option.kind,) if option.numeric else (bool,) if flags(option) else ()
    forms = _text_forms(option)
    value: Any = Union[_text_of(*forms), *plain]
    if not several:
        return Annotated[value, described]
    forms += [{"pattern": ","}] if forms else []
    forms += [{"pattern": r"^ *auto *(<= *\d+ *)?$"}] if option.name == "batch_size" else []
    items = Annotated[list[value], Meta(min_length=1)]
    return Annotated[Union[items, _text_of(*forms), *plain], described]


def _text_forms(option: options.Option) -> list[Schema]:
    """Return the JSON schemas of an option as text; none if any text may be one."""
    if option.numeric:
        return [{"pattern": r"^ *\d+( *\.\. *\d+( *[+*] *\d+)?)? *$"}]
    words = [*option.values, *ALIASES[option.name]]
    pattern = [{"pattern": f"^(?:{option.pattern})$"}] if option.pattern else []
    return [{"enum": words}, *pattern] if words else []


def _single(parse: Parser) -> Parser:
    def parse_one(value: object, where: str) -> object:
        values = parse(value, where)
        if len(values) != 1:
            raise BenchtuiError(f"{where}: {quoted(value)} is not a single value")
        return values[0]

    return parse_one


def _exclusions(value: object, where: str) -> tuple[options.Exclusion, ...]:
    """Parse a list of tables that name options, without duplicates."""
    if not isinstance(value, list):
        raise BenchtuiError(f"{where}: {quoted(value)} is not a list of tables, such as [[exclude]]")
    exclusions = dict.fromkeys(
        _EXCLUSION.parse(table, f"{where}[{place}]") for place, table in enumerate(value, 1)
    )
    if options.Exclusion() in exclusions:
        raise BenchtuiError(f"{where}: an empty table would exclude every case")
    return tuple(exclusions)


def _axes(**entries: Any) -> options.Axes:  # noqa: ANN401  (each entry was validated before)
    """Build the axes; a batch size search starts at 1."""
    sizes = entries.get("batch_size")
    if not isinstance(sizes, str):
        return options.Axes(**entries)
    most = sizes.removeprefix(AUTO).removeprefix(AT_MOST)
    limit = {"batch_size_most": int(most)} if most else {}
    return options.Axes(**entries | {"batch_size": (1,), "batch_size_auto": True} | limit)


def _measure(**entries: Any) -> Measure:  # noqa: ANN401  (each entry was validated before)
    """Build the measurement rules; an entry of ``auto`` sets a separate field.

    If the sweep states a count, that number of steps runs: the minimum time defaults to 0. Otherwise, rules
    decide when warm-up and measuring end.
    """
    entries = dict.fromkeys(COUNTS.values(), AUTO) | entries
    automatic = {field: flag for field, flag in _AUTOMATIC.items() if entries.get(field) == AUTO}
    said = {field: value for field, value in entries.items() if field not in automatic}
    minimum = {field: 0.0 if count in said else None for field, count in COUNTS.items()}
    return Measure(**minimum | said | dict.fromkeys(automatic.values(), True))


def _run(**entries: Any) -> Run:  # noqa: ANN401  (each entry was validated before)
    """Build the execution options. Older sessions, which have no such limit, don't wait."""
    return Run(**{"wait_for_quiet_s": WAIT_FOR_QUIET_S} | entries)


_MODELS = _words(_text)
_AXIS_PARSERS: dict[str, Parser] = {
    option.name: _axis(option) for option in options.OPTIONS if option.name != "model"
} | {
    "machine": _words(_machines(f", {ALL_KINDS} for every kind", ALL_KINDS)),
    "device": _words(_devices(f"cpu, cuda, cuda:N, {ALL_GPUS} for all GPUs", ALL_GPUS)),
    "batch_size": partial(ranges.batch_sizes, bounds=ranges.Bounds(hints=NUMBER_HINTS["batch_size"])),
    "env": named_values.axis_of_variables,
    "parameters": named_values.axis,
}
"""Parsers of the entries of ``axes``. Models are listed in the sweep's entry ``model``."""
_CASE_PARSERS = _AXIS_PARSERS | {
    "model": lambda value, where: ("",) if value == "" else _MODELS(value, where),
    "machine": _words(_machine),
    "device": _words(_device),
    "batch_size": ranges.whole_numbers,
}
ONE_CASE: Entries = {
    name: Entry(_option_type(options.BY_NAME[name], several=False), _single(parse))
    for name, parse in _CASE_PARSERS.items()
}
"""Entries of the options of a single case."""
BASELINE = table_entry("baseline", ONE_CASE, options.Baseline)
_EXCLUSION = table_entry("exclude", ONE_CASE, options.Exclusion)
_EXPLAINED = _words(ranges.one_of(ranges.Words(get_args(Explain))))
_MEASURE = fields_of(
    Measure,
    {
        "warmup": _or(AUTO, typed_entry(options.Count | Literal["auto"]), AUTO),
        "iterations": _or(AUTO, typed_entry(options.Size | Literal["auto"]), AUTO),
        "min_warmup": _or(AUTO, _duration(Meta(ge=0), "auto|"), None),
        "min_time": _or(AUTO, _duration(Meta(ge=0), "auto|"), None),
        "until": _or(AUTO, _share(Meta(gt=0), 'width in percent, such as "1%"', "auto|"), AUTO),
        "max_time": _duration(Meta(gt=0)),
        "timeout": _duration(Meta(gt=0)),
        "margin": _share(Meta(ge=0), 'share of memory, such as "5%"'),
        "rounds": _or(AUTO, typed_entry(Rounds | Literal["auto"]), AUTO),
        "explain": Entry(bool | Explain | list[Explain], _explain),
        "baseline": BASELINE,
    },
    *("warmup", "iterations"),
)
TABLES: dict[str, Entries] = {
    "axes": {
        name: Entry(_option_type(options.BY_NAME[name], several=True), parse)
        for name, parse in _AXIS_PARSERS.items()
    },
    "measure": _MEASURE,
    "run": fields_of(
        Run,
        {
            "address": Entry(Text, _address),
            "place": Entry(str, _place),
            "wait_for_quiet": _or_off(_duration(Meta(ge=0), "off|")),
            "wait_below": _temperature(),
            "budget": _duration(Meta(gt=0)),
        },
    ),
    "train": fields_of(Train, {}),
    "generate": fields_of(Generate, {}),
    "find": fields_of(Find, {}),
}
ENTRIES: Entries = {
    "name": Entry(Text, _text),
    "model": Entry(Text | Annotated[list[Text], Meta(min_length=1)], _MODELS),
    "weights": typed_entry(Weights),
    "task": Entry(_text_of({"enum": [AUTO, *TASKS]}, {"pattern": r"^.+\.py:\w+$"}), _task),
    "dataset": Entry(Text, _text),
    "axes": table_entry("axes", TABLES["axes"], _axes),
    "measure": table_entry("measure", TABLES["measure"], _measure),
    "run": table_entry("run", TABLES["run"], _run),
    "env": Entry(dict[str, str | int], named_values.variables),
    "exclude": Entry(list[_EXCLUSION.kind], _exclusions),  # type: ignore[name-defined]  # from a table
    "train": table_entry("train", TABLES["train"], Train),
    "generate": table_entry("generate", TABLES["generate"], Generate),
    "find": table_entry("find", TABLES["find"], Find),
}
"""All entries at the top level of a sweep file."""


def sweep_file_type() -> Any:  # noqa: ANN401  (a type)
    """Return the type of a sweep file: of the JSON document that corresponds to its TOML."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": [{"required": ["model"]}, {"required": ["task"]}],
    }
    return Annotated[file_type("sweep", ENTRIES), Meta(title="benchtui sweep", extra_json_schema=schema)]
