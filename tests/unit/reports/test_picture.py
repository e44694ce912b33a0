"""Pictures as files: well-formed, closed in themselves, readable on light and on dark."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from sfumato.charts.chart import COLORS
from sfumato.charts.shapes import Mark, Sheet, Stroke, Writing
from sfumato.reports.picture import draw_file

HOSTILE = '<script>alert("1")</script> & "more"'
LEAST = 4.5  # the contrast that small text needs (WCAG 2, AA)


def sheet() -> Sheet:
    named = [
        Writing(x=4, y=20 * place, text=f"series {place}", kind="name", size=12, series=place)
        for place in range(len(COLORS))
    ]
    return Sheet(
        width=360, height=200,
        shapes=(
            *named,
            Writing(x=0, y=0, text=HOSTILE, kind="tick", size=12),
            Mark(x=9, y=9, shape="circle", kind="solid", series=1, said=HOSTILE),
            Stroke(points=((0, 0), (9, 9)), kind="interval", series=None),
        ),
    )  # fmt: skip


def looks(file: str) -> tuple[str, str]:
    """The rules of a light and of a dark page."""
    style = re.findall(r"<style>(.*?)</style>", file, re.DOTALL)[0]
    light, _, dark = style.partition("@media (prefers-color-scheme: dark) {")
    return light, dark


def fill(rules: str, selector: str) -> str:
    (found,) = re.findall(rf"^{re.escape(selector)} {{.*?fill: (#\w+)", rules, re.MULTILINE)
    return str(found)


def contrast(color: str, paper: str) -> float:
    def light(one: str) -> float:
        parts = [int(one[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [
            part / 12.92 if part <= 0.04 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((light(color), light(paper)))
    return (high + 0.05) / (low + 0.05)


def test_a_file_is_well_formed_and_needs_nothing_else() -> None:
    file = draw_file(sheet(), HOSTILE).decode()
    root = ElementTree.fromstring(file)
    assert root.attrib["aria-label"] == HOSTILE
    assert not [one for one in root.iter() if one.tag.endswith(("script", "image", "a"))]
    assert not re.search(r"url\(|@import|href|var\(|color-mix|currentcolor", file)


def test_words_can_be_read_on_light_and_on_dark() -> None:
    light, dark = looks(draw_file(sheet(), "").decode())
    for rules in (light, dark):
        paper = fill(rules, ".sheet")
        for selector in ("text", ".tick", *(f".name.s{place}" for place in range(len(COLORS)))):
            assert contrast(fill(rules, selector), paper) >= LEAST, selector
    # The twin: the words of a light page on dark paper.
    assert contrast(fill(light, "text"), fill(dark, ".sheet")) < LEAST


def test_only_what_is_drawn_has_rules() -> None:
    light, _ = looks(draw_file(sheet(), "").decode())
    assert ".solid.s1" in light
    assert ".interval" in light
    assert ".ring" not in light
