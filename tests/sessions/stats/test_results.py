from typing import Any

from benchtui.sessions.stats.results import by_work, series, varied


def test_only_cases_that_ended_well_are_results(bench: Any) -> None:
    results = bench.results(
        bench.case(1, 10.0),
        bench.case(2, 10.0, outcome="oom", end={"reason": "full"}),
        bench.case(4, 10.0, outcome=None),
        bench.case(8, outcome="ok"),
    )
    assert [result.config.batch_size for result in results] == [1]


def test_series_hold_everything_but_the_batch_size(bench: Any) -> None:
    found = series(
        bench.results(
            bench.case(4, 10.0), bench.case(1, 10.0), bench.case(1, 10.0, precision="bf16"), bench.case(2, 10.0)
        )
    )
    assert [[result.config.batch_size for result in each.results] for each in found] == [[1, 2, 4], [1]]
    assert [each.config.precision for each in found] == ["fp32", "bf16"]


def test_varied_names_the_options_with_several_values(bench: Any) -> None:
    made = [bench.case(1), bench.case(1, compile="default"), bench.case(2)]
    assert varied(each.config for each in made) == ("compile",)
    assert varied([]) == ()


def test_lengths_are_work_of_their_own(bench: Any) -> None:
    short, long = bench.results(bench.case(ms=1.0, sequence_length=32), bench.case(ms=2.0))
    assert by_work([short, long]) == {("", 0, 32): (short,), ("", 0, 128): (long,)}
