"""What a user asked for of a training run: corpus, model, method, levels, course.

``execution.train_model`` carries it out. A request loads its model, makes the task of its method,
and says what of it is public.

Care
    What ``public`` returns stands in the folder of a run: settings, the plan with the number of
    units, a digest of the vocabulary (which is public), and the time at which the corpus was last
    changed, so that a run is not resumed on another corpus. There is no digest of the corpus: with
    one, whoever finds the folder could test guesses about the text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.models.adapters import Adapters
from sfumato.models.devices import require_device
from sfumato.models.kinds import KINDS
from sfumato.models.load import LoadedModel, load_model, mark_separator
from sfumato.models.lora import Lora
from sfumato.models.pooling import check_pooling
from sfumato.models.precision import set_precision
from sfumato.models.private_tokenizer import PrivateTokenizer
from sfumato.models.recomputing import recompute
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.models.trainable import ALL, LORA, Trainable
from sfumato.statistics.class_tree import ClassTree
from sfumato.text.document import Document
from sfumato.training.groups import check_groups
from sfumato.training.methods.base import (
    ADAPTER,
    INITIAL,
    Task,
    TrainingMethod,
    refuse_a_borrowed_name,
)
from sfumato.training.methods.private import Private
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.objectives import (
    ObjectiveName,
    choose_objective,
    mark_objective,
    new_tokenizer,
)
from sfumato.training.plan import TrainingPlan
from sfumato.training.records import LONG
from sfumato.training.settings import BALANCED, Course, Privacy
from sfumato.training.vocabulary import (
    PrivateVocabulary,
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Model and training; ``tokenizer`` is public or a release, an object or the folder of one.

    ``vocabulary`` is a private tokenizer that is learned first, from the training text.

    ``kind`` is that of the model (``models.kinds``), and ``objective`` what it has to predict, by
    default what is usual for the kind. ``classes`` are those that a classifier tells apart, or the
    types that a tagger finds; with a ``class_separator`` they are paths in a public tree.

    ``control_codes`` are the labels whose codes the documents begin with, if they do
    (``control_codes.py``).

    ``corpus`` says how the corpus is read and when it was last changed; nothing about its text.
    """

    model: str
    privacy: Privacy
    method: TrainingMethod = field(default_factory=Private)
    protection: PolicyPromise | None = None
    course: Course = field(default_factory=Course)
    kind: str = "causal"
    classes: tuple[str, ...] = ()
    class_separator: str = ""
    control_codes: tuple[str, ...] = ()
    objective: str | None = None
    long: str = "split"
    lora_rank: int | None = None
    trainable: str | None = None
    pooling: str | None = None
    tokenizer: str | Tokenizer | PrivateTokenizer | None = None
    vocabulary: PrivateVocabulary | None = None
    settings: dict[str, object] = field(default_factory=dict)
    corpus: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        self.chosen_objective  # noqa: B018  # an error if it does not fit the kind
        one_of("long", self.long, LONG)
        if self.lora_rank is not None:
            at_least("lora_rank", self.lora_rank, 1)
        self.trained  # noqa: B018  # an error if it is wrong
        check_pooling(self.pooling, self.kind)
        self._check_classes()
        check_groups(self)
        refuse_a_borrowed_name(self.method)
        self.method.check(self)
        if self.vocabulary is not None:
            self.vocabulary.check(self)

    @property
    def chosen_objective(self) -> ObjectiveName | None:
        """What a language model has to predict."""
        return choose_objective(self.objective, self.kind)

    @property
    def trained(self) -> Trainable:
        """Which weights are trained."""
        return Trainable.choose(self.trainable, self.lora_rank)

    def _check_classes(self) -> None:
        if self.class_separator:
            if self.kind != "classifier":
                raise InvalidArgument("`class_separator=...` is for classifiers; leave it out")
            ClassTree(self.classes, self.class_separator)  # an error if they are no paths
        weights = self.course.class_weights
        if not weights:
            return
        if self.kind != "classifier":
            raise InvalidArgument("`class_weights=...` is for classifiers; leave it out")
        if weights == BALANCED and self.method.adds_noise:
            raise InvalidArgument(
                "`class_weights='balanced'` counts the labels, which are private: every weight "
                "would show how many records of its class there are, and nothing is charged for "
                f"it. Give the method {self.method.name} numbers that do not come from these "
                "labels, one for each class, such as `class_weights=(1, 3)`"
            )
        if weights != BALANCED and len(weights) != len(self.classes):
            raise InvalidArgument(
                f"`class_weights=...` has {len(weights)} numbers for {len(self.classes)} classes; "
                "give one for each, in the order of `classes=...`"
            )

    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def load(self, randomness: Randomness) -> LoadedModel:
        """The model before training: what is not trained is frozen, or has factors beside it."""
        model = load_model(
            self.model,
            randomness=randomness.stream(INITIAL),
            kind=self.kind,
            classes=self.classes,
            tokenizer=self._tokenizer(),
            settings=self.settings,
            pooling=self.pooling,
        )
        model = mark_objective(model, self.chosen_objective)
        if self.class_separator:
            model = mark_separator(model, self.class_separator)
        rank = self.trained.rank(self.lora_rank)
        if self.trained.size:
            small = Adapters(size=self.trained.size)
            small.attach(model.network, randomness.stream(ADAPTER), model.new)
            return self._in_little_memory(model)
        if rank is None:
            fixed = self.trained.freeze(model.network, model.new)
            return self._in_little_memory(replace(model, fixed=fixed))
        adapter = Lora(rank=rank)
        adapted: Any = adapter.attach(model.network, randomness.stream(ADAPTER), model.new)
        return self._in_little_memory(replace(model, network=adapted))

    def _in_little_memory(self, model: LoadedModel) -> LoadedModel:
        """The model, set to save memory if that is asked for: once it is known what is frozen."""
        require_device(self.course.device)
        recompute(model.network, self.course.recompute)
        set_precision(model.network, self.course.precision)
        return model

    def _tokenizer(self) -> Tokenizer | None:
        given = self.tokenizer
        if isinstance(given, str):
            given = load_tokenizer(Path(given))
        if isinstance(given, PrivateTokenizer):
            # Whoever made it may have put them together by hand.
            given = replace(given.tokenizer, guarantee=given.guarantee)
        return new_tokenizer(self.model, given, self.chosen_objective)

    @property
    def cut_long(self) -> str:
        """How long documents are treated; a classifier reads one row, so it always truncates."""
        return "truncate" if self.kind == "classifier" else self.long

    def task(self, model: LoadedModel, documents: Sequence[Document]) -> Task:
        """The input of the method."""
        return Task(
            documents=documents,
            model=model,
            privacy=self.privacy,
            course=self.course,
            kind=self.kind,
            long=self.cut_long,
            protection=self.protection,
            objective=self.chosen_objective,
        )

    def promised(self, guarantee: Guarantee, tokenizer: Tokenizer) -> Guarantee:
        """The guarantee of a plan, restated for the method, its policy and the tokenizer."""
        stated = self.method.promise(guarantee, self.protection)
        own = tokenizer.guarantee
        if own is None:
            return stated
        named = stated.not_covering(
            "the text that the tokenizer was learned from, for which it has a guarantee of its "
            f"own (ε ≤ {at_most(own.epsilon, 4)}, δ ≤ {at_most(own.delta, 3)}); if it is this "
            "text, the levels add up"
        )
        # The model holds the tokenizer: what undoes the noise of one undoes it in both.
        return named if own.for_release else named.reproducible()

    def public(self, model: LoadedModel, plan: TrainingPlan) -> dict[str, Any]:
        """The public settings for the run folder; they must be the same on resuming."""
        return {
            "model": self.model,
            "kind": self.kind,
            "classes": list(self.classes),
            **({"class_separator": model.separator} if model.separator else {}),
            # Older runs predict every token, and say nothing about it.
            **({"objective": model.objective} if model.objective else {}),
            **({"control_codes": list(self.control_codes)} if self.control_codes else {}),
            "long": self.cut_long,
            "lora_rank": self.trained.rank(self.lora_rank),
            **({} if self.trained.part in (ALL, LORA) else {"trainable": str(self.trained)}),
            # What the head reads may come from the encoder's folder: it is named as it was found.
            **({"pooling": model.pooling} if model.pooling else {}),
            "tokenizer": model.tokenizer.name,
            "vocabulary": _digest(model.tokenizer),
            "model_settings": {key: _as_text(value) for key, value in self.settings.items()},
            "epsilon": write_number(self.privacy.epsilon),
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "course": dict(self.course.as_dict()),
            # A run cannot be resumed with another seed; results with a seed are not for release
            # anyway.
            "seed": self.seed,
            **({"record": self.privacy.record} if self.privacy.record else {}),
            "method": self.method.name,
            "policy": None if self.protection is None else self.protection.policy.name,
        } | self.method.as_dict(self.privacy, self.course)


def _as_text(value: object) -> str:
    """A setting of a model as on a command line, from which it can be read again."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _digest(tokenizer: Tokenizer) -> str:
    """Identifies a vocabulary: with another one, the same token numbers mean another text."""
    vocabulary = sorted(tokenizer.backend.get_vocab().items())
    return sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]
