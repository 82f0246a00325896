"""Sessions made by hand, by the fixture of the tests of the record, which folders beside theirs don't see."""

import runpy
from pathlib import Path

HAND_MADE = Path(__file__).parents[2] / "sessions" / "conftest.py"
bench = runpy.run_path(str(HAND_MADE), run_name="hand_made")["bench"]
