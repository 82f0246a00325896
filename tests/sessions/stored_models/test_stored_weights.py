import json
import zipfile
from pathlib import Path

import pytest

from benchtui.sessions.stored_models.stored_weights import damaged_weights, stored_parameters


def write(path: Path, header: object) -> None:
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))


def tensor(*shape: int) -> dict[str, object]:
    return {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}


def test_parameters_of_all_files_are_counted(tmp_path: Path) -> None:
    write(
        tmp_path / "model-00001-of-00002.safetensors",
        {"__metadata__": {"format": "pt"}, "weight": tensor(3, 4), "scale": tensor()},
    )
    write(tmp_path / "model-00002-of-00002.safetensors", {"bias": tensor(5)})
    assert stored_parameters(tmp_path) == 12 + 1 + 5


def test_count_agrees_with_that_of_the_library(tmp_path: Path) -> None:
    torch, save = pytest.importorskip("torch"), pytest.importorskip("safetensors.torch").save_file
    save({"a": torch.zeros(7, 3), "b": torch.zeros(2)}, tmp_path / "model.safetensors")
    assert stored_parameters(tmp_path) == 23


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 8,
        b"\x02" + bytes(7) + b"[]",
        b"\x02" + bytes(7) + b"{",
        (9).to_bytes(8, "little") + b'{"a":[1]}',
    ],
)
def test_unreadable_files_count_as_unknown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.safetensors").write_bytes(content)
    assert stored_parameters(tmp_path) is None


def test_folder_without_weights_is_unknown(tmp_path: Path) -> None:
    assert stored_parameters(tmp_path) is None
    assert stored_parameters(tmp_path / "missing") is None


def test_damaged_file_of_torch_names_itself_and_the_remedy(tmp_path: Path) -> None:
    weights = tmp_path / "pytorch_model.bin"
    with zipfile.ZipFile(weights, "w") as archive:
        archive.writestr("archive/data.pkl", bytes(2_000))
    whole = weights.read_bytes()
    assert damaged_weights(tmp_path) == ""
    weights.write_bytes(whole[:1_500])
    assert damaged_weights(tmp_path) == "pytorch_model.bin is truncated: its end is missing; download it again"
    weights.write_bytes(b"<html>" + bytes(2_000))
    assert damaged_weights(tmp_path) == "pytorch_model.bin isn't a file of torch.save; download it again"
    weights.write_bytes(b"\x80\x02" + bytes(2_000))  # of old versions of torch
    assert damaged_weights(tmp_path) == ""
