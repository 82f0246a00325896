"""Texts come out of every kind of source as they stand there, or one line says why not."""

import json
import os
import tempfile
from hashlib import sha256
from pathlib import Path

import datasets
import pytest

from benchtui.engine.workloads.inputs import datasets as text
from benchtui.engine.workloads.inputs import stored_text
from benchtui.engine.workloads.inputs.datasets import load_texts
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.stored_models import hub_names


def write(path: Path, content: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode())
    return str(path)


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def message(dataset: str) -> str:
    """The one line that a dataset which cannot be loaded gives."""
    with pytest.raises(BenchtuiError) as caught:
        load_texts(dataset)
    assert "\n" not in str(caught.value)
    assert dataset in str(caught.value)
    return str(caught.value)


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that answers."""
    monkeypatch.setattr(stored_text.hub, "reachable", lambda: True)


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No hub, and nothing in the cache."""
    monkeypatch.setattr(stored_text.hub, "reachable", lambda: False)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str | None, str, bool]]:
    """What the library was asked to load from the hub: id, configuration, split, whether offline."""
    calls: list[tuple[str, str | None, str, bool]] = []
    splits = {"both/splits": ["train", "test"], "no/test": ["validation", "train"]}

    def load_dataset(path: str, name: str | None, *, split: str) -> datasets.Dataset:
        calls.append((path, name, split, datasets.config.HF_HUB_OFFLINE))
        return datasets.Dataset.from_dict({"label": [0, 1], "sentence": [f"{split} one", f"{split} two"]})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr(datasets, "get_dataset_split_names", splits.__getitem__)
    return calls


def test_bundled_sample_is_marked() -> None:
    sample = load_texts("sample")
    assert (sample.name, len(sample.texts), sample.marks) == ("sample", 400, ("sample text",))
    first = json.loads(text.FILE.read_text(encoding="utf-8").splitlines()[0])
    assert sample.texts[0] == first["text"]
    digest = sha256(text.FILE.read_bytes()).hexdigest()  # sessions that measured other texts can't be compared
    assert digest == "b2d2761a1c3dba6a389736fc8a2bd6b22c221e03ff2d5c1f942a58ac9d3c557b"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", lines({"text": "one, 1"}, {"text": 'two "é"'})),
        ("a.json", json.dumps([{"text": "one, 1"}, {"text": 'two "é"'}])),
        ("a.csv", 'label,text\n0,"one, 1"\n1,"two ""é"""\n'),
        ("a.tsv", 'label\ttext\n0\tone, 1\n1\t"two ""é"""\n'),
        ("a.TXT", 'one, 1\n\ntwo "é"\n'),
    ],
)
def test_local_files_of_every_type_are_read(tmp_path: Path, name: str, content: str) -> None:
    path = write(tmp_path / name, content)
    assert load_texts(path) == text.Texts(path, ["one, 1", 'two "é"'], ())


def test_parquet_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    datasets.Dataset.from_dict({"content": ["one", "two"], "label": [0, 1]}).to_parquet(path)
    assert load_texts(str(path)).texts == ["one", "two"]


def test_more_rows_than_one_batch_keep_their_order(tmp_path: Path) -> None:
    rows = [f"text {index}" for index in range(2 * stored_text.ROWS + 1)]
    assert load_texts(write(tmp_path / "many.txt", "\n".join(rows))).texts == rows


def test_only_empty_texts_are_dropped(tmp_path: Path) -> None:
    rows = [{"text": value} for value in ("", " one ", None, "\n\t", "two")]
    assert load_texts(write(tmp_path / "a.jsonl", lines(*rows))).texts == [" one ", "two"]


@pytest.mark.parametrize("content", ["", "\n\n", lines({"text": " "}, {"text": ""})])
def test_dataset_without_text_is_an_error(tmp_path: Path, content: str) -> None:
    assert "contains no text" in message(write(tmp_path / "a.jsonl", content))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"title": "no", "review": "yes"}, "yes"),
        ({"content": "no", "text": "yes", "review": "no"}, "yes"),
        ({"stars": 5, "anything": "yes"}, "yes"),
        ({"text": 5, "body": "yes"}, "yes"),
        ({"text": ["no"], "body": "yes"}, "yes"),
    ],
)
def test_text_column_is_the_named_or_only_string_column(
    tmp_path: Path, row: dict[str, object], expected: str
) -> None:
    assert load_texts(write(tmp_path / "a.jsonl", lines(row))).texts == [expected]


@pytest.mark.parametrize("row", [{"title": "a", "body": "b"}, {"title": 1, "body": 2}])
def test_ambiguous_text_column_lists_the_columns(tmp_path: Path, row: dict[str, object]) -> None:
    line = message(write(tmp_path / "a.jsonl", lines(row)))
    assert all(name in line for name in ("title", "body", "text", "sentence", "review", "content"))


def test_folder_files_are_read_in_name_order(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", lines({"text": "two"}))
    write(tmp_path / "a.jsonl", lines({"text": "one"}))
    write(tmp_path / "empty.jsonl", "")
    write(tmp_path / "README.md", "not this")
    write(tmp_path / "below" / "c.jsonl", lines({"text": "nor this"}))
    assert load_texts(str(tmp_path)).texts == ["one", "two"]


def test_folder_with_several_file_types_is_rejected(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "text\none\n")
    write(tmp_path / "b.txt", "two\n")
    assert ".csv, .txt" in message(str(tmp_path))


def test_folder_without_supported_files_lists_the_types(tmp_path: Path) -> None:
    write(tmp_path / "a.xml", "<a/>")
    assert ".jsonl, .json, .csv, .tsv, .txt, .parquet" in message(str(tmp_path))


@pytest.mark.parametrize("name", ["a[1].jsonl", "a*.jsonl", "a?.jsonl", "folder [old]/a.jsonl"])
def test_file_names_are_not_treated_as_patterns(tmp_path: Path, name: str) -> None:
    write(tmp_path / "a1.jsonl", lines({"text": "not this"}))
    assert load_texts(write(tmp_path / name, lines({"text": "this"}))).texts == ["this"]


def test_unsupported_file_type_lists_the_supported_ones(tmp_path: Path) -> None:
    assert ".jsonl, .json, .csv, .tsv, .txt, .parquet" in message(write(tmp_path / "a.xml", "<a/>"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("torn.jsonl", '{"text": "one"}\n{"text": "tw'),
        ("prose.json", "not json"),
        ("junk.parquet", "not parquet"),
        ("latin.txt", "caf\udce9\n"),
        ("latin.csv", "text\ncaf\udce9\n"),
    ],
)
def test_unreadable_file_gives_a_one_line_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode(errors="surrogateescape"))
    assert "can't read it" in message(str(path))
    assert capfd.readouterr() == ("", "")


def test_folder_files_with_different_columns_are_rejected(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", lines({"text": "one"}))
    write(tmp_path / "b.jsonl", lines({"review": "two"}))
    assert "column names don't match" in message(str(tmp_path))


def test_reading_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", cache)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    assert load_texts("sample").texts
    assert not cache.exists()
    assert not list(temporary.iterdir())


@pytest.mark.parametrize(
    "dataset",
    [
        "nowhere.csv",
        "./nowhere",
        "/nowhere/at/all",
        "~/nowhere",
        "a/b/c",
        "two words",
        pytest.param("a" * 300 + "!", id="long"),
    ],
)
def test_path_like_name_is_not_searched_on_the_hub(
    asked: list[tuple[str, str | None, str, bool]], dataset: str
) -> None:
    assert "no such file or folder" in message(dataset)
    assert not asked


@pytest.mark.parametrize("dataset", ["", "text", "json:train"])
def test_names_that_would_read_the_working_directory_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str
) -> None:
    write(tmp_path / "private.txt", "not meant\n")
    write(tmp_path / "private.json", lines({"text": "not meant"}))
    monkeypatch.chdir(tmp_path)
    assert "no such file or folder" in message(dataset)


@pytest.mark.usefixtures("answering")
@pytest.mark.parametrize(
    ("dataset", "expected", "name"),
    [
        ("both/splits", ("both/splits", None, "test"), "both/splits:test"),
        ("no/test", ("no/test", None, "validation"), "no/test:validation"),
        ("imdb:train", ("imdb", None, "train"), "imdb:train"),
        ("glue:sst2:validation", ("glue", "sst2", "validation"), "glue:sst2:validation"),
    ],
)
def test_hub_dataset_defaults_to_its_test_split(
    asked: list[tuple[str, str | None, str, bool]],
    dataset: str,
    expected: tuple[str, str | None, str],
    name: str,
) -> None:
    split = expected[2]
    assert load_texts(dataset) == text.Texts(name, [f"{split} one", f"{split} two"], ())
    assert asked == [(*expected, False)]


@pytest.mark.usefixtures("unreachable")
def test_unreachable_hub_falls_back_to_the_cache(asked: list[tuple[str, str | None, str, bool]]) -> None:
    assert load_texts("imdb:train").texts
    assert asked == [("imdb", None, "train", True)]
    assert datasets.config.HF_HUB_OFFLINE is False


@pytest.mark.usefixtures("unreachable")
@pytest.mark.parametrize("dataset", ["nobody/nothing", "nobody/nothing:test", "imdb"])
def test_unreachable_hub_without_a_cache_names_the_remedy(dataset: str) -> None:
    line = message(dataset)
    assert "the hub is unreachable" in line
    assert '"sample"' in line


def test_offline_mode_makes_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(stored_text.hub, "reachable", lambda: pytest.fail("the network was asked"))
    assert "HF_HUB_OFFLINE" in message("nobody/nothing")


@pytest.mark.usefixtures("answering")
def test_hub_errors_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(*args: object, **options: object) -> None:
        raise ValueError("Unknown split 'nope'.\nShould be one of ['train'].")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert "Unknown split 'nope'. Should be one of ['train'];" in message("imdb:nope")


def test_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "HOME", str(tmp_path))
    write(tmp_path / "a.txt", "one\n")
    assert load_texts("~/a.txt").texts == ["one"]


def test_every_ending_of_a_file_of_texts_has_a_reader() -> None:
    assert set(stored_text.READERS) == set(hub_names.TEXT_SUFFIXES)
