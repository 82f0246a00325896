from datetime import UTC, datetime

from benchtui.sessions.timestamps import utc_now


def test_timestamp_is_the_current_second_in_utc() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    written = utc_now()
    assert written.endswith("Z")
    assert before <= datetime.fromisoformat(written) <= datetime.now(UTC)
