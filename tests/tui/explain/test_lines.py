from benchtui.sessions.explain.cases import explained_case
from benchtui.sessions.library.paths import demo_path
from benchtui.sessions.state.session import Session
from benchtui.themes.symbols import UNICODE
from benchtui.tui.explain.lines import CaseStatus, WhyView, why_lines


def test_columns_are_aligned_and_those_without_room_left_out() -> None:
    """Only some families have calls; the inputs of operators need more than 80 columns."""
    session = Session.load(demo_path())
    case = session.cases[19]
    assert case.explained is not None
    view = WhyView(CaseStatus("case", 20, case=explained_case(session, case)))
    narrow, wide = (
        ["".join(text for text, _ in line) for line in why_lines(view, width, UNICODE)] for width in (78, 118)
    )
    families = narrow[next(at for at, row in enumerate(narrow) if row.startswith("  family")) + 1 :][:7]
    assert {len(row) - 12 for row in families} == {families[0].index("━")}
    titles = next(row for row in narrow if row.startswith("  operator"))
    assert titles.split()[-1] == "rate"
    assert any(row.startswith("  operator") and row.endswith("inputs") for row in wide)
