"""Commands of README and docs work and print what the page shows; local links lead somewhere."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from docs_pages import OF_ROOT, PAGES, PROJECT, ROOT, Block, blocks, examples, matches, run, shown, with_address
from docs_pages import patterns as patterns_of
from markdown_it import MarkdownIt

from benchtui.sessions.sweep.options import OPTIONS
from benchtui.tui.cli import app

LINKED = (
    *PAGES,
    *(ROOT / f"{name}.md" for name in ("ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "BENCHMARKS")),
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def marked(page: Path) -> object:
    """Mark a page that measures something as long, but for the first ones that are read."""
    quick = page.stem in ("README", "own-step") or "\n$ benchtui run" not in page.read_text("utf-8")
    return pytest.param(page, id=name_of(page), marks=() if quick else pytest.mark.long)


@pytest.mark.parametrize("page", map(marked, PAGES))
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    folder, home = tmp_path / "work", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    patterns = patterns_of(page)
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.text, "utf-8")
        for example in examples(block) if block.language == "console" else ():
            done = run(example.command, folder, home)
            assert "Traceback" not in done.stdout, example.command
            assert done.returncode == 0, example.command
            pattern = patterns.get(example.command)
            if pattern is None:
                assert matches(done.stdout, example.output), f"$ {example.command}\n{done.stdout}"
            else:
                assert matches(done.stdout, pattern, "..."), f"$ {example.command}\n{done.stdout}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_show_real_output(page: Path) -> None:
    outputs = {each.command: each.output for each in shown(page)}
    printed = [block.text for block in blocks(page) if block.language in ("console", "text")]
    assert not [line for text in printed for line in text.splitlines() if "..." in line]
    for command, pattern in patterns_of(page).items():
        assert matches("\n".join(outputs[command]), pattern, "..."), command


def test_pages_have_the_address_of_the_repository() -> None:
    texts = {name_of(page): page.read_text("utf-8") for page in (*PAGES, PROJECT)}
    assert [name for name, text in texts.items() if text != with_address(text)] == [], "run `make docs-output`"
    others = "git+https://github.com/someone/benchtui' uses: someone/benchtui/.github@main"
    assert "someone" not in with_address(others)


def shown_commands(block: Block) -> list[list[str]]:
    """The benchtui commands of a block that isn't run."""
    lines = block.text.replace("\\\n", " ").splitlines() if block.language in {"sh", "bash"} else ()
    words = (shlex.split(part, comments=True) for line in lines for part in line.split(" && "))
    return [each[1:] for each in words if each[:1] == ["benchtui"]]


def parse(arguments: list[str]) -> None:
    """Parse a command line as click does, without running it."""
    command: click.Command = app
    context = click.Context(app, info_name="benchtui")
    while arguments and isinstance(command, click.Group):
        child = command.get_command(context, arguments[0])
        if child is None:
            return  # a sweep or a session to open
        command, arguments = child, arguments[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    command.make_parser(context).parse_args(list(arguments))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_are_not_run_are_valid(page: Path) -> None:
    for block in blocks(page):
        for arguments in shown_commands(block):
            parse(arguments)


def test_invalid_option_is_noticed() -> None:
    with pytest.raises(click.NoSuchOption):
        parse(["optimal", "latest", "--max-heat", "3"])


@pytest.mark.parametrize(
    ("output", "shown", "same"),
    [
        ("a\nb\n", ("a", "b"), True),
        ("a\nb\n", ("a",), False),
        ("a\nx\ny\nb\n", ("a", "[…]", "b"), True),
        ("12.3 ms of 4\n", ("[…] ms of 4",), True),
        ("a   1\n", ("a 1",), True),
        ("", ("[…]",), True),
        ("", (), True),
        ("a\n", (), False),
    ],
)
def test_output_is_compared_with_what_is_shown(output: str, shown: tuple[str, ...], same: bool) -> None:
    assert matches(output, shown) is same


def anchors(text: str) -> set[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    found = set()
    tokens = MarkdownIt().parse(text)
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            found.add(re.sub(r"[^\w\- ]", "", tokens[at + 1].content.lower()).replace(" ", "-"))
    return found


GENERATED = re.compile(r"reference/[\w-]+\.md")
"""Pages that only the site has (docs/hooks.py); the build of the site checks links to them."""


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_local_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    links = [
        str(value)
        for token in MarkdownIt().enable("table").parse(text)
        for child in token.children or ()
        for value in (child.attrGet("href"), child.attrGet("src"))
        if value and "://" not in str(value)
    ]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        if GENERATED.fullmatch(path):
            continue
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text("utf-8")), link


def without_output(page: Path) -> list[str]:
    """Return the lines of a page but for the outputs that it shows."""
    lines = page.read_text("utf-8").splitlines()
    return lines[: len(lines) - sum(len(each.output) for each in shown(page))]


def test_pages_are_short_and_begin_with_what_they_are_for() -> None:
    for page in PAGES[len(OF_ROOT) :]:
        lines = without_output(page)
        assert len(lines) <= 200, page
        assert page.stem == "index" or lines[2].startswith(("This page ", "This tutorial ")), page
    assert len(without_output(PAGES[0])) <= 150


def test_every_option_is_documented() -> None:
    text = (ROOT / "docs/options.md").read_text("utf-8")
    missing = [option.name for option in OPTIONS if f"`{option.name}`" not in text]
    assert not missing


def test_pages_that_measure_install_what_measures() -> None:
    extras = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["optional-dependencies"]
    measuring = {"run", *(name for name, needed in extras.items() if "benchtui[run]" in needed)}
    installs = {
        (name_of(page), *spec.split(","))
        for page in PAGES
        if re.search(r"^\$? ?benchtui (run|find|quick)\b", page.read_text("utf-8"), re.MULTILINE)
        for block in blocks(page)
        for spec in re.findall(r"pip install '?benchtui(?:\[([\w,-]+)\])?", block.text)
    }
    assert any(page == "docs/tutorials/torch-versions.md" for page, *_ in installs)
    assert [install for install in installs if not measuring & set(install[1:])] == []
