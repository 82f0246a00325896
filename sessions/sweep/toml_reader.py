"""Sweep parser: TOML or YAML files, presets and ``--set`` overrides, with errors that name the entry."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchtui.sessions.errors import BenchtuiError, os_error_text
from benchtui.sessions.files.bounded_toml import MOST_LEVELS, line_of, parse_toml, value_at
from benchtui.sessions.files.input_file import read_text
from benchtui.sessions.sanitize import LONGEST_VALUE, quoted, visible
from benchtui.sessions.stored_models.hub_cache import stored_folder
from benchtui.sessions.stored_models.measurable import task_of
from benchtui.sessions.sweep import options, ranges
from benchtui.sessions.sweep.entries import BASELINE, ENTRIES, ONE_CASE, TABLES, Table, parse_entries
from benchtui.sessions.sweep.library_names import entry_hint, entry_named
from benchtui.sessions.sweep.model import MOST_CASES, SAMPLE, SYNTHETIC, Sweep, custom_task
from benchtui.sessions.sweep.plan import included_configs
from benchtui.sessions.sweep.tasks import task_named
from benchtui.sessions.sweep.yaml_reader import SUFFIXES, toml_of_yaml
from benchtui.sessions.sweep_secrets import with_masks

MOST_KINDS = 10
"""Maximum number of different sets of options that exclusions name, for a sweep of any size."""
MOST_COMPARISONS = 500_000
"""Maximum number of such sets times cases, if there are more."""
_ENTRY = re.compile(r"([\w.-]+(?:\[\d+\][\w.-]*)?): ")
_WORD = re.compile(r"[\w-]+")
_PRESETS = Path(__file__).with_name("presets")


def load_sweep(source: str, overrides: Sequence[str] = ()) -> Sweep:
    """Read a sweep from a TOML or YAML file or a preset, with ``key=value`` overrides applied.

    Raises BenchtuiError if the file can't be read, isn't valid TOML, or has an entry that isn't allowed.
    """
    text, where = read_source(source)
    return parse_sweep(text, where, overrides, default_name=Path(source).stem)


def parse_sweep(text: str, where: str, overrides: Sequence[str] = (), default_name: str = "sweep") -> Sweep:
    """Parse a sweep from TOML text; ``where`` names it in errors. Raises BenchtuiError."""
    table = read_table(text, where)
    for override in overrides:
        _override(table, override)
    if "name" not in {entry_named(key, ENTRIES) for key in table}:
        table["name"] = default_name
    try:
        return sweep_of(table, where)
    except BenchtuiError as error:
        message = str(error)
        hint = (
            ""
            if Path(where).suffix in SUFFIXES
            else _line_hint(message.removeprefix(f"{where}: "), text, table)
        )
        raise BenchtuiError(f"{message}{hint}") from error


def _line_hint(message: str, text: str, table: Table) -> str:
    """Return the line of the entry that a message begins with; empty if an override has set it."""
    entry = _ENTRY.match(message)
    path = [int(word) - 1 if word.isdecimal() else word for word in _WORD.findall(entry[1])] if entry else []
    value = value_at(table, path) if path else None
    line = None if value is None else line_of(text, path, value)
    return f" (line {line})" if line else ""


def read_table(text: str, where: str) -> Table:
    """Parse TOML text; raises BenchtuiError if it is invalid."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise BenchtuiError(f"{where}: not valid TOML: {error}") from error


def preset_names() -> list[str]:
    """List the names of the bundled presets."""
    return sorted(path.stem for path in _PRESETS.glob("*.toml"))


def validate_config(config: options.Config) -> options.Config:
    """Validate the options of one case. Raises BenchtuiError naming the option."""
    values = {name: entry.parse(getattr(config, name), name) for name, entry in ONE_CASE.items()}
    return options.Config(**values, repeat=config.repeat, unset=config.unset)


def baseline_from(entries: Sequence[str]) -> options.Baseline | None:
    """Parse a baseline from options such as ``precision=fp32``; None if empty. Raises BenchtuiError."""
    if not entries:
        return None
    where = "--baseline"
    table: dict[str, object] = {}
    for entry in entries:
        key, sign, value = entry.partition("=")
        if not sign:
            raise BenchtuiError(f"{where}: {quoted(entry)} is not KEY=VALUE, such as precision=fp32")
        table[key.strip()] = value.strip()
    baseline: options.Baseline = BASELINE.parse(table, where)
    return baseline


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
        presets = ", ".join(preset_names())
        raise BenchtuiError(f"{source}: no such file or preset{suggestion}; presets: {presets}") from error
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
    for name in [name for name in table if entry_named(name, path[-1:]) == path[-1]]:
        del table[name]  # the file may have it under another name
    table[path[-1]] = typed(text.strip())


def _path(key: str, where: str) -> list[str]:
    homes = _homes()
    if "." in key:
        if key.count(".") >= MOST_LEVELS:
            raise BenchtuiError(f"{where}: a key with more than {MOST_LEVELS} parts")
        *tables, name = key.split(".")
        if not (entry_named(tables[0], ENTRIES) in ENTRIES or entry_hint(tables[0], ENTRIES)):
            entry = entry_named(name, homes)  # the table of another tool
            if entry in homes:
                raise BenchtuiError(f"{where}: no entry {quoted(tables[0])} (did you mean {entry!r}?)")
        return [*tables, entry_named(name, TABLES.get(".".join(tables), ()))]
    name = entry_named(key, homes)
    if name not in homes:
        hint = entry_hint(key, homes) or f"; entries: {', '.join(homes)}"
        raise BenchtuiError(f"{where}: no entry {quoted(key)}{hint}")
    return homes[name]


def _homes() -> dict[str, list[str]]:
    """Return the path of every entry that needs no table on the command line."""
    homes = {name: [name] for name in ENTRIES}
    for table, entries in TABLES.items():
        if table != "find":  # an entry of it would turn any sweep into a search
            homes |= {name: [table, name] for name in entries if name not in homes}
    return homes


def entries() -> list[str]:
    """Return the dotted name of every entry, such as ``axes.device``; exclusions are omitted."""
    tables = {key: [f"{key}.{name}" for name in entries] for key, entries in TABLES.items()}
    return [name for key in ENTRIES if key != "exclude" for name in tables.get(key, [key])]


def typed(text: str) -> object:
    """Parse a typed entry: as a TOML value if it is one, otherwise as text."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def sweep_of(table: Table, where: str) -> Sweep:
    """Build a sweep from the entries of a TOML file, its secrets masked; raises BenchtuiError."""
    names = {entry_named(key, ENTRIES) for key in table}
    if "model" not in names and custom_task(str(table.get("task"))):
        table = {"model": table["task"], **table}
    elif "model" not in names:
        parse_entries(table, ENTRIES, f"{where}: ")  # the name may be misspelled
        raise BenchtuiError(f"{where}: model is missing; name a hub id, a folder or a bundled architecture")
    parsed = _sweep(**parse_entries({"measure": {}, "run": {}} | table, ENTRIES, f"{where}: "))
    sweep = _of_task(_with_task(parsed, where), where)
    if custom_task(sweep.task):
        sweep = replace(sweep, axes=replace(sweep.axes, unset=_unset(table.get("axes", ()))))
    if sweep.run.budget_s is not None and not sweep.measure.rounds_auto:
        raise BenchtuiError(
            f'{where}: run.budget: limits further rounds, which only measure.rounds = "auto" has; rounds is'
            f" {sweep.measure.rounds}"
        )
    if sweep.planned > MOST_CASES:
        raise BenchtuiError(f"{where}: axes: {sweep.planned:,} cases; at most {MOST_CASES:,} are allowed")
    _require_few_kinds(sweep, where)
    if sweep.exclude and next(included_configs(sweep), None) is None:
        raise BenchtuiError(f"{where}: exclude: excludes every case; keep at least one")
    return with_masks(sweep)


def _unset(axes: Collection[str]) -> tuple[str, ...]:
    """Return the options that every case is named by, but for its device, and that a file doesn't set."""
    named = (option.name for option in options.OPTIONS if option.named and option.name != "device")
    stated = {entry_named(name, options.AXES) for name in axes}
    return tuple(name for name in named if name not in stated)


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
    sweep = Sweep(**{"task": ranges.AUTO} | entries | {"model": ", ".join(models)})
    if len(models) > 1:
        sweep = replace(sweep, axes=replace(sweep.axes, model=models))
    for option in options.OPTIONS:
        values = getattr(sweep.axes, option.name)
        if option.entry and len(values) == 1 and values[0] != option.default:
            axes = replace(sweep.axes, **{option.name: (option.default,)})
            sweep = replace(sweep.with_entry(option, values[0]), axes=axes)
    return sweep


def _with_task(sweep: Sweep, where: str) -> Sweep:
    """Replace the task ``auto`` by that of the models' files. Raises BenchtuiError if they state several."""
    if sweep.task != ranges.AUTO:
        return sweep
    models = sweep.axes.model if sweep.axes.model[1:] else (sweep.model,)
    by_task = {task_of(model, stored_folder(model, "random")): model for model in models}
    if len(by_task) > 1:
        tasks = ", ".join(f"{task} ({model})" for task, model in by_task.items())
        raise BenchtuiError(f"{where}: task: auto: the models have different tasks: {tasks}; set one")
    return replace(sweep, task=next(iter(by_task)))


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
