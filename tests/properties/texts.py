"""Text and spans as hypothesis should try them: all of Unicode, and often what is known as hard."""

from __future__ import annotations

from hypothesis import strategies as st

from sfumato.text.span import Span, Spans

HARD = (
    "\r\n", "\r", "\n", "\t", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\u00a0", "  ", "\u3000",
    "\u200d", "\u200c", "\u200b", "\ufeff", "\u00ad", "\u2060", "\x00", "\x1b[0m", "\ufffd",
    "e\u0301", "\u0301", "\u20e3", "\ufe0f", "\u0940", "क्षि", "ก็", "नमस्ते",
    "👩‍👧", "👍🏽", "🇩🇪", "🇩", "🏴‍☠️", "™", "№", "Ⅷ", "½", "١٢٣", "𝟘𝟙", "𝕏",
    "שלום", "צה\"ל", "\u202e", "\u2067", "مرحبا", "漢字", "カタカナ", "ひらがな", "한국어",
    "can't", "l'eau", "'apple'", "don’t", "a.b", "3.14", "1,000", "x_y", "555-1234", "a@b.de",
    "Straße", "İ", "ŉ", "ﬃ", "ǅ", "\ue000", "\U0010ffff", "\U000e0001", "paris", "7", "cat",
)  # fmt: skip

characters = st.characters(exclude_categories=["Cs"])
texts = st.lists(characters | st.sampled_from(HARD), max_size=25).map("".join)

PLACES = st.integers(0, 60)
spans = st.builds(
    lambda one, two, label: Span(min(one, two), max(one, two), label),
    PLACES,
    PLACES,
    st.sampled_from("AB"),
)
many_spans = st.lists(spans, max_size=12).map(Spans.of)
