import os
import tracemalloc
from pathlib import Path

import pytest

from benchtui.sessions.files.input_file import SMALL_BYTES, open_plain, read_plain, read_text


def test_a_plain_file_is_read_up_to_its_bound(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff")
    path.write_bytes(b"x" * 10)
    assert read_plain(path, 10) == b"x" * 10
    with pytest.raises(OSError, match="larger than 9e-06 MB"):
        read_plain(path, 9)


def test_a_sparse_file_costs_no_memory(tmp_path: Path) -> None:
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


def test_a_small_file_costs_no_memory_whatever_its_bound(tmp_path: Path) -> None:
    path = tmp_path / "small"
    path.write_bytes(b"x" * 10)
    tracemalloc.start()
    try:
        assert read_plain(path, 500_000_000) == b"x" * 10
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_file_without_a_size_is_read_whole() -> None:
    assert read_plain(Path("/proc/self/maps")).count(b"\n") > 10
    with pytest.raises(OSError, match="larger than"):
        read_plain(Path("/proc/self/maps"), 100)


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("/dev/zero")
    for path, what in ((tmp_path / "fifo", "a pipe"), (tmp_path / "link", "a device")):
        with pytest.raises(OSError, match=f"{what}, not a file"):
            read_plain(path)
    with pytest.raises(IsADirectoryError):
        read_plain(tmp_path)


def test_a_link_is_followed_only_where_it_may_be(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"text")
    link.symlink_to(target)
    with open_plain(link) as file:
        assert file.read() == b"text"
    with pytest.raises(OSError, match="a link, not a file"):
        read_plain(link, follow=False)


def test_text_has_no_mark_and_plain_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffä = 1\r\nb = 2\n".encode())
    assert read_text(path) == "ä = 1\nb = 2\n"
    path.write_bytes(b"\xff")
    with pytest.raises(UnicodeDecodeError):
        read_text(path)
