from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from benchtui.engine.models import loading
from benchtui.engine.workloads.inputs.batches import SyntheticBatches, TextBatches
from benchtui.sessions.errors import BenchtuiError
from benchtui.sessions.sweep import Config


def nothing(part: str) -> None:
    """A part that isn't timed."""


def test_synthetic_rows_are_full_and_reproducible() -> None:
    config = Config(device="cpu", batch_size=3, sequence_length=8)
    one, other = (SyntheticBatches(1000, config) for _ in range(2))
    first, second = one.draw(nothing), one.draw(nothing)
    ids = first.inputs["input_ids"]
    assert torch.equal(ids, other.draw(nothing).inputs["input_ids"])
    assert not torch.equal(ids, second.inputs["input_ids"])
    assert ids.shape == first.mask.shape == (3, 8)
    assert bool(first.mask.all())
    assert int(ids.min()) >= 0 and int(ids.max()) < 1000


def test_synthetic_rows_have_no_attention_mask() -> None:
    assert set(SyntheticBatches(1000, Config(device="cpu")).draw(nothing).inputs) == {"input_ids"}


@pytest.mark.parametrize(
    ("length", "options", "masked"),
    [
        (4, {}, False),  # [CLS] good film [SEP]
        (8, {}, True),
        (8, {"padding": "longest"}, False),
        (4, {"compile": "default"}, False),
        (8, {"compile": "default"}, True),
        (8, {"compile": "default", "padding": "longest"}, False),
    ],
)
def test_only_padded_rows_have_an_attention_mask(
    tiny_gpt2: Path, tmp_path: Path, length: int, options: dict[str, str], masked: bool
) -> None:
    (tmp_path / "short.txt").write_text("good film\n")
    config = Config(device="cpu", sequence_length=length, **options)  # type: ignore[arg-type]
    place = loading.locate(str(tiny_gpt2), "random")
    batch = TextBatches(place, str(tmp_path / "short.txt"), config, "right").draw(nothing)
    assert ("attention_mask" in batch.inputs) is masked
    assert int(batch.mask.sum()) == 4


def test_texts_that_are_longer_than_a_row_are_counted(tiny_gpt2: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("good\ngood film\ngood film once\ngood film once more\n")
    place, counts = loading.locate(str(tiny_gpt2), "random"), {}
    for length in (3, 4, 5, 6):  # of the texts: 3, 4, 5 and 6
        config = Config(device="cpu", sequence_length=length)
        counts[length] = TextBatches(place, str(tmp_path / "texts.txt"), config, "right").data
    assert [data.truncated for data in counts.values()] == [3, 2, 1, 0]
    assert {data.checked for data in counts.values()} == {4}


@pytest.mark.parametrize(
    ("options", "masked"),
    [({}, False), ({"compile": "default"}, True), ({"backend": "aoti"}, True), ({"backend": "openvino"}, True)],
)
def test_compiled_or_exported_network_gets_a_mask_with_every_batch_of_unequal_texts(
    tiny_gpt2: Path, tmp_path: Path, options: dict[str, str], masked: bool
) -> None:
    (tmp_path / "two.txt").write_text("good film once more\ngood\n")
    place = loading.locate(str(tiny_gpt2), "random")
    config = Config(device="cpu", sequence_length=5, **options)  # type: ignore[arg-type]
    batch = TextBatches(place, str(tmp_path / "two.txt"), config, "right").draw(nothing)
    assert bool(batch.mask.all())
    assert ("attention_mask" in batch.inputs) is masked


def test_rewound_texts_begin_at_the_first(tiny_gpt2: Path, tmp_path: Path) -> None:
    (tmp_path / "three.txt").write_text("good film\nbad film\nno film\n")
    config = Config(device="cpu", batch_size=2, sequence_length=8)
    batches = TextBatches(
        loading.locate(str(tiny_gpt2), "random"), str(tmp_path / "three.txt"), config, "right"
    )
    first, second = (batches.draw(nothing).inputs["input_ids"] for _ in range(2))
    batches.rewind()
    assert torch.equal(batches.draw(nothing).inputs["input_ids"], first) and not torch.equal(first, second)


def test_batch_may_exceed_the_default_number_of_rows() -> None:
    batches = SyntheticBatches(1000, Config(device="cpu", batch_size=300, sequence_length=4))
    assert batches.draw(nothing).inputs["input_ids"].shape == (300, 4)
    assert batches.data.samples == 300


def test_bundled_architecture_without_a_tokenizer_names_the_remedy() -> None:
    place = loading.locate("gpt2", "random")
    with pytest.raises(
        BenchtuiError, match=r"model 'gpt2' has no tokenizer; dataset = \"synthetic\" needs no tokenizer"
    ):
        TextBatches(place, "sample", Config(device="cpu"), "right")


def test_tokenizer_without_a_pad_token_pads_with_eos(
    tiny_gpt2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short.txt").write_text("good film\n")
    load: Callable[..., object] = loading.load

    def without_padding(*arguments: object) -> object:
        tokenizer = load(*arguments)
        tokenizer.pad_token, tokenizer.eos_token = None, "[SEP]"  # type: ignore[attr-defined]
        return tokenizer

    monkeypatch.setattr(loading, "load", without_padding)
    place = loading.locate(str(tiny_gpt2), "random")
    config = Config(device="cpu", sequence_length=8)
    batch = TextBatches(place, str(tmp_path / "short.txt"), config, "left").draw(nothing)
    assert batch.inputs["attention_mask"][0, 0] == 0
    assert batch.inputs["input_ids"][0, 0] == 102


def test_drawing_synthetic_rows_copies_nothing() -> None:
    """A copy of rows picked by number runs in several threads, and its end waits for the slowest of them."""
    batches = SyntheticBatches(1000, Config(device="cpu", batch_size=100, sequence_length=4))
    drawn = [batches.draw(nothing).inputs["input_ids"] for _ in range(4)]
    assert len({ids.untyped_storage().data_ptr() for ids in drawn}) == 1
    assert all(ids.is_contiguous() and ids.shape == (100, 4) for ids in drawn)
