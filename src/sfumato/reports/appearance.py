"""Colours of charts on a dark page: for every colour of the house, one that is seen there.

Charts are described for white paper. On a dark page the same description is drawn with each colour
exchanged; hues stay, so that a legend read in one look is right in the other.
"""

from __future__ import annotations

from types import MappingProxyType

from sfumato.charts.theme import FAINT_INK, GRID, INK, PAPER

DARK_PAPER = "#16191d"

OTHER_COLOURS: MappingProxyType[str, str] = MappingProxyType(
    {
        PAPER: DARK_PAPER,
        INK: "#e6e8ea",
        FAINT_INK: "#9aa3ab",
        GRID: "#2c3238",
        "#0072B2": "#4c9be8",
        "#D55E00": "#f0803c",
        "#009E73": "#2fc496",
        "#CC79A7": "#df95bd",
        "#E69F00": "#f0b429",
        "#56B4E9": "#8fd0f5",
        "#000000": "#ffffff",
    }
)
