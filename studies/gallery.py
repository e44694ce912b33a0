"""The gallery: ``docs/results/index.md`` and its charts, from ``gallery.toml`` and the pages.

    python studies/gallery.py [--check]

The charts are drawn from the tables of the pages, and whatever is said of a page is checked against
it: what is not as the pages say is named, and nothing is written. With ``--check`` nothing is
written in any case, and files that would become others are named. The exit code is 1 if anything
was named.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gallery_charts import Drawn, cite, draw
from gallery_checks import SAID, commands_at_fault, words_at_fault
from gallery_tables import NotFound, Page
from sfumato.reports.picture import draw_file

ROOT = Path(__file__).parents[1]
PAGES, CHARTS = Path("docs/results"), Path("docs/images/results")
INDEX = PAGES / "index.md"
KEYS = {"page", "part", "chart", "command", *SAID}
NOTE = "<!-- Written by `python studies/gallery.py` from studies/gallery.toml and the pages. -->"


@dataclass(frozen=True)
class Gallery:
    """What the page says, and the pages that it is about."""

    root: Path
    about: str
    parts: dict[str, str]
    entries: list[dict[str, Any]]

    @classmethod
    def read(cls, root: Path = ROOT) -> Gallery:
        """The gallery of a repository."""
        told = tomllib.loads((root / "studies" / "gallery.toml").read_text("utf-8"))
        return cls(root, told["about"].strip(), told["parts"], told["entries"])

    def filled(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry, with figures of its page in the places that its words have for them."""
        page, chart = self.page(entry), entry["chart"]
        return entry | {key: cite(entry[key], page, chart) for key in SAID if key in entry}

    def page(self, entry: dict[str, Any]) -> Page:
        """The page that an entry is about."""
        return Page.read(self.root / PAGES / entry["page"])

    def files(self) -> dict[Path, bytes]:
        """The page and all its charts, by where they stand in the repository."""
        drawn = {entry["page"]: draw(self.page(entry), entry["chart"]) for entry in self.entries}
        lines = [line for part in self.parts for line in self._part(part, drawn)]
        text = "\n".join(["# Results at a glance", "", NOTE, "", self.about, "", *lines])
        charts = {_chart(page): draw_file(one.sheet, one.told) for page, one in drawn.items()}
        return {INDEX: text.encode(), **charts}

    def _part(self, part: str, drawn: dict[str, Drawn]) -> Iterator[str]:
        yield from (f"## {self.parts[part]}", "")
        for entry in self.entries:
            if entry["part"] == part:
                yield from self._entry(self.filled(entry), drawn[entry["page"]])

    def _entry(self, entry: dict[str, Any], drawn: Drawn) -> Iterator[str]:
        chart = Path("..") / _chart(entry["page"]).relative_to("docs")
        yield from (f"### [{self.page(entry).title}]({entry['page']})", "")
        yield from (f"![{drawn.told}]({chart})", "")
        if drawn.caption:
            yield from (f"*{drawn.caption}*", "")
        yield from (f"{entry['found']} {entry['limit']}", "")
        yield f"- **Time**: {entry.get('time', 'not recorded').rstrip('.')}."
        yield f"- **Beside the paper**: {entry.get('paper', 'no paper').rstrip('.')}."
        again = f" {entry['again']}" if "again" in entry else ""
        yield from (f"- **Again**:{again}", "", "    ```sh")
        yield from (f"    {line}" for line in entry["command"].strip().splitlines())
        yield from ("    ```", "")

    def faults(self) -> Iterator[str]:
        """Whatever keeps the gallery from being true: missing entries, numbers, commands."""
        named = [entry["page"] for entry in self.entries]
        there = {path.name for path in (self.root / PAGES).glob("*.md")} - {INDEX.name}
        yield from (f"{page} has no entry" for page in sorted(there - set(named)))
        yield from (f"{page} has several entries" for page in named if named.count(page) > 1)
        yield from (f"there is no page {page}" for page in sorted(set(named) - there))
        for entry in self.entries:
            if entry["page"] not in there:
                continue
            page = self.page(entry)
            yield from commands_at_fault(entry["command"], page, self.root)
            yield from (f"{page.name}: what is '{key}'?" for key in sorted(entry.keys() - KEYS))
            if entry["part"] not in self.parts:
                yield f"{page.name} is in no part that there is"
            try:
                yield from words_at_fault(self.filled(entry), page)
                said = [one.text for one in draw(page, entry["chart"]).sheet.writings()]
            except NotFound as error:
                yield f"{page.name}: {error}"
                continue
            yield from (
                f"{page.name}: the chart has no room for '{one}'" for one in said if "…" in one
            )

    def outdated(self) -> Iterator[str]:
        """Files that are not what would be written, and charts that nobody shows."""
        files = self.files()
        for path, content in files.items():
            if not (self.root / path).exists() or (self.root / path).read_bytes() != content:
                yield f"{path} is not what studies/gallery.py writes"
        for path in sorted((self.root / CHARTS).glob("*")):
            if path.relative_to(self.root) not in files:
                yield f"{path.relative_to(self.root)} belongs to no entry"

    def write(self) -> None:
        """Write the page and its charts."""
        for path, content in self.files().items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_bytes(content)


def _chart(page: str) -> Path:
    return CHARTS / f"{page.removesuffix('.md')}.svg"


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    checked = parser.parse_args().check
    gallery = Gallery.read()
    faults = list(gallery.faults())
    if not faults and checked:
        faults += gallery.outdated()
    elif not faults:
        gallery.write()
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
