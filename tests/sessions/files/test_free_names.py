"""Names of files that several processes want at once."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.files.output_file import create_in_free_name
from benchtui.sessions.journal.writer import Journal


def create(path: Path) -> str:
    try:
        path.touch(exist_ok=False)
    except FileExistsError as error:
        raise BenchtuiError("taken") from error
    return path.stem


def test_taken_name_gets_the_next_number(tmp_path: Path) -> None:
    made = [create_in_free_name(tmp_path / "a.b.json", create) for _ in range(3)]
    assert made == [(tmp_path / f"{stem}.json", stem) for stem in ("a.b", "a.b-2", "a.b-3")]


def test_sessions_created_at_the_same_time_all_get_a_file(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        journals = list(pool.map(lambda _: Journal(tmp_path / "s.json", numbered=True), range(6)))
    names = {journal.path.name for journal in journals}
    for journal in journals:
        with closing(journal):
            assert journal.path.exists()
    assert names == {"s.json", *(f"s-{number}.json" for number in range(2, 7))}
