from typing import Any

import msgspec

from benchtui.sessions.events import Answered
from benchtui.sessions.payloads import Answer, AnswerComparison
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.sections.answers import INTRODUCTION, RANDOM_WEIGHTS


def report(bench: Any, *answered: Any, weights: str = "pretrained", **fast: Any) -> str:
    """Return the report of a baseline and a case of twice its speed."""
    model = msgspec.structs.replace(bench.case(1, 10.0).model, weights=weights)
    cases = (bench.steady(1, 10.0, model=model), bench.steady(2, 10.0, model=model, precision="bf16"))
    return markdown(bench.session(*cases, more=[bench.answered(0), *answered]))


def test_report_without_compared_answers_has_no_section(bench: Any) -> None:
    text = report(bench)
    assert "What the speed costs" not in text
    assert "bf16: accuracy not measured here" in text


def test_measured_answers_replace_the_doubt_about_accuracy(bench: Any) -> None:
    text = report(bench, bench.answered(1, verdict="close", kl_mean=4e-4, sqnr_db=40.0))
    section = text.partition("## What the speed costs")[2].partition("\n## ")[0]
    row = next(line for line in section.splitlines() if "bf16" in line)
    assert [cell.strip() for cell in row.split("|")][3:6] == ["CLOSE", "0.0004", "40.0"]
    assert "accuracy not measured" not in text
    assert "answers CLOSE (mean KL 0.0004 nats)" in text
    assert RANDOM_WEIGHTS not in text


def test_identical_answers_cost_nothing(bench: Any) -> None:
    text = report(bench, bench.answered(1, verdict="identical", kl_mean=0.0))
    assert "accuracy" not in text and "answers IDENTICAL" not in text


def test_recommended_case_with_another_answer_is_named_in_the_decision(bench: Any) -> None:
    text = report(bench, bench.answered(1, verdict="broken"), weights="random")
    decision = text.partition("## Decision")[2].partition("\n## ")[0]
    assert "answers BROKEN: check them before you use it" in " ".join(decision.split())


def test_faster_case_with_another_answer_stands_beside_the_recommended_one(bench: Any) -> None:
    text = report(bench, bench.answered(1, verdict="different", sqnr_db=9.0))
    assert "- **Run**: cpu fp32 compile=off bs=1 seq=128, 100 samples/s (" in text
    other = (
        "- **Faster, with other answers**: cpu bf16 compile=off bs=2 seq=128 is 2.00 × (2.00 to 2.00), FASTER"
    )
    assert f"{other}, but answers DIFFERENT (9 dB)." in text


def test_random_weights_and_missing_answers_are_stated(bench: Any) -> None:
    figures = {"kl_mean": 4e-4, "largest_difference": 2.25}
    text = report(bench, bench.answered(1, verdict="close", **figures), weights="random")
    assert RANDOM_WEIGHTS in " ".join(text.split())
    assert "KL" not in text and "Largest difference" not in text and "answers CLOSE" in text
    trained = report(bench, bench.answered(1, verdict="close", **figures))
    assert "Mean KL" in trained and "Largest difference" in trained
    cases = (bench.case(1, 10.0), bench.case(2, 10.0), bench.case(4, 10.0))
    answered = (
        bench.answered(0),
        bench.answered(1, verdict="close", kl_mean=0.1),
        bench.answered(2, absent="slow"),
    )
    assert "Not compared: 1 case (slow)." in markdown(bench.session(*cases, more=answered))


def test_shared_and_shortened_answers_are_named(bench: Any) -> None:
    compared = AnswerComparison(case=2, baseline=0, verdict="close", kl_mean=1e-3)
    answered = (
        bench.answered(0),
        bench.answered(1, verdict="close", kl_mean=1e-3),
        Answered(t=2.0, case=2, shared_with=1, comparisons=(compared,)),
    )
    answer = Answer(kind="tokens", amount=3, digest="d", shortened="3 of 8 new tokens for 1 of 4 inputs")
    cases = [bench.case(size, 10.0) for size in (1, 2, 4, 8)]
    text = markdown(bench.session(*cases, more=[*answered, Answered(t=3.0, case=3, answer=answer)]))
    section = text.partition("## What the speed costs")[2].partition("\n## ")[0]
    assert INTRODUCTION in " ".join(section.split())
    assert "Too slow for the whole probe: 1 case (3 of 8 new tokens for 1 of 4 inputs)." in section
    header, _, *body = [line for line in section.splitlines() if line.startswith("|")]
    assert header.split("|")[-2].strip() == "Answer of"
    assert [line.split("|")[-2].strip() for line in body] == ["–", "cpu fp32 compile=off bs=2 seq=128"]
