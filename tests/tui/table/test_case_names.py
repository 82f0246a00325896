from msgspec.structs import replace

from benchtui.sessions.events import CaseAdded
from benchtui.sessions.state.case import CaseState
from benchtui.sessions.sweep import Axes, Config, Sweep, cases
from benchtui.tui.table.case_names import CaseNames, case_name, config_name, matches, short_names


def names(**axes: tuple[object, ...]) -> list[str]:
    plan = [case.config for case in cases(Sweep(name="s", model="m", axes=Axes(**axes)))]  # type: ignore[arg-type]
    made = CaseNames.of(plan)
    assert {len(made.text(config)) for config in plan} == {made.width}
    return [made.text(config) for config in plan]


def test_options_that_differ_are_aligned_and_their_defaults_left_blank() -> None:
    assert names(device=("cpu", "cuda:0"), compile=("off", "default"), sequence_length=(32, 128))[::2] == [
        "cpu    fp32          bs 1 seq  32",
        "cpu    fp32 compiled bs 1 seq  32",
        "cuda:0 fp32          bs 1 seq  32",
        "cuda:0 fp32 compiled bs 1 seq  32",
    ]


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
    assert case_name(CaseState(3, config, added=added)) == "cpu fp32 bs 2 seq 32 (rerun of case 2)"


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


LONG = [
    Config(
        device="cuda:0",
        precision=precision,
        attention="sdpa",
        compile="max-autotune",
        threads=16,
        sequence_length=512,
        batch_size=size,
    )
    for precision in ("amp-bf16", "fp16")
    for size in (4, 256)
]


def test_names_are_shortened_by_whole_options_and_no_more_than_needed() -> None:
    made = CaseNames.of(LONG)
    forms = {made.fitted(width).text(LONG[1], "…").strip() for width in range(1, 60)}
    assert sorted(forms, key=len, reverse=True) == [
        "cuda:0 amp-bf16 bs 256",
        "amp-bf16 bs 256",
        "amp-bf16 b256",
        "… b256",
    ]
    for width in range(8, 60):
        assert made.fitted(width).width <= width
        assert len({made.fitted(width).text(config) for config in LONG[:2]}) == 2


def test_shared_options_go_first_and_the_sizes_stay_longest() -> None:
    plan = [
        Config(device="cpu", compile=mode, threads=threads, sequence_length=length)
        for mode in ("off", "reduce-overhead")
        for threads in (1, 16)
        for length in (32, 512)
    ]
    made = CaseNames.of(plan)
    assert made.text(plan[-1]) == "cpu fp32 reduce-overhead threads 16 bs 1 seq 512"
    widths = (47, 40, 38, 33, 25, 20, 13, 1)
    assert [made.fitted(width).text(plan[-1], "…") for width in widths] == [
        "fp32 reduce-overhead threads 16 bs 1 seq 512",
        "reduce-overhead threads 16 bs 1 seq 512",
        "reduce-overhead threads 16 seq 512",
        "reduce threads 16 seq 512",
        "reduce threads 16 seq 512",
        "reduce thr 16 s512",
        "… thr 16 s512",
        "… s512",
    ]


def test_short_names_have_the_options_that_differ() -> None:
    plain, compiled = Config(device="cpu"), Config(device="cpu", compile="default")
    assert short_names([plain, compiled]) == ["compile off", "compiled"]
    assert short_names([plain]) == ["cpu fp32"]
    sizes = [Config(device="cpu", batch_size=size, sequence_length=64) for size in (1, 8)]
    assert short_names(sizes) == ["bs 1", "bs 8"]
    assert short_names(sizes, "batch_size") == ["cpu fp32", "cpu fp32"]
    assert short_names([Config(device="cpu", label="a tool")]) == ["cpu a tool"]


def test_a_filter_takes_both_spellings() -> None:
    assert matches("cuda:0 fp16 bs 64 seq 512", "BS=64 fp16") and matches("cpu bs 64 seq 512", "bs seq 512")
    assert not matches("cpu bs 6", "bs=64") and matches("cpu n=4", "n=4")


def test_options_that_an_own_step_does_not_set_are_not_in_its_names() -> None:
    """Device, precision and batch size are always shown for other tasks."""
    unset = ("precision", "compile", "sequence_length", "batch_size")
    plan = [Config(device="cpu", parameters=f"workers={count}", unset=unset) for count in (0, 2)]
    assert [config_name(config) for config in plan] == ["cpu workers=0", "cpu workers=2"]
    assert [CaseNames.of(plan).text(config) for config in plan] == ["cpu workers=0", "cpu workers=2"]
    added = replace(plan[0], batch_size=8)
    assert config_name(added) == "cpu workers=0 bs 8"
