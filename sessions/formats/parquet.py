"""pyarrow, which writes Parquet: asked for only then, and not always installed."""

from importlib import import_module
from types import ModuleType

from benchtui.sessions.errors import BenchtuiError


def arrow() -> ModuleType:
    """The module pyarrow, with its ``parquet``; raises BenchtuiError where it isn't installed."""
    try:
        import_module("pyarrow.parquet")  # half a second that this format alone pays
        return import_module("pyarrow")
    except ImportError as error:
        raise BenchtuiError(
            "--format parquet needs pyarrow, which isn't installed: pip install pyarrow, or take csv or json"
        ) from error
