"""Sweeps in YAML, converted to the TOML text that the parser reads.

Words are parsed as in YAML 1.2: ``off`` and ``no`` are text, and only ``true`` and ``false`` are booleans.
"""

import re
from typing import Any

from benchtui.sessions.errors import BenchtuiError

SUFFIXES = (".yaml", ".yml")
_BOOL = "tag:yaml.org,2002:bool"


def toml_of_yaml(text: str, where: str) -> str:
    """Convert a sweep; ``where`` names it in errors.

    Raises:
        BenchtuiError: If the text isn't a YAML mapping, has aliases, or a value that TOML lacks; or if PyYAML
            isn't installed.
    """
    try:
        import yaml  # optional: transformers installs it, but the light install lacks it
    except ImportError as error:
        raise BenchtuiError(f"{where}: reading YAML needs PyYAML: pip install pyyaml") from error
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise BenchtuiError(f"{where}: YAML aliases (*name) aren't supported")
        table = yaml.load(text, _loader(yaml))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BenchtuiError(f"{where}: not valid YAML: {_reason(error)}") from error
    if not isinstance(table, dict):
        raise BenchtuiError(f"{where}: not a mapping of entries, such as model: distilbert-base-uncased")
    import tomlkit  # other sweeps are read without it

    try:
        return tomlkit.dumps(table)
    except (TypeError, ValueError, RecursionError) as error:
        raise BenchtuiError(f"{where}: has a value that a sweep can't have: {error}") from error


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
