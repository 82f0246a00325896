"""Sweep parser: TOML or YAML files, presets and ``--set`` overrides, with errors that name the entry."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.files.bounded_toml import MOST_LEVELS, parse_toml
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, visible
from benchtui.sessions.sweep import named_values, options, ranges
from benchtui.sessions.sweep.model import (
    ALL_GPUS,
    ALL_KINDS,
    MOST_CASES,
    MOST_CELSIUS,
    MOST_RETRIES,
    MOST_ROUNDS,
    SAMPLE,
    SYNTHETIC,
    WAIT_FOR_QUIET_S,
    Caches,
    ExecutorKind,
    Explain,
    Generate,
    Measure,
    Mode,
    Optimizer,
    Run,
    Sweep,
    Train,
    Weights,
    WhenLost,
    custom_task,
)
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.sweep.quantities import parse_quantity
from benchtui.sessions.sweep.tasks import TASKS, task_named
from benchtui.sessions.sweep.yaml_reader import SUFFIXES, toml_of_yaml
from benchtui.sessions.sweep_secrets import with_masks

Table = dict[str, Any]
Parser = Callable[[Any, str], Any]

MOST_KINDS = 10
"""Maximum number of different sets of options that exclusions name, for a sweep of any size."""
MOST_COMPARISONS = 500_000
"""Maximum number of such sets times cases, if there are more."""
MOST_NAMES = 1_000
"""Maximum number of environment variables, or of parameters of a step."""
_PRESETS = Path(__file__).with_name("presets")
_DURATION_UNITS_S = {"h": 3600.0, "m": 60.0, "s": 1.0}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MACHINE = re.compile(r"[A-Za-z0-9_][\w.:/#+=-]{0,199}", re.ASCII)
_ADDRESS = re.compile(r"auto|(?:ray://)?(?:[\w.-]+|\[[0-9A-Fa-f:]+\]):\d{1,5}", re.ASCII)
_DEVICE = re.compile(r"cpu|cuda:(?:0|[1-9]\d{0,3})")


def load_sweep(source: str, overrides: Sequence[str] = ()) -> Sweep:
    """Read a sweep from a TOML or YAML file or a preset, with ``key=value`` overrides applied.

    Raises:
        BenchtuiError: If the file can't be read, isn't valid TOML, or has an entry that isn't allowed.
    """
    text, where = read_source(source)
    return parse_sweep(text, where, overrides, default_name=Path(source).stem)


def parse_sweep(text: str, where: str, overrides: Sequence[str] = (), default_name: str = "sweep") -> Sweep:
    """Parse a sweep from TOML text; ``where`` names it in errors. Raises BenchtuiError."""
    table = read_table(text, where)
    for override in overrides:
        _override(table, override)
    table.setdefault("name", default_name)
    return sweep_of(table, where)


def read_table(text: str, where: str) -> Table:
    """Parse TOML text; raises BenchtuiError if it is invalid."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise BenchtuiError(f"{where}: not valid TOML: {error}") from error


def preset_names() -> list[str]:
    """List the names of the bundled presets."""
    return sorted(
        entry.name.removesuffix(".toml") for entry in _PRESETS.iterdir() if entry.name.endswith(".toml")
    )


def validate_config(config: options.Config) -> options.Config:
    """Validate the options of one case. Raises BenchtuiError naming the option."""
    values = {key: parse(getattr(config, key), key) for key, parse in _ONE_CASE.items()}
    return options.Config(**values, repeat=config.repeat, unset=config.unset)


def baseline_from(entries: Sequence[str]) -> options.Baseline | None:
    """Parse a baseline from options such as ``precision=fp32``; None if empty. Raises BenchtuiError."""
    if not entries:
        return None
    where = "--baseline"
    table: dict[str, object] = {}
    for each in entries:
        key, sign, value = each.partition("=")
        if not sign:
            raise BenchtuiError(f"{where}: {quoted(each)} is not KEY=VALUE, such as precision=fp32")
        table[key.strip()] = value.strip()
    found = _table(options.Baseline, _ONE_CASE)(table, where)
    return found if isinstance(found, options.Baseline) else None


def read_source(source: str) -> tuple[str, str]:
    """Read a preset or a file, in TOML or YAML, as TOML text, and return its name for errors.

    Raises BenchtuiError.
    """
    path = Path(source)
    if source in preset_names() and not path.is_file():
        return (_PRESETS / f"{source}.toml").read_text("utf-8"), f"preset {source}"
    try:
        text = read_text(path)
        return (toml_of_yaml(text, source) if path.suffix in SUFFIXES else text), source
    except FileNotFoundError as error:
        suggestion = ranges.nearest(source, preset_names())
        known = ", ".join(preset_names())
        raise BenchtuiError(f"{source}: no such file or preset{suggestion}; presets: {known}") from error
    except UnicodeDecodeError as error:
        raise BenchtuiError(f"{source}: not a UTF-8 text file") from error
    except (OSError, ValueError) as error:
        raise BenchtuiError(f"{source}: can't be read: {os_error_text(error)}") from error


def _override(table: Table, override: str) -> None:
    key, equals, text = override.partition("=")
    where = f"--set {visible(override, LONGEST_VALUE)}"
    if not equals:
        raise BenchtuiError(f"{where}: write key=value, such as --set batch_size=1..64*2")
    path = _path(key.strip(), where)
    for name in path[:-1]:
        table = table.setdefault(name, {})
        if not isinstance(table, dict):
            raise BenchtuiError(f"{where}: {visible(name, LONGEST_VALUE)} is not a table")
    table[path[-1]] = typed(text.strip())


def _path(key: str, where: str) -> list[str]:
    if "." in key:
        if key.count(".") >= MOST_LEVELS:
            raise BenchtuiError(f"{where}: a key with more than {MOST_LEVELS} parts")
        return key.split(".")
    homes: dict[str, list[str]] = {name: [name] for name in _TOP}
    for table, entries in _TABLES.items():
        homes |= {name: [table, name] for name in entries if name not in homes}
    if key not in homes:
        raise BenchtuiError(
            f"{where}: no entry {quoted(key)}{ranges.nearest(key, homes)}; entries: {', '.join(homes)}"
        )
    return homes[key]


def entries() -> dict[str, Parser]:
    """Map the dotted name of every entry, such as ``axes.device``, to its parser; exclusions are omitted."""
    found: dict[str, Parser] = {}
    for key, parse in _TOP.items():
        found |= {f"{key}.{name}": parser for name, parser in _TABLES.get(key, {}).items()} or {key: parse}
    del found["exclude"]
    return found


def typed(text: str) -> object:
    """Parse a typed entry: as a TOML value if it is one, otherwise as text."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def sweep_of(table: Table, where: str) -> Sweep:
    """Build a sweep from the entries of a TOML file, its secrets masked; raises BenchtuiError."""
    if "model" not in table and custom_task(str(table.get("task"))):
        table = {"model": table["task"], **table}
    if "model" not in table:
        raise BenchtuiError(f"{where}: model is missing; name a hub id, a folder or a bundled architecture")
    sweep = _of_task(_sweep(**_entries({"measure": {}, "run": {}} | table, _TOP, f"{where}: ")), where)
    if custom_task(sweep.task):
        sweep = replace(sweep, axes=replace(sweep.axes, unset=_unset(table.get("axes", ()))))
    if sweep.planned > MOST_CASES:
        raise BenchtuiError(f"{where}: axes: {sweep.planned:,} cases; at most {MOST_CASES:,} are allowed")
    _require_few_kinds(sweep, where)
    if sweep.exclude and next(included_configs(sweep), None) is None:
        raise BenchtuiError(f"{where}: exclude: excludes every case; keep at least one")
    return with_masks(sweep)


def _unset(axes: Collection[str]) -> tuple[str, ...]:
    """Return the options that every case is named by, but for its device, and that a file doesn't set."""
    named = (option.name for option in options.OPTIONS if option.named and option.name != "device")
    return tuple(name for name in named if name not in axes)


def _require_few_kinds(sweep: Sweep, where: str) -> None:
    """Refuse exclusions that name very many different sets of options: each case is compared with each set."""
    kinds = len({tuple(exclusion.named) for exclusion in sweep.exclude})
    if kinds > MOST_KINDS and kinds * sweep.planned > MOST_COMPARISONS:
        raise BenchtuiError(
            f"{where}: exclude: {kinds:,} different sets of options for {sweep.planned:,} cases; at most"
            f" {max(MOST_KINDS, MOST_COMPARISONS // sweep.planned):,} are allowed"
        )


def _sweep(**entries: Any) -> Sweep:  # noqa: ANN401  (each entry was validated before)
    """Build a sweep. An axis with a single value sets the corresponding entry of the sweep."""
    models: tuple[str, ...] = entries["model"]
    sweep = Sweep(**entries | {"model": ", ".join(models)})
    if len(models) > 1:
        sweep = replace(sweep, axes=replace(sweep.axes, model=models))
    for option in options.OPTIONS:
        values = getattr(sweep.axes, option.name)
        if option.entry and len(values) == 1 and values[0] != option.default:
            axes = replace(sweep.axes, **{option.name: (option.default,)})
            sweep = replace(sweep.with_entry(option, values[0]), axes=axes)
    return sweep


def _of_task(sweep: Sweep, where: str) -> Sweep:
    """Apply the defaults of the task. Raises BenchtuiError for entries that the task can't have.

    Images and audio have no sequence length, so values left over from another task are dropped.
    """
    task, axes = task_named(sweep.task), sweep.axes
    own = {
        name: (value,)
        for name, value in task.defaults
        if getattr(axes, name) == (options.BY_NAME[name].default,)
    }
    if task.texts:
        if 0 in axes.sequence_length:
            raise BenchtuiError(
                f"{where}: axes.sequence_length: 0 is not a whole number from 1 to {options.LARGEST:,}"
            )
        return sweep
    if sweep.dataset not in (SAMPLE, SYNTHETIC):
        raise BenchtuiError(f"{where}: dataset: task {task.name} draws its inputs at random; remove the entry")
    return replace(sweep, dataset=SYNTHETIC, axes=replace(axes, sequence_length=(0,), **own))


def _entries(table: Table, parsers: Mapping[str, Parser], prefix: str) -> Table:
    values = {}
    for key, value in table.items():
        if key not in parsers:
            hint = ranges.nearest(key, parsers)
            name = visible(key, LONGEST_VALUE)
            raise BenchtuiError(f"{prefix}{name}: unknown entry{hint}; allowed: {', '.join(parsers)}")
        values[FIELDS.get(key, key)] = parsers[key](value, prefix + key)
    return values


def _table(kind: Callable[..., Any], parsers: Mapping[str, Parser]) -> Parser:
    def parse(value: object, where: str) -> object:
        if not isinstance(value, dict):
            raise BenchtuiError(f"{where}: {quoted(value)} is not a table of entries")
        return kind(**_entries(value, parsers, f"{where}."))

    return parse


def _text(value: object, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BenchtuiError(f"{where}: {quoted(value)} is not text; write it in quotes")
    if value != value.encode("utf-8", "replace").decode():
        raise BenchtuiError(f"{where}: {quoted(value)} is not UTF-8; names and paths in a sweep must be")
    return value.strip()


def _choice(*allowed: str) -> Parser:
    check = ranges.one_of(allowed)
    return lambda value, where: check(_text(value, where), where)


def _words(check: Callable[[str, str], str]) -> Parser:
    return lambda value, where: ranges.words(value, where, check)


def _task(value: object, where: str) -> str:
    task = _text(value, where)
    if custom_task(task):
        return task
    try:
        return ranges.one_of(TASKS)(task, where)
    except BenchtuiError as error:
        raise BenchtuiError(f'{error}, or a step of your own as "file.py:function"') from error


def _device(word: str, where: str) -> str:
    word = "cuda:0" if word == "cuda" else word
    if not _DEVICE.fullmatch(word):
        raise BenchtuiError(f"{where}: {quoted(word)} is not a device; allowed: cpu, cuda, cuda:N")
    return word


def _device_or_all(word: str, where: str) -> str:
    try:
        return word if word == ALL_GPUS else _device(word, where)
    except BenchtuiError as error:
        raise BenchtuiError(f"{error}, {ALL_GPUS} for all GPUs") from error


def _machine(word: str, where: str) -> str:
    if word and not _MACHINE.fullmatch(word):
        raise BenchtuiError(
            f"{where}: {quoted(word)} names no nodes; allowed: a kind (H100), a label (a=b), a resource, a node"
        )
    return word


def _machine_or_all(word: str, where: str) -> str:
    try:
        return word if word == ALL_KINDS else _machine(word, where)
    except BenchtuiError as error:
        raise BenchtuiError(f"{error}, {ALL_KINDS} for every kind") from error


def _place(value: object, where: str) -> str:
    return _machine(value if value == "" else _text(value, where), where)


def _address(value: object, where: str) -> str:
    address = _text(value, where)
    if not _ADDRESS.fullmatch(address):
        raise BenchtuiError(
            f"{where}: {quoted(address)} is not the address of a Ray cluster; allowed: auto, host:port, ray://host:port"
        )
    return address


def _count(least: int, most: int = options.LARGEST) -> Parser:
    def parse(value: object, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise BenchtuiError(f"{where}: {quoted(value)} is not a whole number from {least} to {most}")
        return value

    return parse


def _or_auto(parse: Parser) -> Parser:
    """Return a parser that also accepts ``auto``."""
    return lambda value, where: AUTO if value == AUTO else parse(value, where)


def _model(word: str, where: str) -> str:
    return _text(word, where)


def _words_of(option: options.Option) -> Callable[[str, str], str]:
    return ranges.one_of(option.values, dict(option.aliases), option.pattern, option.pattern_help)


def _switch(option: options.Option) -> Parser:
    """Return a parser of words that accepts ``false`` and ``true`` as well."""
    words = _words(_words_of(option))

    def parse(value: object, where: str) -> object:
        items = value if isinstance(value, list) else [value]
        flags = [options.SWITCH[item] if isinstance(item, bool) else item for item in items]
        return words(flags if isinstance(value, list) else flags[0], where)

    return parse


def _named_values(value: object, where: str) -> tuple[str, ...]:
    """Parse a table of names with their values into all combinations, or the text of a single one."""
    found: dict[str, tuple[str, ...]]
    if isinstance(value, str):
        try:
            found = {name: (text,) for name, text in named_values.texts(value).items()}
        except ValueError as error:
            raise BenchtuiError(f"{where}: {quoted(value)}: {error}") from error
    elif isinstance(value, dict):
        found = _values_by_name(value, where)
    else:
        raise BenchtuiError(f"{where}: {quoted(value)} is not a table of names with their values")
    for name in found:
        if not _VARIABLE.fullmatch(name):
            raise BenchtuiError(f"{where}.{_known_name(name)}: not a name: letters, digits and _")
    return named_values.combinations(found)


def _values_by_name(table: Table, where: str) -> dict[str, tuple[str, ...]]:
    """Parse the values of each name, as long as the number of their combinations is allowed."""
    _require_few_names(table, where)
    found: dict[str, tuple[str, ...]] = {}
    combinations = 1
    for name, value in table.items():
        found[name] = ranges.values(value, f"{where}.{_known_name(name)}")
        combinations *= len(found[name])
        if combinations > ranges.MOST_VALUES:
            more = " or more" if len(found) < len(table) else ""
            raise BenchtuiError(
                f"{where}: {combinations:,} combinations{more}; at most {ranges.MOST_VALUES:,} are allowed"
            )
    return found


def _require_few_names(value: Table, where: str) -> None:
    if len(value) > MOST_NAMES:
        raise BenchtuiError(f"{where}: {len(value):,} names; at most {MOST_NAMES:,} are allowed")


def _case_variables(value: object, where: str) -> tuple[str, ...]:
    """Parse environment variables of cases. The set of visible GPUs isn't a property of a case."""
    found = _named_values(value, where)
    if any("CUDA_VISIBLE_DEVICES" in named_values.texts(line) for line in found):
        raise BenchtuiError(f"{where}.CUDA_VISIBLE_DEVICES: can't be an axis; use axes.device, or env")
    return found


def _known_name(name: str) -> str:
    return visible(name, LONGEST_VALUE)


def _axes(**entries: Any) -> options.Axes:  # noqa: ANN401  (each entry was validated before)
    """Build the axes; a batch size search starts at 1."""
    found = entries.get("batch_size")
    if not isinstance(found, str):
        return options.Axes(**entries)
    most = found.removeprefix(AUTO).removeprefix(AT_MOST)
    limit = {"batch_size_most": int(most)} if most else {}
    return options.Axes(**entries | {"batch_size": (1,), "batch_size_auto": True} | limit)


def _batch_sizes(value: object, where: str) -> object:
    """Parse the batch sizes, or a single ``auto`` or ``auto<=N``."""
    items = value.split(",") if isinstance(value, str) else value
    words = (
        ["".join(item.split()) for item in items if isinstance(item, str)] if isinstance(items, list) else []
    )
    searches = [word for word in words if word.startswith(AUTO)]
    if not searches:
        return ranges.whole_numbers(value, where)
    if isinstance(items, list) and len(items) > 1:
        raise BenchtuiError(
            f"{where}: {quoted(value)}: 'auto' searches for the batch size and must be the only value"
        )
    (word,) = searches
    if word != AUTO:
        _, sign, most = word.partition(AT_MOST)
        ranges.whole_numbers(most if sign else word, where)
    return word


def _numbers(option: options.Option) -> Parser:
    bounds = ranges.Bounds(least=option.least, most=option.most)
    return lambda value, where: ranges.whole_numbers(value, where, bounds)


def _parser(option: options.Option) -> Parser:
    """Return the parser of an axis."""
    if option.name in _PARSERS:
        return _PARSERS[option.name]
    if set(options.SWITCH) <= set(option.values):
        return _switch(option)
    return _numbers(option) if option.numeric else _words(_words_of(option))


def _rate(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= options.LARGEST:
        raise BenchtuiError(f"{where}: {quoted(value)} is not a number above 0")
    return float(value)


def _flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise BenchtuiError(f"{where}: {quoted(value)} is neither true nor false")
    return value


def _explain(value: object, where: str) -> tuple[Explain, ...]:
    """Parse the cases to explain: true for all, false for none, or a list of words."""
    if isinstance(value, bool):
        return ("all",) if value else ()
    return _EXPLAINED(value, where) if value != [] else ()


def _env(value: object, where: str) -> dict[str, str]:
    """Parse a table of environment variables; an integer becomes its digits."""
    if not isinstance(value, dict):
        raise BenchtuiError(f"{where}: {quoted(value)} is not a table of entries")
    _require_few_names(value, where)
    return {
        name: _variable(name, text, f"{where}.{visible(name, LONGEST_VALUE)}") for name, text in value.items()
    }


def _variable(name: str, value: object, where: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise BenchtuiError(f"{where}: not a name of an environment variable: letters, digits and _")
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(text, str) or "\0" in text:
        raise BenchtuiError(f"{where}: {quoted(value)} is not text; write it in quotes")
    return text


def _measure(**entries: Any) -> Measure:  # noqa: ANN401  (each entry was validated before)
    """Build the measurement rules; an entry of ``auto`` sets a separate field.

    If the sweep states a count, that number of steps runs: the minimum time defaults to 0.
    """
    automatic = {field: flag for field, flag in _AUTOMATIC.items() if entries.get(field) == AUTO}
    said = {field: value for field, value in entries.items() if field not in automatic}
    minimum = {field: 0.0 if count in said else None for field, count in _COUNTS.items()}
    return Measure(**minimum | said | dict.fromkeys(automatic.values(), True))


def _duration_s(value: object, where: str) -> float:
    seconds = 0.0
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = value
    elif isinstance(value, str):
        seconds = parse_quantity(value, _DURATION_UNITS_S) or 0.0
    if not 0 < seconds <= options.LARGEST:
        raise BenchtuiError(
            f'{where}: {quoted(value)} is not a time; write seconds, or text such as "90s", "10m", "1h30m"'
        )
    return float(seconds)


def _wait_s(value: object, where: str) -> float:
    if value in ("off", 0):  # also false
        return 0.0
    try:
        return _duration_s(value, where)
    except BenchtuiError as error:
        raise BenchtuiError(f'{error}, or "off"') from error


def _celsius(value: object, where: str) -> float:
    degrees = parse_quantity(value.replace("°", ""), {"C": 1.0}) if isinstance(value, str) else value
    if isinstance(degrees, bool) or not isinstance(degrees, (int, float)) or not 0 < degrees <= MOST_CELSIUS:
        raise BenchtuiError(
            f'{where}: {quoted(value)} is not a temperature up to {MOST_CELSIUS:g} °C; write text such as "60C"'
        )
    return float(degrees)


def _run(**entries: Any) -> Run:  # noqa: ANN401  (each entry was validated before)
    return Run(**{"wait_for_quiet_s": WAIT_FOR_QUIET_S} | entries)


def _min_time_s(value: object, where: str) -> float | None:
    """Parse a minimum time, which may be 0; None for ``auto``."""
    if value == AUTO:
        return None
    return 0.0 if str(value) in ("0", "0.0", "0s") else _duration_s(value, where)


def _percent(value: object, where: str) -> float:
    percent = _percent_of(value)
    if percent is None or not 0 < percent < 100:
        raise BenchtuiError(f'{where}: {quoted(value)} is not a width in percent, such as "1%"')
    return percent


def _margin(value: object, where: str) -> float:
    percent = _percent_of(value)
    if percent is None or not 0 <= percent < 100:
        raise BenchtuiError(f'{where}: {quoted(value)} is not a share of memory, such as "5%"')
    return percent


def _percent_of(value: object) -> float | None:
    try:
        return None if isinstance(value, bool) else float(str(value).strip().removesuffix("%"))
    except ValueError:
        return None


def _single(parse: Parser) -> Parser:
    """Turn the parser of an axis into a parser of a single value."""

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
    parse = _table(options.Exclusion, _ONE_CASE)
    found = dict.fromkeys(parse(each, f"{where}[{place}]") for place, each in enumerate(value, 1))
    if options.Exclusion() in found:
        raise BenchtuiError(f"{where}: an empty table would exclude every case")
    return tuple(found)


_PARSERS: dict[str, Parser] = {
    "machine": _words(_machine_or_all),
    "device": _words(_device_or_all),
    "batch_size": _batch_sizes,
    "env": _case_variables,
    "parameters": _named_values,
}
"""Parsers of options that are neither plain numbers nor words of a fixed list."""
_AXES: dict[str, Parser] = {
    option.name: _parser(option) for option in options.OPTIONS if option.name != "model"
}
"""Parsers of the entries of ``axes``. Models are listed in the sweep's entry ``model``."""
_MODELS = _words(_model)
_ONE_CASE: dict[str, Parser] = {
    key: _single(parse)
    for key, parse in (
        _AXES
        | {
            "model": lambda value, where: ("",) if value == "" else _MODELS(value, where),
            "machine": _words(_machine),
            "device": _words(_device),
            "batch_size": ranges.whole_numbers,
        }
    ).items()
}
"""Parsers of the options of a single case."""
_EXPLAINED = _words(ranges.one_of(get_args(Explain)))
AUTO = "auto"
AT_MOST = "<="
_AUTOMATIC = {"warmup": "warmup_auto", "until_percent": "until_auto"}
_COUNTS = {"min_warmup_s": "warmup", "min_time_s": "iterations"}
"""Count of steps that belongs to each minimum time."""
_MEASURE: dict[str, Parser] = {
    "warmup": _or_auto(_count(0)),
    "iterations": _count(1),
    "min_warmup": _min_time_s,
    "min_time": _min_time_s,
    "until": _or_auto(_percent),
    "max_time": _duration_s,
    "timeout": _duration_s,
    "mode": _choice(*get_args(Mode)),
    "rounds": _count(1, MOST_ROUNDS),
    "aa": _flag,
    "retries": _count(0, MOST_RETRIES),
    "margin": _margin,
    "caches": _choice(*get_args(Caches)),
    "peaks": _flag,
    "answers": _flag,
    "explain": _explain,
    "baseline": _table(options.Baseline, _ONE_CASE),
}
_TRAIN: dict[str, Parser] = {
    "accumulation": _count(1),
    "learning_rate": _rate,
    "optimizer": _choice(*get_args(Optimizer)),
    "activation_checkpointing": _flag,
}
_GENERATE: dict[str, Parser] = {"new_tokens": _count(1)}
_RUN: dict[str, Parser] = {
    "parallel": _flag,
    "executor": _choice(*get_args(ExecutorKind)),
    "address": _address,
    "place": _place,
    "lost": _choice(*get_args(WhenLost)),
    "repeat_on_each": _flag,
    "wait_for_quiet": _wait_s,
    "wait_below": _celsius,
}
_TABLES = {"axes": _AXES, "measure": _MEASURE, "run": _RUN, "train": _TRAIN, "generate": _GENERATE}
_TOP: dict[str, Parser] = {
    "name": _text,
    "model": _MODELS,
    "weights": _choice(*get_args(Weights)),
    "task": _task,
    "dataset": _text,
    "axes": _table(_axes, _AXES),
    "measure": _table(_measure, _MEASURE),
    "run": _table(_run, _RUN),
    "env": _env,
    "exclude": _exclusions,
    "train": _table(Train, _TRAIN),
    "generate": _table(Generate, _GENERATE),
}
FIELDS = {
    "until": "until_percent",
    "margin": "margin_percent",
    "min_warmup": "min_warmup_s",
    "min_time": "min_time_s",
    "max_time": "max_time_s",
    "timeout": "timeout_s",
    "wait_for_quiet": "wait_for_quiet_s",
    "wait_below": "wait_below_c",
}
"""Fields by the names of entries without a unit."""
