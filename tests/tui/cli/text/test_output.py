from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.tui.cli.text.output import write_document


def test_document_is_printed_with_one_final_line_break(capsys: pytest.CaptureFixture[str]) -> None:
    write_document("a", None)
    write_document("b\n", None)
    assert capsys.readouterr().out == "a\nb\n"


def test_document_is_written_to_a_file(tmp_path: Path) -> None:
    write_document("a\n", tmp_path / "a.md")
    assert (tmp_path / "a.md").read_text() == "a\n"


def test_input_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("[]")
    with pytest.raises(BenchtuiError, match="never overwritten"):
        write_document("a", tmp_path / "s.json", (tmp_path / "s.json",))


def test_existing_file_is_kept_unless_overwriting_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("before")
    with pytest.raises(BenchtuiError, match=r"a\.toml"):
        write_document("after", tmp_path / "a.toml", over=False)
    assert (tmp_path / "a.toml").read_text() == "before"
