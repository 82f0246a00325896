import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from benchtui.engine.workloads.inputs import signals


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
def test_step_processes_and_classifies(made: Callable[..., Any], tiny_vit: Path, precision: str) -> None:
    workload = made("image", tiny_vit, "batch_size=2", f"precision={precision}")
    parts: list[str] = []
    counted = workload.count(workload.step(parts.append))
    assert parts == ["preprocess", "transfer", "forward", "result"]
    assert (counted.tokens, counted.padded_tokens) == (None, None)
    assert (workload.samples, workload.new_tokens) == (2, None)
    assert workload.data.shape == "480 x 640, processed to 32 x 32 x 3"
    assert "synthetic images" in workload.marks


def test_answer_does_not_depend_on_batch_size(made: Callable[..., Any], tiny_vit: Path) -> None:
    one, many = (made("image", tiny_vit, f"batch_size={size}").answer(0.0) for size in (1, 5))
    assert one.kind == "logits"
    assert one.values.shape == (16, 10)
    assert torch.allclose(one.values, many.values, atol=1e-5)


def test_without_pillow_inputs_have_the_size_of_the_configuration(
    made: Callable[..., Any], tiny_vit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "find_spec", lambda name: None)
    workload = made("image", tiny_vit, "batch_size=3")
    parts: list[str] = []
    workload.step(parts.append)
    assert parts == ["transfer", "forward", "result"]
    assert workload.data.shape == "32 x 32 x 3"
    assert "images aren't processed: neither Pillow nor torchvision is installed" in workload.marks


def test_without_image_processor_inputs_have_the_size_of_the_configuration(
    made: Callable[..., Any], tiny_vit: Path
) -> None:
    (tiny_vit / "preprocessor_config.json").unlink()
    workload = made("image", tiny_vit)
    assert workload.data.processor is None
    assert "images aren't processed: the model has no image processor" in workload.marks
    workload.step(lambda part: None)


def test_image_processor_that_cannot_be_loaded_is_told_from_none(
    made: Callable[..., Any], tiny_vit: Path
) -> None:
    (tiny_vit / "preprocessor_config.json").write_text("{")
    (mark,) = [mark for mark in made("image", tiny_vit).marks if "processed" in mark]
    assert "can't load the image processor from the folder" in mark


def test_samples_wrap_around_and_start_again(made: Callable[..., Any], tiny_vit: Path) -> None:
    batches = made("image", tiny_vit, "batch_size=12")._batches
    first, second = (batches.draw(lambda part: None).inputs["pixel_values"] for _ in range(2))
    assert torch.equal(second[4:], first[:8])  # of 16 images
    batches.rewind()
    assert torch.equal(batches.draw(lambda part: None).inputs["pixel_values"], first)


def test_image_size_of_a_model_of_texts_and_images_is_that_of_its_images(
    made: Callable[..., Any], tmp_path: Path
) -> None:
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    vision = {**small, "image_size": 48, "patch_size": 16, "projection_dim": 16}
    text = {**small, "vocab_size": 64, "projection_dim": 16}
    config = {"model_type": "clip", "projection_dim": 16, "vision_config": vision, "text_config": text}
    (tmp_path / "config.json").write_text(json.dumps(config))
    workload = made("image", tmp_path, "batch_size=2")
    assert workload.data.shape == "48 x 48 x 3"
    workload.step(lambda part: None)


def test_type_with_several_classes_is_measured_without_a_stated_architecture(
    made: Callable[..., Any], tmp_path: Path
) -> None:
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "deit", **small, "image_size": 32}))
    workload = made("image", tmp_path, "batch_size=2")
    workload.step(lambda part: None)
    assert workload.model.architecture == "DeiTForImageClassification"


def test_number_of_attention_heads_per_stage_is_not_recorded(made: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "segformer", "image_size": 32}))
    model = made("image", tmp_path, "batch_size=2").model
    assert (model.architecture, model.attention_heads) == ("SegformerForImageClassification", None)


@pytest.mark.runtimes
@pytest.mark.parametrize("backend", ["onnxruntime", "openvino"])
def test_backend_classifies_images_as_torch(
    made: Callable[..., Any], tiny_vit: Path, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCHTUI_ARTIFACTS", str(tmp_path / "artifacts"))
    workload = made("image", tiny_vit, "batch_size=3", f"backend={backend}")
    expected = made("image", tiny_vit, "batch_size=3").answer(0.0).values
    assert torch.allclose(workload.answer(0.0).values, expected, atol=1e-5)
