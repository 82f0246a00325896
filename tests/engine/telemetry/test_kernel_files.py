from pathlib import Path

from benchtui.engine.telemetry.kernel_files import kernel_lines, kernel_text


def test_file_that_cannot_be_read_is_empty(tmp_path: Path) -> None:
    assert (kernel_text(tmp_path / "missing"), kernel_lines(tmp_path)) == ("", [])


def test_bytes_that_are_not_text_are_replaced_or_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b" a\xff\nb\n")
    assert kernel_lines(tmp_path / "file") == ["a\ufffd", "b"]
    assert kernel_text(tmp_path / "file", "surrogateescape") == "a\udcff\nb"
