from collections import Counter

from benchtui.sessions.sweep.case_order import Order


def run(order: Order, cases: int, rounds: int) -> str:
    """The cases as they start, one after another, as round and case."""
    done: Counter[int] = Counter()
    started = []
    while waiting := [case for case in range(cases) if done[case] < rounds]:
        case = order.starting(waiting, done.__getitem__)[0]
        started.append(f"{done[case]}{case}")
        done[case] += 1
    return " ".join(started)


def test_rounds_alternate_their_direction() -> None:
    assert run(Order(range(3)), 3, 3) == "00 01 02 12 11 10 20 21 22"


def test_a_new_case_takes_its_place_behind_another_or_at_the_end() -> None:
    order = Order(range(3))
    order.add(3)
    order.add(4, after=0)
    assert run(order, 5, 2) == "00 04 01 02 03 13 12 11 14 10"


def test_a_new_order_holds_within_rounds_and_turns_round_with_them() -> None:
    order, done = Order(range(4)), Counter({0: 1})
    assert order.starting([0, 1, 2, 3], done.__getitem__) == [1, 2, 3, 0]
    order.rearrange([3, 1, 2, 0], done.__getitem__)
    assert order.starting([0, 1, 2, 3], done.__getitem__) == [3, 1, 2, 0]
    done.update((3, 1, 2))
    assert order.starting([0, 1, 2, 3], done.__getitem__) == [2, 1, 3, 0], "the reverse of how round 0 ran"


def test_a_new_order_in_a_backward_round_is_the_order_of_starting() -> None:
    order, done = Order(range(4)), Counter({0: 1, 1: 1, 2: 1, 3: 2})
    order.rearrange([1, 2, 0, 3], done.__getitem__)
    assert order.starting([0, 1, 2, 3], done.__getitem__) == [1, 2, 0, 3]
    done.update((1, 2, 0))
    assert order.starting([0, 1, 2, 3], done.__getitem__) == [0, 2, 1, 3]


def test_a_case_named_twice_is_there_once() -> None:
    order = Order(range(2))
    order.rearrange([1, 1, 0], lambda case: 0)
    assert order.starting([0, 1], lambda case: 0) == [1, 0]
