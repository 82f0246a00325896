from benchtui.engine.case_run import others


def test_other_processes_on_a_gpu_are_counted_without_the_worker() -> None:
    assert others({41: 100.0}, 41) == 0
    assert others({41: 100.0, 42: None, 43: 5.0}, 41) == 2


def test_a_worker_listed_under_another_number_is_one_of_those_listed() -> None:
    assert others({}, 41) == 0
    assert others({7001: 100.0}, 41) == 0
    assert others({7001: 100.0, 7002: 5.0}, 41) == 1
