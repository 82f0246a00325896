from typing import Any

from msgspec.structs import replace

from benchtui.sessions.report.sections.per_case import energy


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
