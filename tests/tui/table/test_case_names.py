from benchtui.sessions.events import CaseAdded
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Axes, Config, Sweep, cases
from benchtui.tui.table.case_names import CaseNames, case_name, config_name


def names(**axes: tuple[object, ...]) -> list[str]:
    plan = [case.config for case in cases(Sweep(name="s", model="m", axes=Axes(**axes)))]  # type: ignore[arg-type]
    made = CaseNames.of(plan)
    assert {len(made.text(config)) for config in plan} == {made.width}
    return [made.text(config) for config in plan]


def test_options_that_never_differ_are_omitted() -> None:
    assert names(batch_size=(1, 16)) == ["cpu fp32 bs  1", "cpu fp32 bs 16"]


def test_options_that_differ_are_aligned_and_their_defaults_left_blank() -> None:
    assert names(device=("cpu", "cuda:0"), compile=("off", "default"), sequence_length=(32, 128))[::2] == [
        "cpu    fp32          seq  32 bs 1",
        "cpu    fp32 compiled seq  32 bs 1",
        "cuda:0 fp32          seq  32 bs 1",
        "cuda:0 fp32 compiled seq  32 bs 1",
    ]


def test_a_name_has_the_order_and_words_of_the_table() -> None:
    plain = Config(device="cpu", batch_size=2, sequence_length=32)
    assert config_name(plain) == "cpu fp32 seq 32 bs 2"
    assert config_name(plain, ("precision",)) == "cpu fp32 bs 2"
    options = {"precision": "fp16", "attention": "sdpa", "compile": "max-autotune", "threads": 4, "repeat": 1}
    full = Config(device="cuda:0", batch_size=64, sequence_length=512, **options)  # type: ignore[arg-type]
    assert config_name(full) == "cuda:0 fp16 sdpa max-autotune threads 4 seq 512 bs 64 again"


def test_the_table_spells_a_case_like_its_heading_but_for_padding() -> None:
    axes = Axes(
        precision=("fp32", "bf16"),
        attention=("auto", "sdpa"),
        compile=("off", "default", "reduce-overhead"),
        threads=(0, 16),
        padding=("max", "longest"),
        sequence_length=(32, 128),
        batch_size=(1, 64),
    )
    plan = [case.config for case in cases(Sweep(name="s", model="m", axes=axes))]
    made = CaseNames.of(plan)
    assert [" ".join(made.text(config).split()) for config in plan] == [config_name(config) for config in plan]


def test_a_rerun_names_the_original_case() -> None:
    config = Config(device="cpu", batch_size=2, sequence_length=32)
    added = CaseAdded(t=0.0, case=3, config=config, why="again", of=1)
    assert case_name(CaseState(3, config, added=added)) == "cpu fp32 seq 32 bs 2 (rerun of case 1)"


def test_different_cases_have_different_names() -> None:
    """An A/A pair, threads, padding and the labels of an import are options like the others."""
    plain = Config(device="cpu")
    for other in (
        Config(device="cpu", threads=2),
        Config(device="cpu", padding="batch"),
        Config(device="cpu", repeat=1),
        Config(device="cpu", label="a command"),
    ):
        made = CaseNames.of([plain, other])
        texts = [made.text(config) for config in (plain, other)]
        assert len(set(texts)) == 2
        assert {len(text) for text in texts} == {made.width}
