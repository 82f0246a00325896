"""Lazy import of pyarrow, which is optional and needed only for Parquet."""

from importlib import import_module
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def import_pyarrow() -> ModuleType:
    """Import pyarrow with its ``parquet`` module. Raises BenchtuiError if it can't be loaded."""
    try:
        import_module("pyarrow.parquet")  # takes half a second
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            "--format parquet requires pyarrow, which isn't installed: run pip install pyarrow,"
            " or use csv or json"
        ) from error
    except ImportError as error:
        raise BenchtuiError(f"--format parquet requires pyarrow, which failed to import: {error}") from error
