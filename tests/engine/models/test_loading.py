from pathlib import Path

import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    DistilBertConfig,
    MambaConfig,
    PreTrainedConfig,
)

from benchtui.engine.models import hub, loading
from benchtui.engine.models.loading import random_weights
from benchtui.sessions.errors import BenchtuiError

SST2 = "distilbert-base-uncased-finetuned-sst-2-english"


def test_missing_tokenizer_error_has_its_own_remedy(tmp_path: Path) -> None:
    def load(path: str, local_files_only: bool, trust_remote_code: bool) -> None:
        raise OSError("no tokenizer")

    with pytest.raises(
        BenchtuiError, match=r'from the folder: no tokenizer; dataset = "synthetic" needs no tokenizer'
    ):
        loading.load("tokenizer", loading.locate(str(tmp_path), "random"), load)


def test_local_folder_takes_precedence(tiny_model: Path) -> None:
    assert loading.locate(str(tiny_model), "random") == loading.ModelLocation(
        str(tiny_model), str(tiny_model), "folder"
    )


def test_bundled_architectures_are_used_only_for_random_weights() -> None:
    assert loading.locate(SST2, "random").source == "bundled"
    assert loading.locate(SST2, "pretrained") == loading.ModelLocation(SST2, SST2, "hub")


@pytest.mark.parametrize("name", ["..", "../architectures", ".", "somebody/else"])
def test_model_name_cannot_escape_the_bundled_architectures(name: str) -> None:
    assert loading.locate(name, "random").source != "bundled"


def test_random_weights_fill_matrices_but_not_norms(tiny_model: Path) -> None:
    config = AutoConfig.from_pretrained(tiny_model)
    with loading.random_weights() as fill:
        network = AutoModelForSequenceClassification.from_config(config)
    fill(network)
    for name, parameter in network.named_parameters():
        values = parameter.detach()
        if parameter.dim() > 1:
            assert float(values.std()) == pytest.approx(0.02, rel=0.2), name
        else:
            assert set(values.tolist()) == {
                1.0 if name.endswith("LayerNorm.weight") or "norm.weight" in name else 0.0
            }
    positions = dict(network.named_buffers())["distilbert.embeddings.position_ids"]
    assert positions[0, :4].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [DistilBertConfig, MambaConfig])  # Mamba draws vectors too
def test_random_weights_are_reproducible(kind: type[PreTrainedConfig]) -> None:
    sizes = {
        "vocab_size": 64,
        "hidden_size": 32,
        "dim": 32,
        "n_layers": 1,
        "num_hidden_layers": 1,
        "n_heads": 2,
    }
    made = []
    for _ in range(2):
        with loading.random_weights() as fill:
            network = AutoModel.from_config(kind(**sizes))
        fill(network)
        made.append(network.state_dict())
    assert all(torch.equal(tensor, made[1][name]) for name, tensor in made[0].items())


@pytest.fixture
def gpt2(tiny_gpt2: Path) -> torch.nn.Module:
    """A network whose vocabulary has more rows than a block of 2^20 numbers has starts of rows."""
    with loading.random_weights() as fill:
        network: torch.nn.Module = AutoModelForCausalLM.from_config(
            AutoConfig.from_pretrained(tiny_gpt2, n_embd=64)
        )
    fill(network)
    return network.eval()


def test_rows_of_random_weights_are_all_different(gpt2: torch.nn.Module) -> None:
    embedding = gpt2.get_parameter("transformer.wte.weight").detach()
    assert len(torch.unique(embedding, dim=0)) == len(embedding) > 30_000


def test_layers_of_random_weights_are_different(gpt2: torch.nn.Module) -> None:
    matrices = [parameter.detach().flatten()[:1000] for parameter in gpt2.parameters() if parameter.dim() > 1]
    assert len({tuple(matrix.tolist()) for matrix in matrices}) == len(matrices) == 10


def test_no_likeliest_token_of_random_weights_is_tied(gpt2: torch.nn.Module) -> None:
    ids = torch.randint(30_522, (4, 32), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        best = gpt2(input_ids=ids).logits.topk(2).values
    assert (best[..., 0] > best[..., 1]).all()


def test_digest_of_random_weights_is_of_their_numbers(tiny_gpt2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        with loading.random_weights() as fill:
            return fill(torch.nn.Linear(2, 2))

    own = digest()
    assert own == digest() and len(own) == loading.DIGEST_LENGTH
    monkeypatch.setattr(loading, "BLOCK", 1 << 20)
    assert digest() != own


def test_random_initialization_works_normally_afterwards() -> None:
    with loading.random_weights():
        assert torch.zeros(2, 2).normal_().abs().sum() == 0
    assert torch.zeros(2, 2).normal_().abs().sum() > 0


def test_transformers_errors_become_one_line_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "reachable", lambda: False)

    def load(path: str, local_files_only: bool, trust_remote_code: bool) -> None:
        assert local_files_only
        raise OSError(f"can't find {path}\nsecond line")

    with pytest.raises(BenchtuiError) as raised:
        loading.load("tokenizer", loading.locate("nobody/nothing", "pretrained"), load)
    assert str(raised.value) == (
        "model 'nobody/nothing': can't load the tokenizer from the hub: can't find nobody/nothing; to work"
        f' offline, use a local folder or weights = "random" with a bundled architecture'
        f" ({SST2}, gpt2, vit-base-patch16-224, wav2vec2-base-960h, whisper-tiny)"
    )


def test_truncated_draws_end_whatever_was_in_memory() -> None:
    weights = torch.full((4, 4), 9.0)
    with random_weights():
        torch.nn.init.trunc_normal_(weights)
    assert not weights.any()
