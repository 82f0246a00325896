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

SESSION = Path(__file__).parents[2] / "sessions" / "library" / "demo" / "demo-cpu.json"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROBE = """<!DOCTYPE html><link rel="icon" href="data:,">
<iframe src="page.html" width="WIDTH" height="900"></iframe>
<pre></pre><script>
const probe = (page) => {
  const input = (box, value) => { box.value = value; box.dispatchEvent(new Event("input")); };
  const table = [...page.querySelectorAll("table")].find(
    (each) => each.tHead.textContent.includes("Samples/s"),
  );
  const cells = (title) => {
    const column = [...table.tHead.rows[0].cells].findIndex((each) => each.textContent === title);
    return [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[column].textContent);
  };
  const heading = [...table.tHead.rows[0].cells].find((each) => each.textContent === "Samples/s");
  const [before, orders] = [cells("Samples/s"), [heading.getAttribute("aria-sort")]];
  const sorted = [1, 2, 3].map(() => {
    heading.querySelector("button").click();
    orders.push(heading.getAttribute("aria-sort"));
    return cells("Samples/s");
  });
  input(page.querySelector(".price input"), "2");
  const costs = cells("Cost of a million samples at 2 per hour");
  const tools = table.parentElement.previousElementSibling;
  input(tools.querySelector("input[type=search]"), cells("Samples/s")[2]);
  const [filtered, count] = [cells("Samples/s"), tools.querySelector("output").textContent];
  const box = tools.querySelector("input[type=checkbox]");
  box.click();
  const hidden = [...table.rows].every((row) => row.cells[0].hidden && !row.cells[1].hidden);
  const closed = page.querySelectorAll("details.section:not([open])").length;
  page.querySelector(".controls button").click();
  const open = page.querySelectorAll("details.section[open]").length;
  const figure = page.querySelector(".drawing svg");
  figure.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  const value = page.querySelector(".value").textContent;
  const colors = page.querySelector(".controls select");
  const papers = ["light", "dark"].map((name) => {
    colors.value = name;
    colors.dispatchEvent(new Event("change"));
    return getComputedStyle(page.body).backgroundColor;
  });
  const boxes = [...page.querySelectorAll("figure svg")].map((each) => each.getBoundingClientRect());
  return {
    before, sorted, orders, costs, filtered, count, hidden, closed, open, value, papers,
    drawn: boxes.filter((each) => each.width > 300 && each.height > 100).length,
    figures: boxes.length,
    overflow: page.documentElement.scrollWidth > page.documentElement.clientWidth,
  };
};
document.querySelector("iframe").onload = (event) => {
  const found = probe(event.target.contentDocument);
  found.evil = String(event.target.contentWindow.evil);
  document.querySelector("pre").textContent = JSON.stringify(found);
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


Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def chromium(site: Site, tmp_path: Path) -> Command:
    """Open a page of the site in a browser without a network."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is installed")
    common = (
        browser,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-features=NetworkTimeServiceQuerying",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--host-resolver-rules=MAP * 127.0.0.1:{site.port}",
        "--virtual-time-budget=5000",
    )

    def run(name: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [*common, *options, f"http://127.0.0.1:{site.port}/{name}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def browse(site: Site, chromium: Command) -> Callable[..., Any]:
    """Open a page inside a probe page, and return what the probe found."""

    def run(page: str, width: int = 1200) -> Any:
        (site.folder / "page.html").write_text(page)
        (site.folder / "probe.html").write_text(PROBE.replace("WIDTH", str(width)))
        done = chromium("probe.html", "--dump-dom")
        found = re.search(r"<pre>(.+?)</pre>", done.stdout, re.DOTALL)
        assert found, done.stderr
        return json.loads(unescape(found[1]))

    return run


def value(cell: str) -> float:
    return float(cell.replace(",", ""))


def test_page_works_in_a_browser(browse: Callable[..., Any], site: Site, benchtui: Command) -> None:
    found = browse(benchtui("export", str(SESSION), "--format", "html").stdout, 390)
    values = sorted(map(value, found["before"]))
    up, down, original = found["sorted"]
    assert [value(cell) for cell in up] == values
    assert [value(cell) for cell in down] == values[::-1]
    assert original == found["before"]
    assert found["orders"] == [None, "ascending", "descending", None]
    assert [value(cost) for cost in found["costs"]] == pytest.approx(
        [1e6 / (value(rate) * 3600) * 2 for rate in original], rel=0.01
    )
    assert original[2] in found["filtered"]
    assert found["count"] == f"{len(found['filtered'])} of {len(original)} rows"
    assert len(found["filtered"]) < len(original)
    assert found["hidden"]
    assert found["open"] == found["closed"] > 1
    assert " bs=" in found["value"]
    assert found["papers"] == ["rgb(254, 254, 254)", "rgb(23, 23, 27)"]
    assert found["drawn"] == found["figures"] > 2
    assert not found["overflow"]
    assert set(site.requests) == {"127.0.0.1/probe.html", "127.0.0.1/page.html"}


def test_untrusted_text_runs_no_script_and_sends_no_request(
    browse: Callable[..., Any], site: Site, benchtui: Command
) -> None:
    evil = "<script>window.evil=1</script><img src=http://evil.example/x onerror=window.evil=1>"
    model = json.loads(SESSION.read_text())[0]["sweep"]["model"]
    session = site.folder / "evil.json"
    session.write_text(SESSION.read_text().replace(json.dumps(model), json.dumps(evil)))
    page = benchtui("export", str(session), "--format", "html").stdout
    assert "&lt;script&gt;window.evil=1" in page
    assert browse(page)["evil"] == "undefined"
    assert set(site.requests) == {"127.0.0.1/probe.html", "127.0.0.1/page.html"}


def test_report_is_printed_on_two_pages(
    chromium: Command, site: Site, benchtui: Command, tmp_path: Path
) -> None:
    (site.folder / "page.html").write_text(benchtui("export", str(SESSION), "--format", "html").stdout)
    chromium("page.html", f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert len(re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())) == 2
