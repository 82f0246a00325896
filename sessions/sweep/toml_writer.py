"""Sweep writer: entries as typed text, and TOML files that keep their comments."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

import msgspec
import tomlkit

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sanitize import escape_unprintable, quoted
from benchtui.sessions.secrets import MASK, masked, masked_variable
from benchtui.sessions.sweep import named_values, ranges, toml_reader
from benchtui.sessions.sweep.entries import COUNTS, NAMES, Table
from benchtui.sessions.sweep.library_names import entry_named
from benchtui.sessions.sweep.model import MEASURE_DEFAULTS, WAIT_FOR_QUIET_S, Run, Sweep, custom_task
from benchtui.sessions.sweep.options import BY_NAME, OPTIONS, Axes, Exclusion, Record
from benchtui.sessions.sweep.ranges import AT_MOST, AUTO
from benchtui.sessions.sweep.tasks import task_named

Texts = Mapping[str, str]
"""Text of each entry by dotted name; a missing entry has its default."""

WORDS = (
    *("name", "model", "weights", "task", "dataset", "measure.mode", "measure.caches", "run.executor"),
    *("run.address", "run.place", "run.lost"),
)
"""Entries that are always text, whatever they look like."""
PAIRS = ("measure.baseline", "env", "axes.env", "axes.parameters")
"""Entries that are a table, typed as ``name=value, name=value``."""
_MASK_COMMENT = f"""\
# {MASK} is a secret that the session doesn't contain. A variable is taken from the environment if it is set
# there; otherwise replace {MASK} by the value.
"""
_NAMED_AXES = tuple(option.name for option in OPTIONS if option.named and option.name != "device")
"""Axes whose options name a case of a user-defined step if its file states them, even as defaults."""
LEAST_IN_RANGE = 4
"""Minimum count of numbers to be written as a range."""


def value_of(entry: str, text: str) -> object:
    """Convert typed text to the value in a TOML file; raises BenchtuiError for malformed pairs."""
    text = text.strip()
    if entry in ("model", "measure.explain") and "," in text:
        return [part.strip() for part in text.split(",")]
    if entry in WORDS:
        return text
    if entry in PAIRS and not text.startswith("{"):
        return _pairs(entry, text)
    if entry.startswith("axes.") and "," in text and not text.startswith(("[", "{")):
        return [_plain(part.strip()) for part in text.split(",")]
    return toml_reader.typed(text)


def text_of(value: object) -> str:
    """Format a value of a TOML file as a user would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(text_of(item) for item in value)
    return _text_of_pairs(value) if isinstance(value, Mapping) else str(value)


def masked_text(entry: str, text: str) -> str:
    """Return the text of an entry as it may be shown: the values of secrets are masked."""
    if entry not in PAIRS:
        return masked(text)
    try:
        table = value_of(entry, text)
    except BenchtuiError:  # still being typed
        return masked(text)
    pairs = (
        {name: _masked_value(name, value) for name, value in table.items()} if isinstance(table, dict) else {}
    )
    return text_of(pairs) if pairs != table else text


def _masked_value(name: str, value: object) -> object:
    if isinstance(value, list):
        return [_masked_value(name, item) for item in value]
    shown = masked_variable(name, text_of(value))
    return value if shown == text_of(value) else shown


def sweep_of(texts: Texts, exclude: Iterable[Exclusion], where: str) -> Sweep:
    """Build the sweep from typed entries; raises BenchtuiError if one isn't allowed."""
    table: Table = {}
    for entry, text in texts.items():
        home, _, name = entry.rpartition(".")
        (table.setdefault(home, {}) if home else table)[name] = value_of(entry, text)
    return toml_reader.sweep_of(table | {"exclude": _tables(exclude)}, where)


def texts_of(table: Table) -> dict[str, str]:
    """Return the text of each entry in a TOML file."""
    texts = {}
    for entry in toml_reader.entries():
        home, _, name = entry.rpartition(".")
        holder = table.get(home, {}) if home else table
        if (key := _key(holder, name)) in holder:
            texts[entry] = text_of(holder[key])
    return texts


def _key(holder: Mapping[str, object], name: str) -> str:
    """Return the key that has an entry in a table, which may be the name that another library has for it."""
    return name if name in holder else next((key for key in holder if entry_named(key, (name,)) == name), name)


def table_of(sweep: Sweep) -> Table:
    """Return a sweep as the entries of a TOML file, including defaults, without unset values."""
    table = _entries(sweep) | {"exclude": _tables(sweep.exclude)}
    models = sweep.axes.model
    return table if models == Axes().model else table | {"model": list(models)}


def default_table() -> Table:
    """Return the entries of a sweep that states none. Minimum times have no fixed default and are omitted."""
    run = Run(wait_for_quiet_s=WAIT_FOR_QUIET_S)
    table = table_of(Sweep(name="", model="", task=AUTO, measure=MEASURE_DEFAULTS, run=run))
    return table | {"measure": {name: item for name, item in table["measure"].items() if name not in _IMPLIED}}


def toml_of(sweep: Sweep, *, whole: bool = False) -> str:
    """Format a sweep as a TOML file: name, model and everything that isn't a default.

    With ``whole``, defaults that its task uses are stated, too: in another version, they may be others.
    """
    written = rewrite_toml("", texts_of(_stated(sweep, whole)), {}, sweep.exclude)
    text = "\n".join(
        escape_unprintable(line, lambda character: f"\\U{ord(character):08x}") for line in written.split("\n")
    )
    return f"{_MASK_COMMENT}{text}" if MASK in text else text


def unstated(sweep: Sweep) -> dict[str, str]:
    """Return the defaults that a task uses and the TOML file of its sweep leaves out, by dotted entry."""
    stated = texts_of(_stated(sweep, whole=False))
    return {entry: text for entry, text in texts_of(_stated(sweep, whole=True)).items() if entry not in stated}


def _stated(sweep: Sweep, whole: bool) -> Table:
    """Return the entries of a sweep that differ from their defaults, or with ``whole`` all that it uses."""
    default = default_table()
    is_said = _used(sweep, default) if whole else _differing(sweep, default)
    said: Table = {}
    for key, value in table_of(sweep).items():
        if isinstance(value, dict) and key != "env":
            value = {name: item for name, item in value.items() if is_said(key, name, item)}
            value = value if whole else _without_implied(value)
        if value not in (({}, []) if whole else (default.get(key), {})):
            said[key] = value
    if sweep.model == sweep.task:  # a user-defined step that names no model
        del said["model"]
    return said


def _used(sweep: Sweep, default: Table) -> Callable[[str, str, object], bool]:
    """Leave out empty entries, and defaults that the task doesn't use or a user-defined step leaves open."""
    other_tasks = [option.name for option in OPTIONS if option.tasks and sweep.task not in option.tasks]
    own_table = task_named(sweep.task).entries
    unused = {name: tuple(default[name]) for name in ("train", "generate") if name != own_table}
    unused["axes"] = (*other_tasks, *sweep.axes.unset)
    return lambda key, name, item: (
        item not in ("", []) and (name not in unused.get(key, ()) or item != default[key].get(name))
    )


def _differing(sweep: Sweep, default: Table) -> Callable[[str, str, object], bool]:
    """Leave out defaults, except those that name the cases of a user-defined step."""
    kept = _NAMED_AXES if custom_task(sweep.task) else ()
    return lambda key, name, item: item != default.get(key, {}).get(name) or (key == "axes" and name in kept)


def rewrite_toml(source: str, texts: Texts, before: Texts, exclude: Iterable[Exclusion] | None) -> str:
    """Rewrite the entries of a TOML file that differ from ``before``; everything else is kept as it is.

    The exclusions are replaced unless ``exclude`` is None.
    """
    document = tomlkit.parse(source)
    for entry in dict.fromkeys((*before, *texts)):
        if texts.get(entry) != before.get(entry):
            _write(document, entry, texts.get(entry))
    if exclude is not None:
        document.pop("exclude", None)
        if tables := _tables(exclude):
            document["exclude"] = tables
    return tomlkit.dumps(document)


def _write(document: MutableMapping[str, Any], entry: str, text: str | None) -> None:
    home, _, name = entry.rpartition(".")
    if home and home not in document:
        document[home] = tomlkit.table()
    holder = document[home] if home else document
    name = _key(holder, name)
    if text is None:
        holder.pop(name, None)
        return
    value = value_of(entry, text)
    if isinstance(value, dict):
        _write_pairs(holder, name, value, inline=entry == "measure.baseline")
    else:
        holder[name] = _list(value) if isinstance(value, list) else value


def _list(values: list[object]) -> tomlkit.items.Item:
    """Build a list by parsing its text; tomlkit takes quadratic time to build one from values."""
    return tomlkit.value(f"[{', '.join(tomlkit.item(element).as_string() for element in values)}]")


def _write_pairs(holder: MutableMapping[str, Any], name: str, pairs: Table, inline: bool) -> None:
    """Update the pairs of a table one by one, so that comments next to the others stay."""
    if not isinstance(holder.get(name), Mapping):
        holder[name] = tomlkit.inline_table() if inline else tomlkit.table()
    table = holder[name]
    for gone in [key for key in table if key not in pairs]:
        del table[gone]
    for key, value in pairs.items():
        if text_of(table.get(key)) != text_of(value):
            table[key] = value


def _text_of_pairs(table: Mapping[str, object]) -> str:
    """Format as ``name=value, name=value``, or as TOML if that would be ambiguous."""
    pairs = {name: text_of(value) for name, value in table.items()}
    if all(text and text.strip() == text and not set(text) & set(",={}\"'") for text in pairs.values()):
        return ", ".join(f"{name}={text}" for name, text in pairs.items())
    inline = tomlkit.inline_table()
    inline.update({name: value if isinstance(value, list) else pairs[name] for name, value in table.items()})
    return inline.as_string()


def _pairs(entry: str, text: str) -> Table:
    pairs: Table = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise BenchtuiError(f"{entry}: {quoted(part)} is not a pair; write name=value, name=value")
        pairs[name.strip()] = _plain(value.strip())
    return pairs


def _plain(text: str) -> str | int:
    """Return an integer if the text is one as TOML would write it, otherwise the text."""
    is_number = text.isascii() and text.isdigit() and len(text) < 11 and str(int(text)) == text
    return int(text) if is_number else text


def _tables(exclude: Iterable[Exclusion]) -> list[Table]:
    return [dict(exclusion.named) for exclusion in exclude]


_IMPLIED = {NAMES[field]: count for field, count in COUNTS.items()}
"""Minimum times, each with the count that makes it 0 if the sweep states it."""


def _without_implied(said: Table) -> Table:
    """Leave out the minimum times that the reader would set."""
    implied = {name: AUTO if said.get(count, AUTO) == AUTO else 0.0 for name, count in _IMPLIED.items()}
    return {name: item for name, item in said.items() if name not in implied or item != implied[name]}


def _entries(record: Record) -> Table:
    table: Table = {}
    for field in record.__struct_fields__:
        value = getattr(record, field)
        name = NAMES.get(field, field)
        if field.endswith("_auto"):
            most = getattr(record, field.replace("_auto", "_most"), None)
            limit = "" if most is None else f"{AT_MOST}{most}"
            table |= {field.removesuffix("_auto"): AUTO + limit} if value else {}
        elif field.endswith("_most") or field in ("unset", *getattr(record, "unset", ())):
            continue
        elif name in _IMPLIED and value is None:
            table[name] = AUTO
        elif field == "wait_for_quiet_s" and not value:  # null: an older session, which didn't wait
            table[name] = "off"
        elif isinstance(record, Axes) and BY_NAME[field].named_values:
            table |= {field: _named_values(field, value)} if any(value) else {}
        elif value is not None and field != "exclude" and (field != "model" or isinstance(value, str)):
            table[name] = _said(field, value)
    return table


def _named_values(axis: str, lines: tuple[str, ...]) -> Table:
    """Return a table of names with their values. Raises BenchtuiError for lines that aren't name=value.

    Sessions from other sources may have such lines. Dropping them would change the sweep.
    """
    try:
        axes = named_values.axes_of(lines)
    except ValueError as error:
        malformed = quoted(", ".join(lines))
        raise BenchtuiError(f"axes.{axis}: {malformed} isn't a list of name=value") from error
    return {name: values[0] if len(values) == 1 else values for name, values in axes.items()}


def _said(field: str, value: object) -> object:
    if isinstance(value, msgspec.Struct):
        return _entries(value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        return value[0] if len(value) == 1 else _range(value) or list(value)
    if field.endswith("_percent"):
        return f"{str(value).removesuffix('.0')}%"  # all digits: rounding would change the sweep
    if field.endswith("_s") and not field.endswith("_per_s") and isinstance(value, float):
        return _time(value)
    if field.endswith("_c"):
        return f"{value:g}C"
    return value


def _time(seconds: float) -> str | float:
    """Format a duration in the largest unit that divides it, or return seconds."""
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return seconds


def _range(values: tuple[Any, ...]) -> str | None:
    """Return the range that expands to these numbers, or None."""
    if len(values) < LEAST_IN_RANGE or not all(isinstance(value, int) for value in values):
        return None
    first, second, *_, last = values
    step = second - first
    forms = [f"{first}..{last}" if step == 1 else f"{first}..{last}+{step}"] if step > 0 else []
    forms += [f"{first}..{last}*{second // first}"] if first and second % first == 0 else []
    return next((form for form in forms if _gives(form, values)), None)


def _gives(form: str, values: tuple[int, ...]) -> bool:
    try:
        return ranges.whole_numbers(form, form, ranges.Bounds(least=0)) == values
    except BenchtuiError:
        return False
