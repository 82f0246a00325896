import os
import tracemalloc
from pathlib import Path

import pytest

from benchtui.sessions.files.input_file import SMALL_BYTES, open_plain, read_plain, read_text


def test_regular_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff")
    path.write_bytes(b"x" * 10)
    assert read_plain(path, 10) == b"x" * 10
    with pytest.raises(OSError, match="larger than 9e-06 MB"):
        read_plain(path, 9)


def test_sparse_file_allocates_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    tracemalloc.start()
    try:
        with pytest.raises(OSError, match="larger than 50 MB"):
            read_plain(path, 50 * SMALL_BYTES)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_small_file_allocates_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x" * 10)
    tracemalloc.start()
    try:
        assert read_plain(path, 500_000_000) == b"x" * 10
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_file_without_a_size_is_read_completely() -> None:
    assert read_plain(Path("/proc/self/maps")).count(b"\n") > 10
    with pytest.raises(OSError, match="larger than"):
        read_plain(Path("/proc/self/maps"), 100)


def test_non_regular_files_are_rejected_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, what in ((tmp_path / "fifo", "a pipe"), (tmp_path / "link", "a device")):
        with pytest.raises(OSError, match=f"{what}, not a file"):
            read_plain(path)
    with pytest.raises(IsADirectoryError):
        read_plain(tmp_path)


def test_link_is_followed_only_if_allowed(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"text")
    link.symlink_to(target)
    with open_plain(link) as file:
        assert file.read() == b"text"
    with pytest.raises(OSError, match="a link, not a file"):
        read_plain(link, follow=False)


def test_text_is_read_without_bom_and_with_plain_newlines(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffä = 1\r\nb = 2\n".encode())
    assert read_text(path) == "ä = 1\nb = 2\n"
    path.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_text(path)
