from typing import Any

from msgspec.structs import replace

from benchtui.sessions.payloads import Environment
from benchtui.sessions.report.document import markdown
from benchtui.sessions.report.sections.per_case import energy


def test_full_report_has_the_counters_that_were_read(bench: Any, read: Any) -> None:
    seen = Environment(compute_active_percent=93.2, tensor_active_percent=61.5)
    session = bench.session(bench.case(1, 10.0, end={"environment": seen}), bench.case(2, 20.0))
    section = read(markdown(session, full=True))["Every case"]
    shown = section.columns("SM active (%)", "Tensor cores active (%)")
    assert shown == [["93.2", "61.5"], ["–", "–"]]
    assert "SM occupancy (%)" not in section.tables[0][0]


def test_both_ends_of_an_interval_of_energy_have_three_significant_digits(bench: Any) -> None:
    (result,) = bench.results(bench.case(1, 10.0))
    small = {
        "energy_per_sample_j": 0.00012,
        "energy_per_sample_low_j": 0.0001062,
        "energy_per_sample_high_j": 0.000134,
    }
    shown = energy([replace(result, metrics=replace(result.metrics, **small))])
    assert shown is not None
    assert (
        dict(zip(shown.titles, shown.rows[0], strict=True))["95% interval (J/sample)"] == "0.000106 to 0.000134"
    )
