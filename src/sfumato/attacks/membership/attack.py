"""``membership``: was a text among those that a model was trained on?

Members and others are scored by every signal for which there is evidence, and each signal is judged
by how well it tells them apart. For comparison, a classifier that sees the texts but not the model
is judged too: members and others from different sources differ without any leak. Missing inputs are
reported before anything is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sfumato.attacks.attack import Attempt, Done, Inputs, Needs
from sfumato.attacks.membership import figures
from sfumato.attacks.membership import signals as reference_signals
from sfumato.attacks.membership.candidates import (
    FEWEST,
    Candidates,
    decoys,
    find_planted,
    random_halves,
)
from sfumato.attacks.membership.classifier import METRIC as WITHOUT_MODEL
from sfumato.attacks.membership.classifier import auc_without_model
from sfumato.attacks.membership.evidence import Evidence, neutral
from sfumato.attacks.membership.figures import ALONE, YEOM, Findings, too_few
from sfumato.attacks.membership.gathering import (
    GatheringEffort,
    Suspects,
    gather_evidence,
    measure_target,
    usable,
)
from sfumato.attacks.membership.signals import (
    COPIES,
    LABELS,
    OUTSIDE,
    SHADOWS,
    SIGNALS,
    Knobs,
    score_signal,
)
from sfumato.attacks.model_target import ModelTarget, is_model, is_run, not_a_model, open_model
from sfumato.attacks.token_scores import ScoreStore
from sfumato.core.arrays import Floats
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.corpora.canaries import Canary
from sfumato.results.measured import Measured
from sfumato.results.scores import Scores, time_block
from sfumato.statistics.ranking import measure_auc
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.charts.chapter import Chapter
    from sfumato.charts.chart import Chart


SECRETS = "secrets"
RULE = "reference-rule"
FEW_SECRETS = 50
MOST_NEIGHBORS = 1000


def missing(inputs: Inputs, asked: Sequence[str], *, shadows: int) -> str | None:
    """A sentence about what is missing and how to make it; None if nothing is."""
    return (
        not_a_model(inputs.target)
        or _missing_texts(inputs, asked)
        or _missing_models(inputs, asked, shadows)
    )


def refuse(asked: Sequence[str], notes: Sequence[str]) -> MissingInput:
    """The error for signals without any evidence; ``notes`` may say why."""
    if notes:
        return MissingInput(f"membership: {'; '.join(notes)}")
    named = ", ".join(asked) or "any signal"
    return MissingInput(
        f"membership: there is nothing to compute {named} from; give members and others, or "
        "canaries for 'secrets', and references or shadows for the signals that need them"
    )


_NO_TEXTS = (
    "members are a file of texts the model was trained on, others one of the same kind that it was "
    "not: split the corpus before training, `sfumato.train(MEMBERS, RUN, ...)`"
)
_NO_CANARIES = (
    "secrets need the list of planted canaries: `sfumato.plant_canaries(CORPUS, PLANTED, "
    "...)` writes it, `sfumato.train(PLANTED, RUN, ...)` trains on them; then "
    "`canaries='PLANTED.canaries.json'`"
)


def _missing_texts(inputs: Inputs, asked: Sequence[str]) -> str | None:
    given = {"`members=FILE`": inputs.members, "`others=FILE`": inputs.others}
    lacking = [option for option, path in given.items() if path is None]
    scored = [name for name in asked if name != SECRETS]
    if len(lacking) == 1:
        return f"it lacks {lacking[0]}; {_NO_TEXTS}"
    if SECRETS in asked and inputs.canaries is None:
        return _NO_CANARIES
    if lacking and scored:
        return f"{', '.join(scored)}: {' and '.join(lacking)} are missing; {_NO_TEXTS}"
    if lacking and inputs.canaries is None:
        return (
            f"it lacks {' and '.join(lacking)}, or `canaries=FILE` for secrets alone; {_NO_TEXTS}"
        )
    return None


def _missing_models(inputs: Inputs, asked: Sequence[str], shadows: int) -> str | None:
    for path in inputs.references:
        if not is_model(path):
            return (
                f"the reference {path} is neither the folder of a run nor of a model; train one "
                "on other text: `sfumato.train(TEXT, RUN, epsilon=inf)`"
            )
    if shadows and not is_run(inputs.target):
        return (
            f"shadows={shadows} are trained as the target was, but {inputs.target} is not the "
            "folder of a run and does not say how; attack a run, or give models: `reference=[RUN]`"
        )
    if shadows and inputs.cache is None:
        return (
            f"shadows={shadows} are models to be trained and kept: name a folder with "
            "`cache=FOLDER`, as private as the texts"
        )
    needs = {SIGNALS[name].needs: name for name in asked if name in SIGNALS}
    if OUTSIDE in needs and not inputs.references and not shadows:
        return (
            f"{needs[OUTSIDE]} needs models trained without the members: `reference=[RUN]`, as "
            "many as there are (`sfumato.train(TEXT, RUN, epsilon=inf)` makes one), or "
            "`settings={'shadows': 8}`"
        )
    if SHADOWS in needs and not shadows:
        return (
            f"{needs[SHADOWS]} needs shadow models: `settings={{'shadows': 8}}`, on the folder of "
            "a run"
        )
    return None


@dataclass(frozen=True, kw_only=True)
class Membership:
    """Tell members from others by what a model finds probable.

    ``signals`` are those to use; without any, all for which there is evidence. At most ``most``
    texts on each side are tried. ``shadows`` models are trained on random halves of the texts, if
    more than 0. ``share`` of the tokens count for min-k. ``neighbors`` texts are made for each, by
    ``masked_model`` (a folder) or from the embedded vectors; of a classifier, so many altered
    copies. ``alpha`` is the percentile of MIA-R's rule, ``gamma`` and ``offset`` are RMIA's γ and
    a.
    """

    name: ClassVar[str] = "membership"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(
        inputs=("members", "others", "canaries", "references"),
        compares=True,
        about_the_data=(WITHOUT_MODEL, ALONE),
    )

    signals: tuple[str, ...] = ()
    most: int = 5000
    shadows: int = 0
    share: float = 0.2
    neighbors: int = 10
    masked_model: FileToRead = ""
    alpha: float = 0.1
    gamma: float = 1.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        for signal in self.signals:
            one_of("signals", signal, (*SIGNALS, SECRETS))
        if at_least("shadows", self.shadows, 0) % 2:
            raise InvalidArgument(f"shadows={self.shadows} must be even: they come in pairs")
        at_least("most", self.most, FEWEST)
        between("neighbors", at_least("neighbors", self.neighbors, 1), 1, MOST_NEIGHBORS)
        between("share", positive("share", self.share), 0, 1)
        between("alpha", self.alpha, 0, 1)
        between("offset", self.offset, 0, 1)
        positive("gamma", self.gamma)

    @property
    def knobs(self) -> Knobs:
        """The settings of the signals."""
        return Knobs(share=self.share, gamma=self.gamma, offset=self.offset)

    @property
    def effort(self) -> GatheringEffort:
        """How much evidence to gather."""
        return GatheringEffort(
            shadows=self.shadows, neighbors=self.neighbors, masked_model=self.masked_model
        )

    def missing(self, inputs: Inputs) -> str | None:
        """Why the attack cannot run on these inputs, and what would help; None if it can."""
        if self.masked_model and not Path(self.masked_model).is_dir():
            return f"masked_model={self.masked_model} is no folder; nothing is downloaded"
        return missing(inputs, self.signals, shadows=self.shadows)

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, Suspects]:
        """The model, and everything to attack it with."""
        target = open_model(inputs.target)
        candidates = None
        if inputs.members is not None and inputs.others is not None:
            candidates = Candidates.of(
                inputs.documents(inputs.members), inputs.documents(inputs.others), self.most
            )
        recipe = None
        if self.shadows and is_run(inputs.target):
            from sfumato.attacks.membership.shadows import recipe_of
            from sfumato.training.folder import RunFolder

            recipe = recipe_of(RunFolder(inputs.target).settings(), target.model.tokenizer)
        kind = "classifier" if target.model.classes else "causal"
        references = tuple(open_model(path, kind=kind) for path in inputs.references)
        if any(one.digest == target.digest for one in references):
            raise InvalidArgument(
                "a reference is the target itself, which was trained on the members"
            )
        if any(one.model.classes != target.model.classes for one in references):
            raise InvalidArgument(
                "a reference must be of the target's kind: language models beside language models, "
                "classifiers beside classifiers of the same classes"
            )
        return target, Suspects(
            candidates=candidates,
            secrets=find_planted(inputs.canaries) if inputs.canaries else (),
            references=references,
            recipe=recipe,
            store=ScoreStore(inputs.cache),
            folder=inputs.cache,
        )

    def score(
        self,
        target: ModelTarget,
        data: Suspects,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attack."""
        with time_block() as watch:
            findings, notes, knowledge = Findings(randomness.stream(0)), list[str](), list[str]()
            if data.candidates is not None and tuple(self.signals) != (SECRETS,):
                found, lacking = usable(self.signals, target, data, self.effort)
                if not found:
                    raise refuse(self.signals, lacking)
                gather = randomness.stream(1)
                evidence, said = gather_evidence(target, data, found, self.effort, gather, done)
                partial = self._judge(data.candidates, evidence, found, findings)
                labeled = bool(target.model.classes)
                compared = self._compared(data.candidates, findings, labeled=labeled)
                notes += [*partial, *compared, *lacking, *said]
                notes += [*_without_tokens(evidence), *findings.add_claim(target)]
                knowledge += _knows(found, labeled=labeled)
                knowledge += [_KNOWS_OTHERS] if evidence.references or evidence.shadows else []
            if data.secrets and (not self.signals or SECRETS in self.signals):
                before = len(findings.figures)
                notes += _score_secrets(target, data, findings, randomness.stream(2))
                knowledge += [_KNOWS_FORMAT] if len(findings.figures) > before else []
            if not findings.figures:
                raise refuse(self.signals, notes)
            scores = Scores(
                attack=self.name,
                knowledge=" ".join(knowledge),
                figures=tuple(findings.figures),
                chance=findings.chance,
                control=findings.control(),
                notes=tuple(notes),
                details=findings.details(),
            )
        return watch.stamp(scores)

    def chart(self, scores: Scores) -> Chart:
        """The ROC of every signal on logarithmic axes, and what the run's level allows."""
        from sfumato.charts.inference import roc_chart

        curves: dict[str, Any] = scores.details["roc"]
        areas = {name: scores.figure(f"auc {name}").value for name in curves}
        return roc_chart(curves, areas, scores.details.get("allowed", ()))

    @classmethod
    def chapter(cls, attempts: Sequence[Attempt]) -> Chapter | None:
        """ROC curves of one signal against every method, and the areas of all signals."""
        return figures.chapter(attempts)

    def _judge(
        self, candidates: Candidates, evidence: Evidence, names: list[str], findings: Findings
    ) -> list[str]:
        """The figures of every signal; a note if the references alone prefer a side."""
        half = random_halves(len(candidates.others), findings.randomness)
        for name in names:
            members, others = candidates.split(score_signal(name, evidence, self.knobs))
            findings.add_signal(name, members, others, half)
        if "loss" in names:
            losses = candidates.split(neutral(evidence.losses))
            # Yeom's attacker knows only the mean loss on the training texts.
            findings.add_rule(YEOM, *(side < losses[0].mean() for side in losses))
        if any(SIGNALS[name].needs == OUTSIDE for name in names):
            called = reference_signals.below_percentile(evidence, self.alpha)
            count = len(candidates.members)
            findings.add_rule(RULE, called[:count], called[count:])
        if evidence.references is None:
            return []
        alone = neutral(-reference_signals.mean_known(evidence.references.losses))
        blind = measure_auc(ALONE, *candidates.split(alone), findings.randomness)
        findings.add(blind, 0.5)
        return [] if _chance_is_inside(blind) else [_PARTIAL]

    def _compared(self, candidates: Candidates, findings: Findings, *, labeled: bool) -> list[str]:
        """The control without a model, and notes on the candidates.

        Who attacks a classifier knows the labels, and they too may differ without the model.
        """
        notes = [*candidates.notes]
        texts = [
            [" ".join((one.text, *one.labels[:labeled])) for one in side]
            for side in (candidates.members, candidates.others)
        ]
        blind = auc_without_model(texts[0], texts[1], findings.randomness)
        if blind is not None:
            findings.add(blind, 0.5)
            if not _chance_is_inside(blind):
                notes.insert(0, _DIFFER)
        few = too_few(len(candidates.others))
        return [*notes, few] if few else notes


_KNOWS = (
    "The attacker has the texts in question and can ask the model for the probability of each "
    "token."
)
_KNOWS_LABELED = (
    "The attacker has the texts in question with their labels and can ask the classifier for the "
    "probability of a label."
)
_KNOWS_ANSWERS = (
    "The attacker has the texts in question with their labels, and sees no more than the label "
    "that the classifier gives to a text."
)
_KNOWS_LESS = "For {} they see no more than the label that the classifier gives to a text."
_KNOWS_MEAN = f"For 'advantage {YEOM}' they know the mean loss on the training texts."
_KNOWS_OTHERS = (
    "For some signals they also have models of the same kind, and know which of the texts these "
    "were trained on."
)
_KNOWS_FORMAT = "For the secrets they know the format and guess among candidates."
_DIFFER = (
    "members and others differ without the model: a classifier that never saw it tells them apart, "
    "so the figures above partly measure that"
)


_PARTIAL = (
    "the references tell members from others without the target: were they trained on one side? If "
    "so, the signals that compare with them partly measure that"
)


def _knows(names: Sequence[str], *, labeled: bool) -> list[str]:
    """What the attacker knows who computes these signals."""
    mean = [_KNOWS_MEAN] if "loss" in names else []
    blind = [name for name in names if SIGNALS[name].needs in (LABELS, COPIES)]
    if not labeled:
        return [_KNOWS, *mean]
    if blind == list(names):
        return [_KNOWS_ANSWERS]
    less = [_KNOWS_LESS.format(" and ".join(f"'{one}'" for one in blind))] if blind else []
    return [_KNOWS_LABELED, *less, *mean]


def _chance_is_inside(figure: Measured) -> bool:
    low, high = figure.low, figure.high
    return low is None or high is None or low <= 0.5 <= high


def _without_tokens(evidence: Evidence) -> list[str]:
    empty = int(np.isnan(evidence.losses).sum())
    if not empty:
        return []
    return [f"texts without a token: {empty:,}; each gets the median score, which favors no side"]


def _score_secrets(
    target: ModelTarget, data: Suspects, findings: Findings, randomness: Randomness
) -> list[str]:
    """Planted secrets against decoys of the same format, by summed ln p."""
    if target.model.classes:
        return ["not tried: secrets. They need a language model, which a classifier is not"]
    if len(data.secrets) < FEWEST:
        return [
            f"not tried: secrets. {len(data.secrets)} were planted, and it takes {FEWEST}: "
            "`sfumato.plant_canaries(CORPUS, PLANTED, ...)`"
        ]

    def sums(canaries: tuple[Canary, ...]) -> Floats:
        documents = [Document(canary.text) for canary in canaries]
        return np.array([one.total for one in measure_target(target, documents, data.store)])

    count = len(data.secrets)
    made_up = decoys(data.secrets, randomness, FEW_SECRETS)
    half = random_halves(len(made_up), randomness)
    findings.add_signal(SECRETS, sums(data.secrets), sums(made_up), half)
    said = f"{count:,} planted secrets against {len(made_up):,} decoys of the same format"
    if any(canary.secret_space is None for canary in data.secrets):
        said += (
            "; decoys are drawn at random, so a secret that is a word or a name would be more "
            "probable than they are under any model"
        )
    if count < FEW_SECRETS:
        return [f"{said}: too few for a sharp figure; the Selective-DPSGD paper plants 500"]
    few = too_few(count)
    return [said, few] if few and data.candidates is None else [said]
