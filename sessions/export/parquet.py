"""pyarrow, which writes Parquet: asked for only then, and not always installed."""

from importlib import import_module
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def arrow() -> ModuleType:
    """The module pyarrow, with its ``parquet``; raises BenchtuiError where it can't be loaded."""
    try:
        import_module("pyarrow.parquet")  # half a second that this format alone pays
        return import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise BenchtuiError(
            "--format parquet needs pyarrow, which isn't installed: pip install pyarrow, or take csv or json"
        ) from error
    except ImportError as error:
        raise BenchtuiError(f"--format parquet needs pyarrow, which can't be loaded: {error}") from error
