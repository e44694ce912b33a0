"""How many words of a privatized text an attacker gets back.

What is counted
    Every word that went through the mechanism. ``top-1`` and ``top-k`` are the shares of words that
    are the attacker's first guess, or among the first k; a guess is right if it is the same word of
    the vocabulary as the original (ignoring capitals). Words outside the vocabulary share one point
    and cannot be guessed, so they count as not found; ``unknown words`` is their share.
    ``unchanged`` is the share of words that came out unchanged. The attacker does not know which:
    they count above, and ``… where changed`` are the same figures without them.

Control
    The same attack on replacements that are independent of the originals: words drawn from the
    prior, privatized by the same mechanism, put into the same places. An attacker who also uses the
    words around would still learn from them, so for such an attacker each word's guesses are
    compared with the original of another word.

Care
    These figures are measured on private text and are a release of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Attempt, Done, Inputs, Needs
from sfumato.attacks.inference.attackers import (
    Attacker,
    Nearest,
    blind_share,
    displace,
    right,
    shuffle_unrelated,
)
from sfumato.attacks.inference.bayes import Bayes
from sfumato.attacks.inference.observed import Observed, Truth, observe
from sfumato.attacks.inference.priors import PRIORS, Prior, prior_of, selectable
from sfumato.attacks.text_target import Known, TextTarget, lacks_originals, open_text
from sfumato.charts.chapter import Chapter, Drawing, Listing
from sfumato.charts.chart import Chart
from sfumato.charts.deniability import HIDING
from sfumato.charts.inference import guesses_chart
from sfumato.charts.numbers import as_number
from sfumato.core.arrays import Flags, Points
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead, PolicyText
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.rows import RowMechanism
from sfumato.policies.patterns import Digits
from sfumato.policies.policy import Policy
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.shares import clustered_share
from sfumato.text.document import Document

SELECTABLE = ("auto", "no", "yes")
ATTACKERS = ("bayes", "masked", "nearest")
UNKNOWN = "unknown words"
# Only the attempts where most words are found are drawn; a chart for each would fill pages.
MOST_DRAWN = 3
# The default number of candidates: with rows, and where probabilities are counted from draws. Rarer
# words are seldom the likeliest, and all of them take minutes for each hundred documents.
EXACT_FOR, DRAWN_FOR = 10_000, 3000


@dataclass(frozen=True, kw_only=True)
class TokenInference:
    """Infer the words of a privatized text from their replacements.

    ``attacker`` is bayes (prior × mechanism), nearest (the replacement and its neighbors) or masked
    (a masked language model from the folder ``model``). ``prior`` is uniform, unigram or bigram,
    from the public file ``corpus`` if given. ``candidates`` limits them to the most frequent words
    and those that were output (0: 10,000, or 3,000 where the mechanism has no rows; a number as
    large as the vocabulary takes all). ``top`` is k. ``draws`` is the number of draws for each
    candidate where there are no rows. ``selectable`` says whether only words are expected that the
    policy selects when they stand alone: yes, no, or auto (yes if the policy is digits, which
    ignores context). ``policy`` and ``vectors`` give what the side file does not show.
    """

    attacker: str = "bayes"
    prior: str = "unigram"
    corpus: FileToRead = ""
    candidates: int = 0
    draws: int = 100
    top: int = 10
    model: FileToRead = ""
    selectable: str = "auto"
    policy: PolicyText = field(default="", repr=False)  # it may be a pattern
    vectors: FileToRead = ""

    name: ClassVar[str] = "token-inference"
    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(
        inputs=("originals",),
        known=("policy", "vectors"),
        word_by_word=True,
        about_the_data=(UNKNOWN,),
    )

    def __post_init__(self) -> None:
        one_of("attacker", self.attacker, ATTACKERS)
        one_of("prior", self.prior, PRIORS)
        one_of("selectable", self.selectable, SELECTABLE)
        at_least("candidates", self.candidates, 0)
        at_least("draws", self.draws, 1)
        at_least("top", self.top, 2)
        if self.attacker == "masked" and not self.model:
            raise InvalidArgument(
                "attacker='masked' needs the folder of a masked language model: "
                "`settings={'model': FOLDER}`"
            )
        if self.attacker == "bayes" and self.prior == "bigram" and not self.corpus:
            raise InvalidArgument(
                "prior='bigram' needs a public corpus to learn from: `settings={'corpus': FILE}`"
            )

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a privatized file and its originals; None if nothing is."""
        return lacks_originals(inputs)

    def opened(self, inputs: Inputs) -> tuple[TextTarget, list[Document]]:
        """The privatized documents with their release, and the originals."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        known = Known(policy=self.policy, vectors=self.vectors)
        target = open_text(inputs.target, inputs.documents(inputs.target), known)
        return target, inputs.documents(inputs.originals)

    def score(
        self,
        target: TextTarget,
        data: Sequence[Document],
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attack a privatized text; the originals are known only to the evaluation."""
        with time_block() as watch:
            seen, truth = observe(target, data)
            prior = self._prior(seen, target)
            # The control is attacked together with the text, because rows are expensive.
            both = seen.joined(
                seen.with_outputs(shuffle_unrelated(seen, prior, randomness.stream(0)))
            )
            attacker = self._attacker(prior, both)
            guesses = attacker.guesses(both, self.top, randomness.stream(1), done)
            hits = right(guesses[: len(seen)], truth.originals)
            compared, what = _compare(attacker, truth, randomness.stream(2))
            blank = right(guesses[len(seen) :], compared)
            scores = Scores(
                attack=self.name,
                knowledge=_knowledge(attacker),
                figures=tuple(self._figures(hits, truth)),
                chance=self._chance(prior, truth),
                control=Control(what=what, figures=self._first_and_any(blank, truth.documents)),
                notes=tuple(self._notes(seen, truth, target)),
                details=self._details(hits, blank, truth, prior),
            )
        return watch.stamp(scores)

    def _prior(self, seen: Observed, target: TextTarget) -> Prior:
        possible, said = seen.possible, ""
        policy = _policy_by_words(target, self.selectable)
        if policy is not None:
            possible = selectable(possible, seen.space, policy)
            said = ", only such as the policy selects"
        corpus = Source.of(Path(self.corpus), Layout()).documents() if self.corpus else None
        prior = prior_of(self.prior, seen.space, possible, corpus)
        return replace(prior, said=prior.said + said)

    def _attacker(self, prior: Prior, seen: Observed) -> Attacker:
        if self.attacker == "nearest":
            return Nearest()
        if self.attacker == "masked":
            from sfumato.attacks.inference.attackers import Masked, MaskedModel

            return Masked(MaskedModel.load(Path(self.model)))
        exact = all(isinstance(one, RowMechanism) for one in seen.mechanisms)
        limit = self.candidates or (EXACT_FOR if exact else DRAWN_FOR)
        return Bayes(prior.among(limit, seen.outputs) if limit else prior, self.draws)

    def _first_and_any(
        self, hits: Flags, documents: NDArray[np.int64], where: str = ""
    ) -> tuple[Measured, Measured]:
        return (
            clustered_share(f"top-1{where}", hits[:, 0], documents),
            clustered_share(
                f"top-{self.top}{where}", np.logical_or.reduce(hits, axis=1), documents
            ),
        )

    def _figures(self, hits: Flags, truth: Truth) -> list[Measured]:
        documents, changed = truth.documents, ~truth.unchanged
        figures = [*self._first_and_any(hits, documents)]
        if changed.any():
            figures += self._first_and_any(hits[changed], documents[changed], " where changed")
        return [
            *figures,
            clustered_share("unchanged", truth.unchanged, documents),
            clustered_share(UNKNOWN, truth.unknown, documents),
        ]

    def _chance(self, prior: Prior, truth: Truth) -> dict[str, float]:
        """What the likeliest words of the prior score without looking at the text."""
        changed = ~truth.unchanged
        found = {}
        for count in (1, self.top):
            found[f"top-{count}"] = blind_share(prior, truth.originals, count)
            if changed.any():
                found[f"top-{count} where changed"] = blind_share(
                    prior, truth.originals[changed], count
                )
        return found

    def _details(self, hits: Flags, blank: Flags, truth: Truth, prior: Prior) -> dict[str, Any]:
        reached, without = (np.logical_or.accumulate(one, axis=1) for one in (hits, blank))
        return {
            "attacker": self.attacker,
            "prior": prior.said,
            "success": [
                {
                    "guesses": count,
                    "share": float(reached[:, count - 1].mean()),
                    "control": float(without[:, count - 1].mean()),
                    "chance": blind_share(prior, truth.originals, count),
                }
                for count in range(1, self.top + 1)
            ],
        }

    def chart(self, scores: Scores) -> Chart:
        """The share of words found, by the number of guesses."""
        return guesses_chart(
            scores.details["success"],
            title=f"Words inferred from a privatized text ({scores.details['attacker']})",
            subtitle=f"{scores.figures[0].n:,} words; prior: {scores.details['prior']}",
        )

    @classmethod
    def chapter(cls, attempts: Sequence[Attempt]) -> Chapter | None:
        """The shares of words found, for the methods that hide them least."""
        found = [one for one in attempts if _success(one)]
        first = min((one.seed for one in found), default=0)
        found = [one for one in found if one.seed == first]
        found.sort(key=lambda one: -_success(one)[-1]["share"])
        drawings = [_drawing(one) for one in found[:MOST_DRAWN]]
        return Chapter(topic=HIDING, parts=drawings) if drawings else None

    def _notes(self, seen: Observed, truth: Truth, target: TextTarget) -> list[str]:
        notes = [
            f"Of {len(seen):,} words that went through the mechanism "
            f"{int(truth.unchanged.sum()):,} came out unchanged. The attacker does not know which; "
            f"they count in top-1 and top-{self.top}, but not in the figures 'where changed'.",
        ]
        if truth.kept:
            notes.insert(
                0,
                f"{truth.kept:,} selected words STAND IN THE CLEAR: they are outside the "
                "vocabulary and unknown='keep' left them unchanged. They need not be inferred, "
                "and no figure here counts them; unknown='centroid' protects them.",
            )
        if truth.unknown.any():
            notes.append(
                f"{int(truth.unknown.sum()):,} words are outside the vocabulary and share one "
                "point: nobody can tell which of them it was, so they count as not found."
            )
        if self.attacker == "bayes" and not all(
            isinstance(one, RowMechanism) for one in seen.mechanisms
        ):
            notes.append(
                "The mechanism has no rows: its probabilities were counted from "
                f"{self.draws:,} draws for each candidate, so this attacker is only nearly "
                "optimal; more draws and more candidates make it better."
            )
        if target.seeded:
            notes.append("The text was made with a seed: anyone who knows it can undo everything.")
        if target.mechanisms[0].case == "restore":
            notes.append("The capitals of the originals are visible; no attacker here uses them.")
        return notes


def _success(attempt: Attempt) -> list[dict[str, Any]]:
    """The figures for each number of guesses; empty if they cannot be read."""
    success = attempt.scores.details.get("success")
    if not isinstance(success, list):
        return []
    return success if all(as_number(one.get("share")) is not None for one in success) else []


def _drawing(attempt: Attempt) -> Drawing:
    details, success = attempt.scores.details, _success(attempt)
    said = f"attacker: {details.get('attacker')}; prior: {details.get('prior')}"
    return Drawing(
        title=f"Words inferred against {attempt.said}.",
        description=f"Share of words found, by the number of guesses; {said}.",
        listing=Listing(
            caption="Share of words found",
            head=("guesses", "attacker", "null control", "best blind guesses"),
            rows=[
                (str(one["guesses"]), one["share"], one["control"], one["chance"])
                for one in success
            ],
        ),
        draw=lambda: guesses_chart(success, title=attempt.said, subtitle=said),
    )


def _policy_by_words(target: TextTarget, wanted: str) -> Policy | None:
    """The policy, if the attacker uses it to tell which words are possible."""
    release = target.release
    if isinstance(release, Levels):
        if wanted == "yes":
            raise InvalidArgument("selectable='yes' is for one policy, not for levels")
        return None
    by_itself = wanted == "yes" or (wanted == "auto" and isinstance(release.policy, Digits))
    return release.policy if by_itself else None


def _compare(attacker: Attacker, truth: Truth, randomness: Randomness) -> tuple[Points, str]:
    """What the control's guesses are compared with, and what the control is."""
    what = "replacements of words drawn from the prior, independent of the originals"
    if not attacker.reads_context:
        return truth.originals, what
    others = truth.originals[displace(len(truth.originals), randomness)]
    return others, f"{what}, each word's guesses compared with the original of another word"


def _knowledge(attacker: Attacker) -> str:
    return (
        "The attacker sees the privatized text and knows the mechanism, its level, the public "
        f"vectors and which words were privatized. {attacker.knowledge}"
    )
