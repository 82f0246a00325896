"""Packages that an extra of benchtui installs and a light installation lacks."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def import_extra(module: str, extra: str, use: str) -> ModuleType:
    """Import a module of an extra.

    Raises BenchtuiError if it can't be imported. The message names the use, and the extra to install.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise BenchtuiError(f"{use} needs {missing(module, extra)}") from error
    except ImportError as error:
        raise BenchtuiError(f"{use} needs {module}, which failed to import: {error}") from error


def missing(module: str, extra: str) -> str:
    """Say that a module isn't installed, and how to install it."""
    return f"{module.partition('.')[0]}, not installed here; run: pip install 'benchtui[{extra}]'"


def is_installed(package: str) -> bool:
    """Return whether a package is installed, without importing it."""
    try:
        return find_spec(package) is not None
    except ValueError:  # it is imported, but by a program that gave it no spec
        return True
