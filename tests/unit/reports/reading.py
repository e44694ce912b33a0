"""A page as a browser's parser sees it: elements with their attributes, scripts, and text."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser

VOID = {"meta", "br", "hr"}

# Everything that has ever ended a script, an attribute or a comment too early.
HOSTILE = (
    '</script><script>window.hacked=1;alert(1)</script><img src=x onerror="window.hacked=1">'
    "'\"><svg onload=window.hacked=1><!--<script>\u2028]]>&lt;b&gt; {{7*7}} </style></textarea>"
    "\u202e\x00\ud800 javascript:window.hacked=1"
)

# The same for files, which hold no halves of characters, and for what must stand on one line.
HOSTILE_LINE = HOSTILE.replace("\ud800", "").replace("\x00", "").replace("\u2028", " ")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Read(HTMLParser):
    """All elements in order; the text of each is what stands directly in it."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)
    _said: list[str] = field(default_factory=list)
    _glued: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def of(cls, page: bytes) -> Read:
        read = cls()
        read.feed(page.decode())
        read.close()
        assert not read._open, f"left open: {[one.tag for one in read._open]}"
        return read

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)
        self._glued = tag == "button"

    def handle_endtag(self, tag: str) -> None:
        closed = self._open.pop()
        self._glued = tag == "button"
        assert closed.tag == tag, f"</{tag}> closes <{closed.tag}>"

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data
            if self._open[-1].tag in ("script", "style"):
                return
            # A term that can be asked for stands inside its sentence.
            if self._glued and self._said:
                self._said[-1] += data
            else:
                self._said.append(data)
            self._glued = False

    def handle_comment(self, data: str) -> None:  # noqa: ARG002  # the parser's own signature
        raise AssertionError("there is a comment in the page")

    def all(self, *tags: str) -> list[Element]:
        return [one for one in self.elements if one.tag in tags]

    def text(self) -> str:
        """What can be read, white space made even."""
        return " ".join(" ".join(self._said).split())

    def scripts(self) -> list[str]:
        """What would run."""
        return [one.text for one in self.all("script") if "type" not in one.attributes]


def assert_sound(page: bytes) -> Read:
    """What must hold for every page, whatever is written on it."""
    read = Read.of(page)
    assert len(page) < 5_000_000
    _assert_only_own_scripts(read)
    _assert_no_network(read)
    _assert_accessible(read)
    return read


def _assert_only_own_scripts(read: Read) -> None:
    (policy,) = (
        one.attributes["content"]
        for one in read.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    digests = [b64encode(sha256(one.encode()).digest()).decode() for one in read.scripts()]
    assert digests == allowed
    assert len(digests) in (1, 2)
    assert "unsafe-eval" not in policy
    assert "script-src 'sha256-" in policy
    for one in read.elements:
        assert not [key for key in one.attributes if key.startswith("on")], one.tag
    foreign = {one.tag for one in read.elements} & {
        "img", "iframe", "object", "embed", "link", "base", "form", "audio", "video",
    }  # fmt: skip
    assert not foreign
    # Pictures are drawn by the page itself, one for wide and one for narrow screens.
    looks = [one.attributes.get("class") for one in read.all("svg")]
    assert looks == ["wide", "narrow"] * (len(looks) // 2)
    assert all(one.attributes["role"] == "img" for one in read.all("svg"))


def _assert_no_network(read: Read) -> None:
    for one in read.elements:
        assert not one.attributes.keys() & {"src", "srcset", "data", "action", "style"}
        assert one.attributes.get("href", "#").startswith("#")
    for style in read.all("style"):
        assert "url(" not in style.text
        assert "@import" not in style.text


def _assert_accessible(read: Read) -> None:
    (html,) = read.all("html")
    assert html.attributes["lang"] == "en"
    levels = [int(one.tag[1]) for one in read.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    names = [one.attributes["id"] for one in read.elements if "id" in one.attributes]
    assert len(set(names)) == len(names)
    for link in read.all("a"):
        assert link.attributes["href"].removeprefix("#") in names
    for cell in read.all("th"):
        assert cell.attributes["scope"] in ("col", "row")
    charts = [one for one in read.elements if "data-chart" in one.attributes]
    assert all(one.attributes["aria-label"] for one in (*charts, *read.all("svg")))
    for term in read.all("button"):
        assert term.attributes["popovertarget"] in names
