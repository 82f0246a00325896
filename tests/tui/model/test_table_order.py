"""Order, filter and selection of the table's rows."""

from typing import Any

from benchtui.sessions.state.session import Session
from benchtui.tui.model.table_order import TableOrder
from benchtui.tui.table.layout import Sorting


def table_order(story: Any, values: dict[int, float | None]) -> TableOrder:
    session = Session.load(story.path)
    return TableOrder(session, lambda case, key: values.get(case.index))


def test_sorting_puts_running_cases_first_and_unknown_values_last(story: Any) -> None:
    made = table_order(
        story.begin(batch_sizes=(1, 2, 4, 8, 16)).case(0).case(1).case(2).start(3), {0: 3.0, 1: 1.0, 2: 2.0}
    )
    made.sorting = Sorting("p50")
    assert list(made.order) == [3, 1, 2, 0, 4]
    made.reverse()
    assert list(made.order) == [3, 0, 2, 1, 4]


def test_a_filter_must_match_every_word(story: Any) -> None:
    made = table_order(story.begin(batch_sizes=(1, 2, 16)).case(0, 10.0, 20, "random weights"), {})
    made.filter = "CUDA bs=1"
    assert list(made.order) == [0, 2]
    made.filter = "random"
    assert list(made.order) == [0]
    made.filter = "queued bs=16"
    assert list(made.order) == [2]
    made.filter = "nothing"
    assert list(made.order) == [] and made.place(0) is None


def test_the_rows_of_a_full_plan_can_be_sorted_and_filtered(story: Any) -> None:
    made = table_order(story.begin(batch_sizes=tuple(range(1, 5_001))), {})
    made.filter = "bs=4999"
    assert list(made.order) == [4_998]
    made.filter, made.sorting = "", Sorting("p50")
    assert len(made.order) == 5_000 and made.place(4_999) == 4_999


def test_the_cases_to_run_come_first_at_the_end_unless_the_user_has_sorted(story: Any) -> None:
    made = table_order(story.begin().case(0).case(1).case(2).end(), {0: 3.0, 1: 1.0, 2: 2.0})
    made.show_end(True, frozenset({1}))
    assert list(made.order) == [1, 0, 2]
    made.show_end(False, frozenset({1}))
    assert list(made.order) == [0, 1, 2], "a replay has gone back"
    made.sorting = Sorting("samples")
    made.show_end(True, frozenset({1}))
    assert list(made.order) == [1, 2, 0]
