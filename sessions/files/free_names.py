"""Free names: NAME, NAME-2, NAME-3 and so on, taken by creating the file.

Whether a name is free is known only once the file has been created exclusively: another process, or another
machine with the same home, may take the name at any moment.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

from benchtui.sessions.errors import BenchtuiError

T = TypeVar("T")


def create_in_free_name(path: Path, create: Callable[[Path], T]) -> tuple[Path, T]:
    """Create a file with this name, numbered if the name is taken; return its path and what ``create`` returns.

    ``create`` must create the file exclusively. Taken is a name for which it raises BenchtuiError because of
    FileExistsError.
    """
    for number in count(1):
        candidate = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            return candidate, create(candidate)
        except BenchtuiError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
    raise AssertionError("numbers never end")
