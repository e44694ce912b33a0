"""Selective metric DP: privatize the words a policy selects, keep everything else.

Guarantee
    Selective metric DP at the level of the inner mechanism: for texts that differ only in words
    which the policy selects in both, at the same places, each changed word is protected as the
    inner mechanism protects a word. A document costs the sum over its selected words.

Why it holds
    Unselected text is the same in both and is copied. Each selected word goes through the inner
    mechanism with randomness of its own, and the product of independent draws has the product
    of the ratios. If the policy reads context, changing one word may change the decision about
    another; such pairs are not neighbors here, so the decisions themselves count as public.

    Around a mechanism that replaces whole stretches, or a table of mechanisms by type, the same
    holds for stretches instead of words, at the level of each of them.

    A mechanism that rewrites whole documents goes with the policy that selects everything, and with
    no other: a new text has no places at which something could be kept. Its statement stands as it
    is, for the whole text of a document; of a record with several texts it would not, since each of
    them costs as much, so that is refused.

What it does not say
    Whatever the policy misses stands in the clear. Which words were selected, how many there
    are, and the punctuation and white space between them can be seen; of whole stretches that are
    replaced, only where they are and of what type.

Reference
    Algorithm 1 of the selective metric DP thesis, which leaves unknown words unchanged; here
    they are covered unless that is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, Part, no_guarantee
from sfumato.guarantees.parts import by_type
from sfumato.mechanisms.by_type import LANGUAGE_LEAK, ByType
from sfumato.mechanisms.mechanism import DocumentMechanism, Mechanism, StretchMechanism
from sfumato.mechanisms.redact import TYPE_LEAK, mask
from sfumato.mechanisms.unchanged import tell_unchanged
from sfumato.mechanisms.vocabulary import CASE_LEAK, KEPT_UNKNOWN, SAME_SHAPE, SHAPE_LEAK
from sfumato.policies.patterns import Everything, Nothing
from sfumato.policies.policy import Policy, find_each
from sfumato.text.document import Document
from sfumato.text.edits import Edit, Edited
from sfumato.text.language import guess_language
from sfumato.text.span import Spans, Stretch, stretches
from sfumato.text.words import Words

STRUCTURE_LEAK = (
    "how many words there are and all punctuation, symbols (also flags and Braille), white space "
    "and invisible characters, also inside what was selected"
)
STRETCH_LEAK = (
    "where something was replaced, and so what the policy read off it (that a number passes a "
    "check, that a name stands twice), and every character outside"
)
CHOICE_LEAK = (
    "which words were selected, and so what the policy read off them (that a number passes a "
    "check, that a name stands twice)"
)
MISSING_LEAK = (
    "which texts are missing altogether (null, or an empty list), and in which field; an empty "
    "text is rewritten like any other"
)
WORD_MASK, DOCUMENT_MASK = "[WORD]", "[DOCUMENT]"
EXPERIMENT_LEAK = "what the policy drops on purpose (an experiment: not for release)"


@dataclass(frozen=True, slots=True)
class Privatized:
    """What came of one document, with counts of its words.

    ``selected`` counts the words that were replaced, be it one by one or several at a time;
    ``types`` counts places by type where whole stretches were replaced. ``drawn`` counts what was
    replaced under each part of the guarantee (or under the whole): words where words are replaced
    one by one, and else stretches, never the words in them. ``marks`` are the masks that could
    stand there instead, where types show.
    """

    edited: Edited
    words: int
    selected: int
    uncovered: int = 0
    types: Counter[str] = field(default_factory=Counter)
    drawn: tuple[int, ...] = ()
    marks: tuple[Edit, ...] = ()

    @property
    def masks(self) -> tuple[Edit, ...]:
        """The same places with nothing in them but a mask, for which nothing is drawn.

        Where words are replaced one by one their types do not show, nor which of them were found
        together: then every word has the same mask.
        """
        return self.marks or tuple(Edit(one.start, one.end, WORD_MASK) for one in self.edited.edits)

    @property
    def text(self) -> str:
        """The new text."""
        return self.edited.text

    @property
    def places(self) -> int:
        """At how many places something was put in; the output shows that."""
        return len(self.edited.edits)

    def __repr__(self) -> str:
        # What the policy did not select stands here in the clear: keep it out of logs.
        return f"Privatized({self.words} words, {self.selected} selected)"


@dataclass(frozen=True, kw_only=True)
class Selective:
    """A mechanism applied where a policy finds something."""

    policy: Policy
    mechanism: Mechanism | StretchMechanism | DocumentMechanism | ByType

    @property
    def by_words(self) -> bool:
        """Whether words are replaced one by one, and nothing else."""
        return not isinstance(self.mechanism, StretchMechanism | DocumentMechanism | ByType)

    @property
    def rewrites(self) -> bool:
        """Whether a new text is written in the place of a whole document."""
        return isinstance(self.mechanism, DocumentMechanism)

    def check(self) -> None:
        """Say what is wrong with the settings, before anything is drawn or read."""
        if self.rewrites:
            self.refuse_selecting()
        self.mechanism.guarantee()

    def refuse_selecting(self) -> None:
        """Refuse a policy that selects parts, where all of a text is rewritten."""
        if not isinstance(self.policy, Everything):
            raise InvalidArgument(
                f"the policy '{self.policy.name}' selects parts of a text, and this mechanism "
                "writes a new text in the place of all of it, so there is nothing to select: "
                "`policy='everything'`"
            )

    def guarantee(self, uncovered: int | None = None, types: Collection[str] = ()) -> Guarantee:
        """The statement, with the number of selected but unprotected words once it is known.

        Of a table by type only the parts for ``types`` are stated, once it is known which of them
        were found; the types of all places count as public.
        """
        if isinstance(self.policy, Nothing):
            return no_guarantee(unit="word", scope="no word").not_covering("every word")
        if self.rewrites:
            self.refuse_selecting()
            return self.mechanism.guarantee()
        inner = self.mechanism.guarantee()
        if isinstance(self.mechanism, ByType):
            return self._by_type(self.mechanism, uncovered, types)
        by_words = self.by_words
        if isinstance(self.mechanism, StretchMechanism):
            inner = tell_unchanged(inner, self.mechanism)
        inner = counting(inner.leaking(STRUCTURE_LEAK if by_words else STRETCH_LEAK), uncovered)
        if isinstance(self.policy, Everything):
            return inner
        selective = replace(
            inner,
            scope=_narrowed(inner, self.policy),
            neighbors=(
                compare_words(inner, "the selection being the same")
                if by_words
                else inner.neighbors
            ),
            about=(*inner.about, self.policy),
        )
        selective = selecting(selective, self.policy).leaking(*([CHOICE_LEAK] if by_words else []))
        return selective.not_covering("whatever the policy does not select")

    def _by_type(self, table: ByType, uncovered: int | None, types: Collection[str]) -> Guarantee:
        """The statement of each mechanism about what this policy finds as its types."""
        parts = []
        for one, labels in table.treated(types):
            inner = counting(table.statement(one), uncovered)
            scope = f"{inner.scope}, as far as the policy '{self.policy.name}' finds it as such"
            if isinstance(one, StretchMechanism):
                stated = replace(tell_unchanged(inner, one), scope=scope)
            else:
                stated = replace(
                    inner.leaking(STRUCTURE_LEAK),
                    scope=scope,
                    neighbors=compare_words(inner, "the selection being the same"),
                )
            about = (*inner.about, self.policy)
            parts.append(Part(labels, selecting(replace(stated, about=about))))
        whole = selecting(by_type(parts), self.policy).leaking(TYPE_LEAK, STRETCH_LEAK)
        if table.reads_language and any(one.guarantee.unit == "word" for one in parts):
            whole = whole.leaking(LANGUAGE_LEAK)
        if isinstance(self.policy, Everything):
            return whole
        return whole.not_covering("whatever the policy does not select")

    def privatize(
        self,
        documents: Sequence[Document],
        randomness: Randomness,
        together: Sequence[int] | None = None,
    ) -> list[Privatized]:
        """Privatize documents together: one call of the mechanism for all of them.

        ``together`` says how many of them, one after the other, are texts of one record; a
        mechanism of whole stretches then treats such a record as one document.
        """
        if isinstance(self.mechanism, DocumentMechanism):
            return self._rewritten(self.mechanism, documents, randomness, together)
        if isinstance(self.mechanism, StretchMechanism | ByType):
            return self._replaced(documents, randomness, together)
        segmented = [Words.of(document.text) for document in documents]
        chosen = [
            spans.select(words)
            for spans, words in zip(find_each(self.policy, documents), segmented, strict=True)
        ]
        inputs = [
            words[index]
            for words, indices in zip(segmented, chosen, strict=True)
            for index in indices
        ]
        outputs = self.mechanism.privatize(inputs, randomness)
        results: list[Privatized] = []
        start = 0
        for words, indices in zip(segmented, chosen, strict=True):
            end = start + len(indices)
            results.append(
                Privatized(
                    edited=words.replaced(indices, outputs[start:end]),
                    words=len(words),
                    selected=len(indices),
                    uncovered=self.mechanism.uncovered(inputs[start:end]),
                    drawn=(len(indices),),
                )
            )
            start = end
        return results

    def _rewritten(
        self,
        mechanism: DocumentMechanism,
        documents: Sequence[Document],
        randomness: Randomness,
        together: Sequence[int] | None,
    ) -> list[Privatized]:
        """One edit for the whole text: nothing of it stays, white space least of all."""
        self.refuse_selecting()
        if together is not None and any(count > 1 for count in together):
            raise InvalidArgument(
                "a record has several texts, and each that is rewritten costs the level anew: "
                "rewrite one of them, `field=NAME`, and drop the others or privatize them apart"
            )
        texts = mechanism.rewrite([one.text for one in documents], randomness)
        if len(texts) != len(documents) or not all(isinstance(one, str) for one in texts):
            who = type(mechanism).__name__
            raise InvalidArgument(
                f"{who}.rewrite(documents, randomness) must give one text for each document"
            )
        counts = [len(Words.of(one.text)) for one in documents]
        return [
            Privatized(
                edited=Edited.of(one.text, [Edit(0, len(one.text), text)]),
                words=count,
                selected=count,
                drawn=(1,),
                marks=(Edit(0, len(one.text), DOCUMENT_MASK),),
            )
            for one, text, count in zip(documents, texts, counts, strict=True)
        ]

    def _replaced(
        self,
        documents: Sequence[Document],
        randomness: Randomness,
        together: Sequence[int] | None,
    ) -> list[Privatized]:
        """One edit for each stretch, so that nothing of what stood inside it shows."""
        table = self.mechanism
        assert not isinstance(table, DocumentMechanism)  # noqa: S101
        if not isinstance(table, ByType):
            table = ByType(parts=(), otherwise=table)
        segmented = [Words.of(document.text) for document in documents]
        selected = find_each(self.policy, documents)
        found = [
            [(number, one) for one in stretches(spans, words, language_in(document, spans, words))]
            for number, (document, spans, words) in enumerate(
                zip(documents, selected, segmented, strict=True)
            )
        ]
        order = table.places()
        places = Places.of(len(documents), max(order.values()) + 1)
        routed = _routed(table, _join(found, together))
        for mechanism in table.routes():
            place = order.get(id(mechanism))
            groups = routed.get(id(mechanism), ())
            if isinstance(mechanism, StretchMechanism):
                places.replace_stretches(mechanism, groups, randomness, place)
            else:
                every = [one for group in groups for one in group]
                places.replace_words(mechanism, every, segmented, randomness, place)
        return [
            Privatized(
                edited=Edited.of(document.text, sorted(edits)),
                words=len(words),
                selected=len(spans.select(words)),
                uncovered=uncovered,
                types=Counter(one.label for _, one in inside),
                drawn=tuple(drawn),
                marks=tuple(Edit(one.start, one.end, mask(one)) for _, one in inside),
            )
            for document, edits, words, spans, uncovered, drawn, inside in zip(
                documents,
                places.edits,
                segmented,
                selected,
                places.uncovered,
                places.drawn,
                found,
                strict=True,
            )
        ]


@dataclass(frozen=True)
class Places:
    """The edits of each of some documents, as they are collected, and words that stay.

    ``drawn`` counts what was replaced, by document and by the place of its part in the guarantee;
    masks in the place of words of another language belong to none.
    """

    edits: list[list[Edit]]
    uncovered: list[int]
    drawn: list[list[int]]

    @classmethod
    def of(cls, documents: int, parts: int) -> Places:
        """Nothing yet."""
        return cls(
            [[] for _ in range(documents)],
            [0] * documents,
            [[0] * parts for _ in range(documents)],
        )

    def replace_stretches(
        self,
        mechanism: StretchMechanism,
        groups: Sequence[Sequence[tuple[int, Stretch]]],
        randomness: Randomness,
        part: int | None,
    ) -> None:
        """One edit for each stretch, one call for each record that has any."""
        for group in groups:
            if not group:
                continue
            replacements = mechanism.replace([one for _, one in group], randomness)
            for (number, one), replacement in zip(group, replacements, strict=True):
                self.edits[number].append(Edit(one.start, one.end, replacement))
                self._count(number, part)

    def replace_words(
        self,
        mechanism: Mechanism,
        found: Sequence[tuple[int, Stretch]],
        segmented: Sequence[Words],
        randomness: Randomness,
        part: int | None,
    ) -> None:
        """One edit for each word inside the stretches, one call for all of them."""
        places = [
            (number, index)
            for number, one in found
            for index in Spans((one.cover,)).select(segmented[number])
        ]
        inputs = [segmented[number][index] for number, index in places]
        outputs = mechanism.privatize(inputs, randomness)
        for (number, index), word, output in zip(places, inputs, outputs, strict=True):
            words = segmented[number]
            self.edits[number].append(Edit(words.starts[index], words.ends[index], output))
            self.uncovered[number] += mechanism.uncovered([word])
            self._count(number, part)

    def _count(self, number: int, part: int | None) -> None:
        if part is not None:
            self.drawn[number][part] += 1


def _narrowed(inner: Guarantee, policy: Policy) -> str:
    """What a statement is about where a policy selects; one that says less still does."""
    if inner.scope == f"every {inner.unit}":
        return f"every {inner.unit} that the policy '{policy.name}' selects"
    return f"{inner.scope}, as far as the policy '{policy.name}' selects it"


def language_in(document: Document, spans: Spans, words: Words) -> str:
    """The language, guessed from words that stand in the clear if nobody has said it.

    A guess from selected words as well would let them decide what is put in their places.
    """
    if document.language or not len(spans):
        return document.language
    hidden = set(spans.select(words))
    return guess_language(word for index, word in enumerate(words) if index not in hidden)


def _routed(
    table: ByType, groups: Iterable[list[tuple[int, Stretch]]]
) -> dict[int, list[list[tuple[int, Stretch]]]]:
    """What each mechanism (by ``id``) has to replace, record by record."""
    every: dict[int, list[list[tuple[int, Stretch]]]] = {}
    for group in groups:
        own: dict[int, list[tuple[int, Stretch]]] = {}
        for each in group:
            mechanism = table.route(each[1].label, each[1].language)
            own.setdefault(id(mechanism), []).append(each)
        for name, part in own.items():
            every.setdefault(name, []).append(part)
    return every


def _join(
    found: Sequence[list[tuple[int, Stretch]]], together: Sequence[int] | None
) -> list[list[tuple[int, Stretch]]]:
    """What was found in the texts of each record, which is one text unless said otherwise."""
    if together is None:
        return list(found)
    remaining = iter(found)
    return [[one for _ in range(count) for one in next(remaining)] for count in together]


def counting(inner: Guarantee, uncovered: int | None) -> Guarantee:
    """The guarantee with the number of words that were kept because they are unknown."""
    if uncovered is None:
        return inner
    kept = f"{uncovered:,} {KEPT_UNKNOWN}"
    names = tuple(kept if name == KEPT_UNKNOWN else name for name in inner.uncovered)
    return replace(inner, uncovered=names)


def compare_words(inner: Guarantee, same: str) -> str:
    """Which texts are compared when the words inside them are compared as ``inner`` says."""
    if inner.notion in (Notion.NONE, Notion.INDEPENDENT):
        return inner.neighbors
    texts = f"texts that differ in selected words only, {same}"
    if inner.notion is not Notion.METRIC_DP:
        return f"{texts}, and for each such word {inner.neighbors}"
    if SHAPE_LEAK in inner.leaks:
        texts += f", each word being compared with another {SAME_SHAPE}"
    return texts + (" and the capitals too" if CASE_LEAK in inner.leaks else "")


def selecting(guarantee: Guarantee, *policies: Policy) -> Guarantee:
    """The guarantee, marked with what it costs that policies choose the words."""
    if not all(getattr(policy, "for_release", True) for policy in policies):
        guarantee = replace(guarantee.leaking(EXPERIMENT_LEAK), for_release=False)
    if guarantee.notion is Notion.METRIC_DP:
        guarantee = replace(guarantee, notion=Notion.SELECTIVE_METRIC_DP)
    return guarantee
