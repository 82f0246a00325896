"""Import dialog: what it shows of a table and of the map that reads it."""

from pathlib import Path

from benchtui.sessions.library import import_preview
from benchtui.themes.symbols import UNICODE
from benchtui.tui.library.import_dialog import MappedTable, table_lines

TEXT = "model,batch,latency_ms,note\na,1,5.5,\nb,8,OOM,x\n"


def shown(path: Path, map_text: str, size: tuple[int, int] = (80, 20)) -> list[str]:
    table = import_preview.read(path)
    assert table is not None
    cases = import_preview.imported(table, map_text).measurements if map_text else ()
    mapped = MappedTable(table, map_text, cases)
    return ["".join(text for text, *_ in line) for line in table_lines(mapped, *size, UNICODE)]


def test_proposed_map_and_its_cases_are_shown(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TEXT)
    table = import_preview.read(tmp_path / "t.csv")
    assert table is not None
    assert table.map_text == "model=model,batch=batch_size,latency_ms=step_ms"
    lines = shown(tmp_path / "t.csv", table.map_text)
    assert [line.split() for line in lines[1:4]] == [
        ["model", "model", "a,", "b"],
        ["batch", "batch_size", "1,", "8"],
        ["latency_ms", "step_ms", "5.5,", "OOM"],
    ]
    assert lines[4].split()[:3] == ["note", "not", "read"]
    assert "a bs=1" in lines[7] and "5.50 ms" in lines[7]
    assert "b bs=8" in lines[8] and "oom: latency_ms is OOM" in lines[8]


def test_table_without_a_unit_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("batch,latency\n1,5\n2,6\n")
    table = import_preview.read(tmp_path / "t.csv")
    assert table is not None and table.map_text == ""
    assert table.problem.startswith("the unit of 'latency' isn't stated")
    assert "0 cases" in " ".join(shown(tmp_path / "t.csv", ""))


def test_file_of_a_known_tool_has_no_table(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text('{"results": [{"command": "a", "mean": 0.5}]}')
    assert import_preview.read(tmp_path / "h.json") is None


def test_many_columns_leave_room_for_cases(tmp_path: Path) -> None:
    names = ",".join(f"c{place}" for place in range(40))
    cells = ",".join(["1"] * 40)
    (tmp_path / "t.csv").write_text(f"batch,latency_ms,{names}\n1,5,{cells}\n")
    lines = shown(tmp_path / "t.csv", "batch=batch_size,latency_ms=step_ms", (80, 12))
    assert len(lines) <= 12
    assert "36 more not shown" in lines[0]
    assert "bs=1" in lines[-1]
