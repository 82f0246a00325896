from hypothesis import given
from hypothesis import strategies as st

from benchtui.sessions.sweep import Axes, Config, Exclusion, Sweep, cases, exclusion_matcher, included_configs
from benchtui.tui.editor.draft import exclude_cases, switched_on

AXES = Axes(device=("cpu", "cuda:0"), precision=("fp32", "bf16"), batch_size=(1, 2, 4))


def every() -> list[Config]:
    return list(included_configs(Sweep(name="s", model="m", axes=AXES)))


def off(exclude: tuple[Exclusion, ...]) -> set[Config]:
    return set(filter(exclusion_matcher(exclude), every()))


def test_an_entry_that_a_new_one_covers_is_dropped() -> None:
    one = exclude_cases((), AXES, Exclusion(device="cpu", batch_size=2))
    assert exclude_cases(one, AXES, Exclusion(batch_size=2)) == (Exclusion(batch_size=2),)


def test_switching_a_case_on_takes_the_entry_apart() -> None:
    exclude = switched_on(
        (Exclusion(device="cpu"),), AXES, Exclusion(device="cpu", precision="fp32", batch_size=1)
    )
    assert set(exclude) == {
        Exclusion(device="cpu", precision="bf16"),
        Exclusion(device="cpu", precision="fp32", batch_size=2),
        Exclusion(device="cpu", precision="fp32", batch_size=4),
    }


options = st.fixed_dictionaries(
    {},
    optional={
        "device": st.sampled_from(AXES.device),
        "precision": st.sampled_from(AXES.precision),
        "batch_size": st.sampled_from(AXES.batch_size),
    },
).filter(bool)


@given(st.lists(st.tuples(st.booleans(), options), max_size=8))
def test_the_cases_that_are_off_are_those_switched_off_and_not_on_again(
    steps: list[tuple[bool, dict[str, str | int]]],
) -> None:
    exclude: tuple[Exclusion, ...] = ()
    wanted: set[Config] = set()
    for on, named in steps:
        meant = Exclusion(**named)  # type: ignore[arg-type]
        matching = {config for config in every() if meant.matches(config)}
        wanted = wanted - matching if on else wanted | matching
        exclude = switched_on(exclude, AXES, meant) if on else exclude_cases(exclude, AXES, meant)
        assert off(exclude) == wanted


def test_excluded_cases_are_not_planned_and_the_others_are_numbered_on() -> None:
    exclude = (Exclusion(device="cpu", batch_size=2), Exclusion(precision="bf16"))
    planned = cases(Sweep(name="s", model="m", axes=AXES, exclude=exclude))
    assert [(case.config.device, case.config.batch_size) for case in planned] == [
        ("cpu", 1),
        ("cpu", 4),
        ("cuda:0", 1),
        ("cuda:0", 2),
        ("cuda:0", 4),
    ]
    assert [case.index for case in planned] == list(range(5))
