"""The exported page in a real browser; skipped if none is installed."""

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

FIXTURE = Path(__file__).parents[1] / "fixtures" / "comprehensive-report.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROBE = """<!DOCTYPE html><link rel="icon" href="data:,">
<iframe src="page.html" width="1200" height="900"></iframe>
<pre></pre><script>
document.querySelector("iframe").onload = (event) => {
  const page = event.target.contentDocument;
  const table = [...page.querySelectorAll("table")].find((each) => each.tBodies[0].rows.length > 3);
  const column = [...table.tHead.rows[0].cells].findIndex((each) => each.textContent.includes("Throughput"));
  const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent);
  const heading = table.tHead.rows[0].cells[column];
  const button = heading.querySelector("button");
  const [before, asked] = [cells(), [heading.getAttribute("aria-sort")]];
  button.click();
  const up = cells();
  asked.push(heading.getAttribute("aria-sort"));
  button.click();
  asked.push(heading.getAttribute("aria-sort"));
  const boxes = [...page.querySelectorAll("figure svg")].map((each) => each.getBoundingClientRect());
  document.querySelector("pre").textContent = JSON.stringify({
    before, up, down: cells(), asked,
    focusable: button.tabIndex,
    drawn: boxes.filter((box) => box.width > 300 && box.height > 100).length,
    figures: boxes.length,
    broken: page.documentElement.scrollWidth > 1200,
    evil: String(event.target.contentWindow.evil),
  });
};
</script>"""


@dataclass
class Site:
    """A folder served over HTTP, and the requests received."""

    folder: Path
    port: int = 0
    requests: list[str] = field(default_factory=list)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    found = Site(tmp_path)

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            found.requests.append(self.headers["Host"].partition(":")[0] + self.path)
            super().do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path)))
    found.port = server.server_port
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def browse(site: Site, tmp_path: Path) -> Callable[[str], Any]:
    """Open a page inside a probe page, and return what the probe found."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")

    def run(page: str) -> Any:
        (site.folder / "page.html").write_text(page)
        (site.folder / "probe.html").write_text(PROBE)
        done = subprocess.run(
            [
                browser,
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-features=NetworkTimeServiceQuerying",
                f"--user-data-dir={tmp_path / 'profile'}",
                f"--host-resolver-rules=MAP * 127.0.0.1:{site.port}",
                "--virtual-time-budget=5000",
                "--dump-dom",
                f"http://127.0.0.1:{site.port}/probe.html",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        found = re.search(r"<pre>(.+?)</pre>", done.stdout, re.DOTALL)
        assert found, done.stderr
        return json.loads(unescape(found[1]))

    return run


Command = Callable[..., subprocess.CompletedProcess[str]]


def test_plots_are_drawn_and_tables_sort_by_value(
    browse: Callable[[str], Any], site: Site, benchtui: Command
) -> None:
    found = browse(benchtui("export", str(FIXTURE), "--format", "html").stdout)
    values = sorted(float(cell.replace(",", "")) for cell in found["before"])
    assert [float(cell.replace(",", "")) for cell in found["up"]] == values
    assert [float(cell.replace(",", "")) for cell in found["down"]] == values[::-1]
    assert found["asked"] == [None, "ascending", "descending"]
    assert found["focusable"] == 0
    assert found["drawn"] == found["figures"] > 2
    assert not found["broken"]
    assert set(site.requests) == {"127.0.0.1/probe.html", "127.0.0.1/page.html"}


def test_untrusted_text_runs_no_script_and_sends_no_request(
    browse: Callable[[str], Any], site: Site, benchtui: Command
) -> None:
    evil = "<script>window.evil=1</script><img src=http://evil.example/x onerror=window.evil=1>"
    model = json.loads(FIXTURE.read_text())[0]["sweep"]["model"]
    session = site.folder / "evil.json"
    session.write_text(FIXTURE.read_text().replace(json.dumps(model), json.dumps(evil)))
    page = benchtui("export", str(session), "--format", "html").stdout
    assert "&lt;script&gt;window.evil=1" in page
    assert browse(page)["evil"] == "undefined"
    assert set(site.requests) == {"127.0.0.1/probe.html", "127.0.0.1/page.html"}
