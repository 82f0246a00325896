"""Hooks of the documentation site: generated reference pages, and pages of the repository's root."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from benchtui.tui.cli import app
from benchtui.tui.cli.schema.command import document_schema

ROOT = Path(__file__).parents[1]
ROOT_PAGES = {
    "BENCHMARKS.md": "reference/benchmarks.md",
    "CHANGELOG.md": "reference/changelog.md",
    "ARCHITECTURE.md": "reference/architecture.md",
    "CONTRIBUTING.md": "reference/contributing.md",
    "README.md": "index.md",
}
"""Files of the repository's root, and the pages of the site that show them or stand for them."""
_LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)]*)?\))")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]*pictures/([\w-]+))\.svg\)")
"""Picture of the app, which the site shows in the reader's scheme and width."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and the pages of the root to the site."""
    pages = {
        "reference/commands.md": commands(),
        "reference/fields.md": fields(),
        "reference/events.md": event_list(),
    }
    for source, target in ROOT_PAGES.items():
        if target not in files.src_uris:
            pages[target] = (ROOT / source).read_text("utf-8")
    for target, text in pages.items():
        files.append(File.generated(config, target, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to files of the repository at the pages that show them; other code loses its link."""
    folder = Path(page.file.src_uri).parent
    of_root = {target: source for source, target in ROOT_PAGES.items()}.get(page.file.src_uri)
    base = Path() if of_root and page.file.generated_by else Path("docs") / folder

    def replaced(match: re.Match[str]) -> str:
        target = match[2]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = os.path.normpath(base / target)
        if path in ROOT_PAGES:
            path = ROOT_PAGES[path]
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
        return f"{match[1]}{os.path.relpath(path, folder)}{match[3]}"

    return _PICTURE.sub(_variants, _LINK.sub(replaced, markdown))


def _variants(picture: re.Match[str]) -> str:
    """Show a picture in both schemes, and on a phone a narrow one if there is one."""
    text, path, name = picture.groups()
    narrow = (ROOT / "docs/pictures" / f"{name}-narrow.svg").exists()
    widths = {"": "{.wide loading=lazy}", "-narrow": "{.narrow loading=lazy}"} if narrow else {"": ""}
    schemes = {"": "dark", "-light": "light"}
    return "\n".join(
        f"![{text}]({path}{width}{suffix}.svg#only-{scheme}){classes}"
        for width, classes in widths.items()
        for suffix, scheme in schemes.items()
    )


def commands() -> str:
    """Page with the help of every command, as click prints it."""
    parts = ["# Commands\n\nThis page lists every command and its options, as `--help` prints them.\n"]
    for name, command in _walk("benchtui", app):
        with click.Context(command, info_name=name) as context:
            parts.append(f"## `{name}`\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for word in command.list_commands(context):
            child = command.get_command(context, word)
            if child is not None:
                yield from _walk(f"{name} {word}", child)


def fields() -> str:
    """Page with the columns of results and steps."""
    results, steps = document_schema("results")["$defs"], document_schema("steps")["$defs"]
    return (
        "# Columns and fields\n\nThis page lists every column of the exports, with its unit."
        " Names are stable; columns may be added.\n\n"
        f"## Results: one row per case\n\n{_table(results['Case'])}\n"
        f"## The session of the results\n\n{_table(results['Source'])}\n"
        f"## Steps: one row per step\n\n{_table(steps['StepRow'])}\n"
    )


def event_list() -> str:
    """Page with the events of a session file."""
    definitions = document_schema("event")["$defs"]
    parts = [
        "# Events\n\nThis page describes the session file. It is a JSON array with one event per line;"
        " `t` is seconds since the session started. Ignore fields that you don't know: more may be added.\n"
    ]
    for name, definition in definitions.items():
        if definition.get("properties"):
            tag = definition["properties"].get("event", {}).get("enum", [""])[0]
            parts.append(
                f"## {tag or name}\n\n{_cell(definition.get('description', ''))}\n\n{_table(definition)}"
            )
    return "\n".join(parts)


def _table(definition: dict[str, Any]) -> str:
    rows = [
        f"| `{name}` | {_kind(field)} | {_cell(field.get('description', ''))} |"
        for name, field in definition["properties"].items()
        if name != "$id"  # of the document, not of the event
    ]
    return "\n".join(("| name | type | meaning |", "|---|---|---|", *rows, ""))


def _kind(field: dict[str, Any]) -> str:
    """Type of a field of a JSON Schema in one word, or several."""
    if "anyOf" in field:
        return ", ".join(dict.fromkeys(_kind(each) for each in field["anyOf"]))
    if "enum" in field:
        return ", ".join(f"`{each}`" for each in field["enum"])
    if "$ref" in field:
        return str(field["$ref"]).rpartition("/")[2]
    if isinstance(field.get("items"), dict):
        return f"list of {_kind(field['items'])}"
    return str(field.get("type", "any"))


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())
