from typing import Any

from benchtui.sessions.stats.results import by_work, series, varied
from benchtui.sessions.sweep import Config, Work, distinct_works


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
    assert [[result.config.batch_size for result in each] for each in found] == [[1, 2, 4], [1]]
    assert [each[0].config.precision for each in found] == ["fp32", "bf16"]


def test_varied_names_the_options_with_several_values(bench: Any) -> None:
    made = [bench.case(1), bench.case(1, compile="default"), bench.case(2)]
    assert varied(each.config for each in made) == ("compile",)
    assert varied([]) == ()


def test_lengths_are_work_of_their_own(bench: Any) -> None:
    short, long = bench.results(bench.case(ms=1.0, sequence_length=32), bench.case(ms=2.0))
    assert by_work([long, short]) == {Work(32): (short,), Work(128): (long,)}


def test_models_and_new_tokens_are_work_of_their_own() -> None:
    options = [("gpt2", 64, 8), ("distilgpt2", 32, 0), ("gpt2", 32, 16), ("gpt2", 32, 8)]
    configs = (
        Config(device="cpu", model=model, sequence_length=length, new_tokens=new)
        for model, length, new in options
    )
    assert [str(work) for work in distinct_works(config.work for config in configs)] == [
        "gpt2, 32 tokens, 8 new",
        "gpt2, 32 tokens, 16 new",
        "gpt2, 64 tokens, 8 new",
        "distilgpt2, 32 tokens",
    ]


def test_work_of_another_tool_is_its_group_in_that_order() -> None:
    works = [Work(128, group="tg128"), Work(128, group="pp512"), Work(128, group="tg128")]
    assert [str(each) for each in distinct_works(works)] == ["tg128", "pp512"]
