"""What the documentation's site adds to mkdocs: pages of the reference, from what rooms export.

A room is a package or module directly under ``sfumato``. It has a page when it has ``__all__``,
and the page shows the names in it, so the reference and what is public are the same list.
``mkdocs.yml`` names this file twice: mkdocs calls the functions that begin with ``on_``, and
mkdocstrings passes every docstring through ``Docstrings``.
"""

from __future__ import annotations

import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from griffe import Extension, GriffeLoader, Module, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import sfumato

ROOT = Path(__file__).parents[1]
REFERENCE = "Reference"
COPIED = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md"}
STATEMENTS = "Guarantee|Why it holds|Care|Reference"
STATEMENT = re.compile(rf"^({STATEMENTS})\n    (?=\S)", re.MULTILINE)
DOCTEST = re.compile(r"^( *)>>> .*(?:\n *\S.*)*", re.MULTILINE)
# Links to code: they lead somewhere in the repository, and nowhere on the site.
TO_CODE = re.compile(r"\[([^\]]+)\]\(\.\./(?:src|tests|studies|benchmarks)/[^)]*\)")
FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")


def exporting_rooms() -> list[ModuleType]:
    """The package, then its rooms that say what they export."""
    names = (f"sfumato.{found.name}" for found in pkgutil.iter_modules(sfumato.__path__))
    rooms = [import_module(name) for name in names if not name.startswith("sfumato._")]
    return [sfumato, *(room for room in rooms if hasattr(room, "__all__"))]


def address_of(room: ModuleType) -> str:
    """Where the reference page of a room stands."""
    return f"reference/{room.__name__}.md"


def page_of(room: ModuleType) -> str:
    """The reference page of a room: what it is, and each name that it exports."""
    about = as_markdown(room.__doc__ or "")
    names = (f"::: {room.__name__}.{name}\n" for name in room.__all__)
    return "\n".join([f"# {room.__name__}\n", f"{about}\n", *names])


def as_markdown(docstring: str) -> str:
    """A docstring with its examples fenced and its statements as a list of definitions."""
    fenced = DOCTEST.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", docstring)
    return STATEMENT.sub(r"**\1**\n:   ", fenced)


class Docstrings(Extension):
    """Docstrings as Markdown; what a module states stands with its main class or function."""

    def on_object(self, *, obj: Object, loader: GriffeLoader, **_: object) -> None:
        """Rewrite the docstring of a class, function or attribute that has been read."""
        del loader
        if obj.docstring and not obj.is_module:
            stated = statements(obj.module) if obj.name == main_name(obj.module) else ""
            obj.docstring.value = as_markdown(f"{obj.docstring.value}\n\n{stated}".rstrip())


def statements(module: Module) -> str:
    """The part of a module's docstring that says what is guaranteed, and why."""
    docstring = module.docstring.value if module.docstring else ""
    found = STATEMENT.search(docstring)
    return docstring[found.start() :] if found else ""


def main_name(module: Module) -> str:
    """The class or function that a module is about: its namesake, or else its first public one."""
    names = [one.name for one in (*module.classes.values(), *module.functions.values())]
    public = [name for name in names if not name.startswith("_")]
    noun = module.name.replace("_", "")
    namesakes = (name for name in public if name.replace("_", "").lower() == noun)
    return next(namesakes, public[0] if public else "")


def on_config(config: MkDocsConfig) -> None:
    """Add the pages of the reference to the navigation."""
    section = next(entry for entry in config.nav or [] if REFERENCE in entry)
    section[REFERENCE] += [{room.__name__: address_of(room)} for room in exporting_rooms()]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add pages that stand in no file under docs/: the reference, and copies of files beside it."""
    pages = {address_of(room): page_of(room) for room in exporting_rooms()}
    for address, name in COPIED.items():
        pages[address] = (ROOT / name).read_text("utf-8").replace("](docs/", "](")
    for address, content in pages.items():
        files.append(File.generated(config, address, content=content))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that lead out of docs/ lead to a copy, or, to code, be the name of its file."""
    del page, config, files
    for address, name in COPIED.items():
        markdown = markdown.replace(f"](../{name})", f"]({address})")
    return TO_CODE.sub(r"`\1`", markdown)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> None:
    """Refuse a page for which a browser would fetch something from another place."""
    del config
    if found := FETCHED.search(output):
        raise PluginError(f"{page.file.src_uri} loads {found[0]}: keep it in the site instead")
