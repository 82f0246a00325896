"""Sweeps in YAML, converted to the TOML text that the parser reads.

Words are parsed as in YAML 1.2: ``off`` and ``no`` are text, and only ``true`` and ``false`` are booleans.
"""

import re
from typing import Any

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.bounded_toml import MOST_LEVELS

Table = dict[object, object]
SUFFIXES = (".yaml", ".yml")
MOST_CHARACTERS = 50_000
"""Maximum length of a sweep in YAML. PyYAML takes half a second for it."""
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_BOOL = "tag:yaml.org,2002:bool"


def toml_of_yaml(text: str, where: str) -> str:
    """Convert a sweep; ``where`` names it in errors.

    Raises BenchtuiError if the text isn't a YAML mapping, has aliases, or a value that TOML lacks; or if PyYAML
    isn't installed.
    """
    try:
        import yaml  # optional: transformers installs it, but the light install lacks it
    except ImportError as error:
        raise BenchtuiError(f"{where}: reading YAML needs PyYAML: pip install pyyaml") from error
    try:
        _check_limits(text, where, yaml)
        table = yaml.load(text, _loader(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BenchtuiError(f"{where}: not valid YAML: {_reason(error)}") from error
    if not isinstance(table, dict):
        raise BenchtuiError(f"{where}: not a mapping of entries, such as model: distilbert-base-uncased")
    try:
        return _document(table)
    except (TypeError, ValueError, RecursionError) as error:
        raise BenchtuiError(f"{where}: has a value that a sweep can't have: {error}") from error


def _check_limits(text: str, where: str, yaml: Any) -> None:  # noqa: ANN401  (PyYAML's module)
    """Refuse long or deeply nested text, before PyYAML takes quadratic time for it, and aliases."""
    if len(text) > MOST_CHARACTERS:
        raise BenchtuiError(
            f"{where}: {len(text):,} characters; YAML may have {MOST_CHARACTERS:,}, so write this sweep in TOML"
        )
    openings = (
        *(yaml.BlockMappingStartToken, yaml.BlockSequenceStartToken),
        *(yaml.FlowMappingStartToken, yaml.FlowSequenceStartToken),
    )
    endings = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
    level = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise BenchtuiError(f"{where}: YAML aliases (*name) aren't supported")
        level += isinstance(token, openings) - isinstance(token, endings)
        if level > MOST_LEVELS:
            line = token.start_mark.line + 1
            raise BenchtuiError(
                f"{where}: lists and mappings nested more than {MOST_LEVELS} levels deep (line {line})"
            )


def _document(table: Table) -> str:
    """Format a sweep as TOML. ``tomlkit.dumps`` would take quadratic time for many keys or list items."""
    blocks = [_entries({key: value for key, value in table.items() if not _tables_in(value)})]
    for key, value in table.items():
        header = f"[[{_key(key)}]]" if isinstance(value, list) else f"[{_key(key)}]"
        blocks += [f"{header}\n{_entries(entries)}" for entries in _tables_in(value)]
    return "\n".join(blocks)


def _tables_in(value: object) -> list[Table]:
    """Return the tables that a value of the sweep consists of; empty for any other value."""
    items = value if isinstance(value, list) else [value]
    tables = [item for item in items if isinstance(item, dict)]
    return tables if len(tables) == len(items) else []


def _entries(table: Table) -> str:
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError("Keys must be strings")
    return key if _BARE_KEY.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())}}}"
    from tomlkit import item  # other sweeps are read without it

    return item(value).as_string()


def _reason(error: Exception) -> str:
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return str(error).partition("\n")[0]
    return f"{problem} (line {mark.line + 1}, column {mark.column + 1})"


def _loader(yaml: Any) -> Any:  # noqa: ANN401  (PyYAML's module and a loader class)
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's own attribute)
            first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    Loader.add_implicit_resolver(_BOOL, re.compile("true|false"), "tf")
    return Loader
