from msgspec.structs import replace

from benchtui.engine.supervisor.answer_baselines import is_largest
from benchtui.sessions.sweep import Case, Config

SMALL = Config(device="cpu", batch_size=1, sequence_length=32)
LARGE = replace(SMALL, batch_size=8, sequence_length=128)


def planned(*configs: Config) -> list[Case]:
    return [Case(index, config) for index, config in enumerate(configs)]


def test_longest_case_with_the_largest_batch_is_the_spot_check() -> None:
    cases = planned(SMALL, replace(SMALL, batch_size=16), LARGE, replace(LARGE, batch_size=4))
    assert [is_largest(case.config, cases) for case in cases] == [False, False, True, False]


def test_other_numerics_have_their_own_spot_check() -> None:
    half = replace(SMALL, precision="bf16")
    cases = planned(SMALL, LARGE, half)
    assert is_largest(half, cases)
    assert not is_largest(replace(SMALL, tokenizer_threads=2), cases)


def test_skipped_case_is_no_spot_check() -> None:
    assert is_largest(SMALL, [Case(0, SMALL), Case(1, LARGE, skip="not supported")])
