import os
import re
import resource
from pathlib import Path

import pytest

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import check_output, output_file

ROOT = Path(__file__).parents[3]
SESSION = b'[\n{"event":"session_started","t":0.0,'
REFUSED = "is a session; sessions are never overwritten"


@pytest.mark.parametrize(
    "begins",
    [
        SESSION,
        SESSION.removeprefix(b"[\n"),
        b'[{"event":"session_started"',
        b'[\r\n    {\r\n        "event": "session_started",',
    ],
)
def test_file_that_begins_like_a_session_is_never_overwritten(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    for over in (False, True):
        with pytest.raises(BenchtuiError, match=rf"report\.md: {REFUSED}"), output_file(path, over=over):
            pytest.fail("it was opened")
    assert path.read_bytes() == begins


@pytest.mark.parametrize(
    "begins", [b"", b"[\n", b'[\n{"event":"steps"', b'["event","session_started"]', b" " * 64 + SESSION]
)
def test_any_other_file_is_overwritten(begins: bytes, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_bytes(begins)
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_input_is_recognized_through_links(tmp_path: Path) -> None:
    path, symlink, hard_link = (tmp_path / name for name in ("input", "symlink", "hard link"))
    path.write_text("a session in a form of its own")
    symlink.symlink_to(path)
    hard_link.hardlink_to(path)
    for target in (path, symlink, hard_link, tmp_path / ".." / tmp_path.name / "input"):
        with pytest.raises(BenchtuiError, match=REFUSED):
            check_output(target, (tmp_path / "none", path))


def test_existing_file_is_kept_without_overwriting(tmp_path: Path) -> None:
    path, dangling = tmp_path / "report.md", tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "none")
    write(path, b"one", over=False)
    for taken in (path, dangling):
        with pytest.raises(BenchtuiError, match="already exists and won't be overwritten"):
            write(taken, b"two", over=False)
    assert (path.read_bytes(), (tmp_path / "none").exists()) == (b"one", False)


def test_file_created_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with pytest.raises(BenchtuiError, match="already exists"), output_file(path, over=False) as out:
        out.write(b"late")
        path.write_bytes(b"early")
    assert [each.name for each in tmp_path.iterdir()] == ["report.md"]
    assert path.read_bytes() == b"early"


def test_session_started_there_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    with pytest.raises(BenchtuiError, match=REFUSED), output_file(path) as out:
        out.write(b"late")
        path.write_bytes(SESSION)
    assert path.read_bytes() == SESSION
    assert len(list(tmp_path.iterdir())) == 1


def test_old_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
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
def test_full_disk_keeps_the_old_file_and_leaves_no_other(there: bool, tmp_path: Path) -> None:
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


def test_overwritten_file_keeps_its_mode_and_link(tmp_path: Path) -> None:
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


def test_private_file_replaces_a_link(tmp_path: Path) -> None:
    secret, note = tmp_path / "secret", tmp_path / "a.note"
    secret.write_bytes(b"of another")
    note.symlink_to(secret)
    write(note, b"a note", private=True)
    assert (secret.read_bytes(), note.read_bytes(), note.is_symlink()) == (b"of another", b"a note", False)
    assert note.stat().st_mode & 0o777 == 0o600


def test_names_may_have_any_bytes_and_the_maximum_length(tmp_path: Path) -> None:
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
def test_write_error_is_one_line(path: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BenchtuiError, match=rf"can't be written: {why}"):
        write(tmp_path / path, b"text")
    assert not list(tmp_path.iterdir())


def test_fifo_without_a_reader_is_an_error_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    check_output(tmp_path / "fifo", ())
    with pytest.raises(BenchtuiError, match="no process is reading from it"):
        write(tmp_path / "fifo", b"text")


def test_pipe_with_a_reader_is_written_directly(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(fifo, b"text")
        assert os.read(reader, 10) == b"text"
    finally:
        os.close(reader)


def test_device_is_written_directly() -> None:
    write(Path(os.devnull), b"text")
    with pytest.raises(BenchtuiError, match="/dev/full: can't be written: No space left on device"):
        write(Path("/dev/full"), b"text")


WRITES = re.compile(r"""\.write_(text|bytes)\((?!path|output|place)|open\([^)]*["'][wxa]b?\+?["']""")


def test_every_file_is_written_through_output_file() -> None:
    paths = [path for folder in ("sessions", "themes", "tui") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in paths if WRITES.search(path.read_text())}
    assert found == {"sessions/files/output_file.py"}


READS = re.compile(r"""(?<!input_file)\.read_(text|bytes)\(|\bopen\((encoding=|[^)]*["']rb?["'])""")


def test_every_user_file_is_read_through_input_file() -> None:
    paths = [path for folder in ("sessions", "themes", "tui") for path in (ROOT / folder).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in paths if READS.search(path.read_text())}
    assert found == {
        "sessions/files/input_file.py",
        "sessions/importers/quantities.py",  # names of columns, a file of the package
        "sessions/importers/registry.py",  # maps of the package
        "sessions/report/html.py",  # files of the package
        "sessions/export/json_document.py",  # texts of exported fields, a file of the package
        "sessions/stored_models/measurable.py",  # the table of the package
        "sessions/sweep/toml_reader.py",  # presets of the package
        "themes/__init__.py",  # themes of the package
        "tui/cli/setup.py",  # files of the package
    }


def write(path: Path, data: bytes, **how: bool) -> None:
    with output_file(path, **how) as out:
        out.write(data)
