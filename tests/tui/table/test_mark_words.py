from benchtui.tui.table.mark_words import mark_word, merge_by_kind

NOISY = "disturbed: other processes used 123% CPU"
SWITCHES = "disturbed: 1464 context switches per second"


def test_the_gravest_mark_gives_the_word() -> None:
    assert mark_word(()) is None
    assert mark_word(["random weights", "throttled: hw thermal", NOISY]) == "noisy"
    assert mark_word(["random weights", "throttled: hw thermal"]) == "throttled"
    assert mark_word(["clock at 60% of its default"]) == "low clock"
    assert mark_word(["random weights"]) == "random"
    assert mark_word(["waits for the GPU 2 times per step"]) == "waits"
    assert mark_word(["a step of some file that is long"]) == "ok"


def test_marks_that_all_cases_share_count_only_if_they_tell_of_a_disturbance() -> None:
    assert mark_word(["random weights"], {"random weights"}) is None
    assert mark_word([NOISY], {NOISY}) == "noisy"


def test_marks_of_one_kind_are_merged_into_a_word() -> None:
    assert merge_by_kind([NOISY, "random weights", SWITCHES]) == ("noisy", "random weights")
    assert merge_by_kind([NOISY, NOISY]) == (NOISY,)
