from pathlib import Path
from typing import Literal

import pytest

from benchtui.engine.supervisor.recorded_session import read_for
from benchtui.sessions.errors import BenchtuiError


@pytest.mark.parametrize("purpose", ["resume", "explain"])
def test_error_names_file_and_purpose_once(tmp_path: Path, purpose: Literal["resume", "explain"]) -> None:
    path = tmp_path / "a.json"
    path.write_text('[\n{"event": 3}\n]\n')
    with pytest.raises(BenchtuiError) as error:
        read_for(purpose, path)
    assert str(error.value).startswith(f"{path}: can't {purpose}: line 2: ")
    assert str(error.value).count(str(path)) == 1
