"""Lazy import of pyarrow, which is optional and needed only for Parquet."""

from importlib import import_module
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def arrow() -> ModuleType:
    """Import pyarrow with its ``parquet`` module. Raises BenchtuiError if it can't be loaded."""
    try:
        import_module("pyarrow.parquet")  # takes half a second
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            "--format parquet needs pyarrow, which isn't installed: pip install pyarrow, or take csv or json"
        ) from error
    except ImportError as error:
        raise BenchtuiError(f"--format parquet needs pyarrow, which can't be loaded: {error}") from error
