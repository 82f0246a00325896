"""Make the pictures of the HTML report in ``docs/pictures``: wide and narrow, light and dark, and printed.

It needs PySide6 with QtWebEngine, which isn't a dependency of benchtui:
``make page-pictures QT_PYTHON=python3``.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("QTWEBENGINE_CHROMIUM_FLAGS", "--no-sandbox --disable-gpu")

from PySide6.QtCore import QSize, QTimer, QUrl
from PySide6.QtGui import QImage, QPainter
from PySide6.QtPdf import QPdfDocument
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QApplication

SIZES = {"wide": QSize(1280, 900), "narrow": QSize(390, 844)}
THEMES = ("light", "dark")
WAIT_MS = 1500
"""Time that a page has to draw itself anew."""
PRINTED_WIDTH = 1000
MOST_PAGES = 2
COLORS = """{{
  const colors = document.querySelector(".controls select");
  colors.value = "{}";
  colors.dispatchEvent(new Event("change"));
}}"""


class Photographer:
    """Show a page in every size and theme, save each, then print it."""

    def __init__(self, page: Path, folder: Path) -> None:
        """Load the page; the pictures are made once the event loop runs."""
        self._folder = folder
        self._shots: Iterator[tuple[str, str]] = iter([(size, theme) for size in SIZES for theme in THEMES])
        self._view = QWebEngineView()
        self._view.loadFinished.connect(self._next)
        self._view.resize(SIZES["wide"])
        self._view.show()
        self._view.load(QUrl.fromLocalFile(str(page.resolve())))

    def _next(self) -> None:
        shot = next(self._shots, None)
        if shot is None:
            self._print()
            return
        size, theme = shot
        self._view.resize(SIZES[size])
        self._view.page().runJavaScript(COLORS.format(theme))
        QTimer.singleShot(WAIT_MS, lambda: self._save(f"report-{size}-{theme}"))

    def _save(self, name: str) -> None:
        save(self._view.grab().toImage(), self._folder / f"{name}.png")
        self._next()

    def _print(self) -> None:
        path = self._folder / "report.pdf"
        self._view.page().pdfPrintingFinished.connect(lambda *_: self._save_pages(path))
        self._view.page().printToPdf(str(path))

    def _save_pages(self, path: Path) -> None:
        document = QPdfDocument()
        document.load(str(path))
        for place in range(min(document.pageCount(), MOST_PAGES)):
            points = document.pagePointSize(place)
            size = QSize(PRINTED_WIDTH, round(PRINTED_WIDTH * points.height() / points.width()))
            paper = QImage(size, QImage.Format.Format_RGB32)
            paper.fill(0xFFFFFF)
            printed = document.render(place, size).convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
            save(over(paper, printed), self._folder / f"report-printed-{place + 1}.png")
        document.close()
        path.unlink()
        QApplication.quit()


def over(paper: QImage, picture: QImage) -> QImage:
    """Return a picture with its transparent parts in the color of the paper."""
    painter = QPainter(paper)
    painter.drawImage(0, 0, picture)
    painter.end()
    return paper


def save(picture: QImage, path: Path) -> None:
    """Save a picture as the smallest possible PNG."""
    picture.convertToFormat(QImage.Format.Format_RGB888).save(str(path), "PNG", 0)


def main() -> int:
    """Make all pictures of the page that is the first argument, in the folder that is the second."""
    app = QApplication(sys.argv[:1])
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    photographer = Photographer(Path(sys.argv[1]), folder)
    QTimer.singleShot(60_000, app.quit)
    result = app.exec()
    del photographer
    return result


if __name__ == "__main__":
    sys.exit(main())
