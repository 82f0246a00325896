from collections.abc import Callable
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.locked_file import create_locked, open_locked


@pytest.mark.parametrize("make", [create_locked, open_locked])
def test_path_with_a_nul_character_is_rejected(make: Callable[[Path], int], tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match=r"session file.*: embedded null"):
        make(tmp_path / "s\0.json")
