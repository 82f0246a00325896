"""JSON Schema of a sweep file, generated from the options and the records of a sweep."""

from typing import Any, get_args

import msgspec

from benchtui.sessions.sweep import toml_reader
from benchtui.sessions.sweep.model import MOST_CELSIUS, Explain, Sweep
from benchtui.sessions.sweep.options import LARGEST, OPTIONS, SWITCH, Option
from benchtui.sessions.sweep.tasks import TASKS

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "minLength": 1}
_LIST_IN_TEXT: Schema = {"type": "string", "pattern": ","}
_RANGE: Schema = {"type": "string", "pattern": r"^ *\d+( *\.\. *\d+( *[+*] *\d+)?)? *$"}
_SEARCH: Schema = {"type": "string", "pattern": r"^ *auto *(<= *\d+ *)?$"}
_DURATION: Schema = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST},
        {"type": "string", "pattern": r"^ *([\d.]+ *[hms] *)+$|^ *[\d.]+ *$"},
    ]
}
_PERCENT: Schema = {
    "anyOf": [
        {"type": "number", "minimum": 0, "exclusiveMaximum": 100},
        {"type": "string", "pattern": r"^ *[\d.eE+-]+ *%?$"},
    ]
}
_RUN: Schema = {
    "wait_for_quiet": {"anyOf": [*_DURATION["anyOf"], {"const": "off"}, {"const": False}]},
    "wait_below": {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_CELSIUS},
            {"type": "string", "pattern": r"^ *[\d.]+ *(°?C)? *$"},
        ]
    },
}
"""Entries of ``run`` whose text has a syntax of its own."""
_AUTO: Schema = {"const": toml_reader.AUTO}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_NAMED_VALUES: Schema = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR}]}},
        _TEXT,
    ]
}
_EXPLAIN: Schema = {"enum": list(get_args(Explain))}


def sweep_schema() -> Schema:
    """Return the JSON Schema of a sweep file: of the JSON document that corresponds to its TOML."""
    single = {option.name: _option(option, several=False) for option in OPTIONS}
    properties: Schema = {
        "model": _one_or_several(_TEXT),
        "task": {"anyOf": [{"enum": list(TASKS)}, {"type": "string", "pattern": r"^.+\.py:\w+$"}]},
        "name": _TEXT,
        "dataset": _TEXT,
        "weights": _field("Sweep", "weights"),
        "env": {"type": "object", "additionalProperties": {"type": ["string", "integer"]}},
        "exclude": {"type": "array", "items": _table(single)},
        "axes": _table({option.name: _option(option) for option in OPTIONS if option.name != "model"}),
        "measure": _table({**_fields("Measure"), **_measure(), "baseline": _table(single)}),
        "run": _table(_fields("Run") | _RUN),
        **{name: _table(_fields(name.capitalize())) for name in ("train", "generate")},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "benchtui sweep",
        **_table(properties),
        "anyOf": [{"required": ["model"]}, {"required": ["task"]}],
    }


def _measure() -> Schema:
    """Return the entries of ``measure`` whose text has a syntax of its own."""
    count = {"type": "integer", "minimum": 0, "maximum": LARGEST}
    return {
        "warmup": {"anyOf": [count, _AUTO]},
        "min_warmup": {"anyOf": [*_DURATION["anyOf"], {"const": 0}, _AUTO]},
        "min_time": {"anyOf": [*_DURATION["anyOf"], {"const": 0}, _AUTO]},
        "until": {"anyOf": [*_PERCENT["anyOf"], _AUTO]},
        "margin": _PERCENT,
        "max_time": _DURATION,
        "timeout": _DURATION,
        "explain": {"anyOf": [{"type": "boolean"}, _EXPLAIN, {"type": "array", "items": _EXPLAIN}]},
        "retries": {"type": "integer", "minimum": 0},
    }


def _fields(record: str) -> Schema:
    """Return the entries of a record, by their names in a file. Internal ones have none there."""
    names = {field: name for name, field in toml_reader.FIELDS.items()}
    known = {name.rpartition(".")[2] for name in toml_reader.entries() if name.startswith(f"{record.lower()}.")}
    return {
        names.get(field, field): _field(record, field)
        for field in _RECORDS[record]["properties"]
        if names.get(field, field) in known
    }


def _field(record: str, field: str) -> Schema:
    found: Schema = _RECORDS[record]["properties"][field]
    return {key: value for key, value in found.items() if key != "default"}


def _option(option: Option, several: bool = True) -> Schema:
    """Return what an option may be: a value, or with ``several`` also a list, or a range of numbers."""
    if option.named_values:
        return _NAMED_VALUES | {"description": option.help}
    if option.numeric:
        value: Schema = {
            "anyOf": [{"type": "integer", "minimum": option.least, "maximum": option.most}, _RANGE]
        }
        if option.name == "batch_size" and several:
            value["anyOf"].append(_SEARCH)
    elif option.values:
        words = [*option.values, *(alias for alias, _ in option.aliases)]
        forms: list[Schema] = [{"enum": words + ([False, True] if set(SWITCH) <= set(option.values) else [])}]
        forms += [{"type": "string", "pattern": f"^(?:{option.pattern})$"}] if option.pattern else []
        value = {"anyOf": forms}
    else:
        value = {"type": "string"}
    return (_one_or_several(value) if several else value) | {"description": option.help}


def _one_or_several(value: Schema) -> Schema:
    return {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}, _LIST_IN_TEXT]}


def _table(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


_RECORDS: Schema = msgspec.json.schema(Sweep)["$defs"]
