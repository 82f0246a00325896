"""The site builds without a warning, and its links and searches lead somewhere."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.xdist_group("site")  # one process builds it, once


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as its workflow does."""
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "REPOSITORY_URL": "https://localhost/benchtui"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return folder


class Page(HTMLParser):
    """Anchors of a page, and the addresses that it refers to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src", "data-cast") and value:
                self.addresses.append(value)


def dead_links(site: Path) -> list[str]:
    """Return the links within the site that lead nowhere."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for address in page.addresses:
            link = urlsplit(address)
            if link.scheme or link.netloc:
                continue
            place = unquote(link.path)
            target = (
                path if not place else (site / place[1:] if place[0] == "/" else path.parent / place).resolve()
            )
            target = target / "index.html" if target.is_dir() else target
            exists = target.exists() and (
                not link.fragment or target not in pages or has(pages[target], link.fragment)
            )
            if not exists:
                dead.append(f"{path.relative_to(site)}: {address}")
    return dead


def has(page: Page, fragment: str) -> bool:
    return unquote(fragment) in page.anchors or fragment in ("only-dark", "only-light")


def test_every_link_leads_somewhere(site: Path) -> None:
    assert dead_links(site) == []
    assert (site / "reference/commands/index.html").exists()


def test_dead_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b/index.html").write_text('<h1 id="here"></h1><img src="../no.svg">')
    (tmp_path / "a.html").write_text('<a href="b/#here"></a><a href="b/#there"></a><a href="/c/"></a>')
    assert sorted(dead_links(tmp_path)) == ["a.html: /c/", "a.html: b/#there", "b/index.html: ../no.svg"]


def found(site: Path, word: str) -> list[str]:
    """Return the pages whose titles or texts have a word."""
    index = json.loads((site / "search/search_index.json").read_text("utf-8"))
    separator = re.compile(index["config"]["separator"])
    return [
        entry["location"]
        for entry in index["docs"]
        if word in separator.split(f"{entry['title']} {entry['text']}".lower())
    ]


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("dataloader", "own-step/"),
        ("docker", "docker/"),
        ("podman", "docker/"),
        ("notebook", "notebook/"),
        ("jupyter", "notebook/"),
        ("offline", "offline/"),
        ("hf_home", "offline/"),
        ("proxy", "offline/"),
        ("wandb", "programs/"),
        ("mlflow", "programs/"),
        ("ci", "tutorials/pull-request/"),
        ("windows", "getting-started/"),
        ("macos", "getting-started/"),
    ],
)
def test_search_finds_the_page_of_a_word(site: Path, word: str, page: str) -> None:
    words = word.split("_")
    pages = set.intersection(*({place.partition("#")[0] for place in found(site, each)} for each in words))
    assert page in pages


def test_page_has_neighbors_a_link_to_the_repository_and_nothing_from_the_network(site: Path) -> None:
    page = (site / "sweeps/index.html").read_text("utf-8")
    assert 'rel="prev"' in page and 'rel="next"' in page and 'href="https://localhost/benchtui"' in page
    scripts = [
        each
        for path in site.rglob("*.html")
        for each in re.findall('<(?:script|link|img)[^>]*"(https?:[^"]*)', path.read_text("utf-8"))
    ]
    assert {each for each in scripts if not each.startswith("https://localhost")} == set()
    lost = (site / "404.html").read_text("utf-8")
    assert "Page not found" in lost and "Getting started" in lost


def test_recording_shows_a_moment_and_pictures_have_narrow_ones(site: Path) -> None:
    tour = (site / "tour/index.html").read_text("utf-8")
    poster = re.search(r'data-poster="npt:(\d+):(\d+)"', tour)
    assert poster
    *_, last = (ROOT / "docs/assets/demo.cast").read_text("utf-8").splitlines()
    assert 60 * int(poster[1]) + int(poster[2]) < json.loads(last)[0]
    wide, narrow = (re.findall(f'class="{name}" [^>]*src="([^"]*)"', tour) for name in ("wide", "narrow"))
    assert len(wide) == len(narrow) == 10, "five pictures, dark and light"
