"""Window title and notification of a watched sweep."""

from benchtui.tui.shell.terminal import Announcer


class FakeLink:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def set_title(self, title: str) -> None:
        self.sent.append(title)

    def notify(self, text: str) -> None:
        self.sent.append(f"notify {text}")


def test_title_follows_the_sweep_and_its_end_is_announced_once() -> None:
    link = FakeLink()
    announcer = Announcer(link, notify=True)  # type: ignore[arg-type]
    for percent in ("10 %", "10 %", "50 %"):
        announcer.update("quick", "running", percent)
    for _ in range(2):
        announcer.update("quick", "completed", "100 %")
    assert link.sent == [
        "10 % quick - benchtui",
        "50 % quick - benchtui",
        "quick: completed - benchtui",
        "notify benchtui: sweep quick completed",
    ]


def test_recorded_session_changes_neither_title_nor_notifies() -> None:
    link = FakeLink()
    Announcer(link, notify=True).update("quick", "completed", "100 %")  # type: ignore[arg-type]
    assert link.sent == []


def test_notification_can_be_turned_off() -> None:
    link = FakeLink()
    announcer = Announcer(link, notify=False)  # type: ignore[arg-type]
    announcer.update("quick", "running", "50 %")
    announcer.update("quick", "interrupted", "60 %")
    assert link.sent == ["50 % quick - benchtui", "quick: interrupted - benchtui"]


def test_title_is_restored_as_it_was() -> None:
    link = FakeLink()
    announcer = Announcer(link, notify=True)  # type: ignore[arg-type]
    announcer.restore()
    announcer.update("quick", "running", "50 %")
    announcer.restore()
    assert link.sent == ["50 % quick - benchtui"] * 2
