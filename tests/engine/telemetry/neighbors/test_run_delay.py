from pathlib import Path

from benchtui.engine.telemetry.neighbors.run_delay import (
    RUN_DELAY_KEY,
    ThreadTime,
    run_delay_absence,
    since,
    thread_times,
)


def task(folder: Path, **threads: str) -> Path:
    for name, text in threads.items():
        thread = folder / name.removeprefix("t")
        thread.mkdir(parents=True, exist_ok=True)
        (thread / "schedstat").write_text(text)
    return folder


def test_time_on_a_processor_and_in_its_queue_are_read_for_each_thread(tmp_path: Path) -> None:
    threads = task(tmp_path, t7="1500000000 250000000 12\n", t9="0 0 0\n", t10="broken\n", t11="")
    assert thread_times(threads) == {"7": ThreadTime(1.5, 0.25), "9": ThreadTime()}
    assert run_delay_absence(threads) == {}


def test_kernel_without_schedstat_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    for threads in (tmp_path, tmp_path / "none"):
        assert thread_times(threads) == {}
        assert run_delay_absence(threads) == {
            RUN_DELAY_KEY: f"the kernel doesn't count it ({threads}/*/schedstat not found or empty)"
        }


def test_threads_are_summed_that_are_there_at_the_end() -> None:
    begin = {"1": ThreadTime(1.0, 0.1), "2": ThreadTime(5.0, 9.0)}
    end = {"1": ThreadTime(2.5, 0.3), "3": ThreadTime(1.0, 0.5)}
    total = since(begin, end)
    assert total is not None
    assert (round(total.ran_s, 6), round(total.waited_s, 6)) == (2.5, 0.7), (
        "thread 3 is new, thread 2 has ended"
    )
    assert since({}, end) is since(begin, {}) is None
    reused = since({"1": ThreadTime(9.0, 9.0)}, {"1": ThreadTime(0.5, 0.5)})
    assert reused == ThreadTime(0.0, 0.0), "another thread has the number of one that has ended"
