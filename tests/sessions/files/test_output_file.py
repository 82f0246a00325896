import os
import re
import resource
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output, output_file, write_text
from benchtui.sessions.library import paths as library

ROOT = Path(__file__).parents[3]
SESSION = b'[\n{"event":"session_started","t":0.0,'
REFUSED = "is a session, which is never overwritten"


@pytest.mark.parametrize(
    "begins",
    [
        SESSION,
        SESSION.removeprefix(b"[\n"),
        b'[{"event":"session_started"',
        b'[\r\n    {\r\n        "event": "session_started",',
    ],
)
def test_what_begins_as_a_session_is_one(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    for over in (False, True):
        with pytest.raises(BenchtuiError, match=rf"report\.md: {REFUSED}"), output_file(path, over=over):
            pytest.fail("it was opened")
    assert path.read_bytes() == begins


@pytest.mark.parametrize(
    "begins", [b"", b"[\n", b'[\n{"event":"steps"', b'["event","session_started"]', b" " * 64 + SESSION]
)
def test_anything_else_is_written_over(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_the_demo_begins_as_a_session() -> None:
    with pytest.raises(BenchtuiError, match=REFUSED):
        check_output(library.demo_path(), ())


def test_an_input_is_known_through_links(tmp_path: Path) -> None:
    path, symlink, hard_link = (tmp_path / name for name in ("input", "symlink", "hard link"))
    path.write_text("a session in a form of its own")
    symlink.symlink_to(path)
    hard_link.hardlink_to(path)
    for target in (path, symlink, hard_link, tmp_path / ".." / tmp_path.name / "input"):
        with pytest.raises(BenchtuiError, match=REFUSED):
            check_output(target, (tmp_path / "none", path))


def test_what_is_not_there_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "none")
    for name in ("none", "dangling", "nowhere/at/all", "n\0ul"):
        check_output(tmp_path / name, (tmp_path / "input",))


def test_only_what_is_new_is_written_where_nothing_may_be_written_over(tmp_path: Path) -> None:
    path, dangling = tmp_path / "report.md", tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "none")
    write(path, b"one", over=False)
    for taken in (path, dangling):
        with pytest.raises(BenchtuiError, match="exists already, and is not overwritten"):
            write(taken, b"two", over=False)
    assert (path.read_bytes(), (tmp_path / "none").exists()) == (b"one", False)


def test_another_that_took_the_name_meanwhile_keeps_it(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with pytest.raises(BenchtuiError, match="exists already"), output_file(path, over=False) as out:
        out.write(b"late")
        path.write_bytes(b"early")
    assert [each.name for each in tmp_path.iterdir()] == ["report.md"]
    assert path.read_bytes() == b"early"


def test_a_session_that_began_there_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with pytest.raises(BenchtuiError, match=REFUSED), output_file(path) as out:
        out.write(b"late")
        path.write_bytes(SESSION)
    assert path.read_bytes() == SESSION
    assert len(list(tmp_path.iterdir())) == 1


def test_until_all_is_written_the_old_file_stands(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), output_file(path) as out:
        out.write(b"half of the new")
        out.flush()
        assert path.read_bytes() == b"old"
        raise ZeroDivisionError
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("there", [True, False])
def test_a_full_disk_leaves_what_was_there_and_nothing_else(there: bool, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    if there:
        path.write_bytes(b"old")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
    try:
        with pytest.raises(BenchtuiError, match=r"report\.md: can't be written: File too large"):
            write(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == (
        {"report.md": b"old"} if there else {}
    )


def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    target, link, new = tmp_path / "report.md", tmp_path / "link", tmp_path / "new.md"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target.name)
    write(link, b"new")
    assert (target.read_bytes(), target.stat().st_mode & 0o777, link.is_symlink()) == (b"new", 0o640, True)
    usual = tmp_path / "usual"
    usual.touch()
    write(new, b"new")
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_private_file_takes_the_place_of_a_link(tmp_path: Path) -> None:
    secret, note = tmp_path / "secret", tmp_path / "a.note"
    secret.write_bytes(b"of another")
    note.symlink_to(secret)
    write(note, b"a note", private=True)
    assert (secret.read_bytes(), note.read_bytes(), note.is_symlink()) == (b"of another", b"a note", False)
    assert note.stat().st_mode & 0o777 == 0o600


def test_names_may_have_any_bytes_and_the_full_length(tmp_path: Path) -> None:
    for name in (os.fsdecode(b"r\xff.md"), "n" * 255):
        write(tmp_path / name, b"text")
        assert (tmp_path / name).read_bytes() == b"text"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere/report.md", "No such file or directory"),
        (".", "Is a directory"),
        ("n\0ul", "embedded null byte"),
    ],
)
def test_what_cannot_be_written_is_one_line(path: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match=rf"can't be written: {why}"):
        write(tmp_path / path, b"text")
    assert not list(tmp_path.iterdir())


def test_a_fifo_is_neither_read_nor_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    check_output(tmp_path / "fifo", ())
    with pytest.raises(BenchtuiError, match="nothing reads from it"):
        write(tmp_path / "fifo", b"text")


def test_a_pipe_that_is_read_is_written_as_it_comes(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(fifo, b"text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)


def test_a_device_is_written_as_it_is() -> None:
    write(Path(os.devnull), b"text")
    with pytest.raises(BenchtuiError, match="/dev/full: can't be written: No space left on device"):
        write(Path("/dev/full"), b"text")


def test_a_document_is_written_over_another_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    write_text(path, "one", (), over=False)
    with pytest.raises(BenchtuiError, match="exists already"):
        write_text(path, "two", (), over=False)
    assert path.read_text() == "one"
    write_text(path, "two", (), over=True)
    assert path.read_text() == "two"


WRITES = re.compile(r"""\.write_(text|bytes)\((?!path|output|place)|open\([^)]*["'][wxa]b?\+?["']""")


def test_whatever_writes_a_file_does_it_by_output_file() -> None:
    paths = [path for folder in ("sessions", "themes", "tui") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in paths if WRITES.search(path.read_text())}
    assert found == {"sessions/files/output_file.py"}


READS = re.compile(r"""(?<!input_file)\.read_(text|bytes)\(|\bopen\((encoding=|[^)]*["']rb?["'])""")


def test_whatever_reads_a_file_of_the_user_does_it_by_input_file() -> None:
    paths = [path for folder in ("sessions", "themes", "tui") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in paths if READS.search(path.read_text())}
    assert found == {
        "sessions/files/input_file.py",
        "sessions/report/html.py",  # files of the package
        "sessions/sweep/toml_reader.py",  # presets of the package
        "themes/__init__.py",  # themes of the package
    }


def write(path: Path, data: bytes, **how: bool) -> None:
    with output_file(path, **how) as out:
        out.write(data)
