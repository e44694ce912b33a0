"""All settings of training as one flat table, as commands and studies take them.

``Training`` is converted into the objects that do the work: ``Privacy``, which decides privacy
before the data are read, ``Course``, which does not affect privacy, and the method with its own
settings. Settings that the chosen method does not use are refused, because whoever gives one
expects an effect.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from sfumato.accounting.accountants import ACCOUNTANTS
from sfumato.accounting.delta import resolve_delta
from sfumato.core.checks import at_least, between, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.guarantees.record import check_record
from sfumato.models.devices import CPU, check_device
from sfumato.models.precision import FULL, PRECISIONS
from sfumato.models.recomputing import NOTHING, RECOMPUTED
from sfumato.training.clipping.clippers import Clipping, choose_clipping
from sfumato.training.groups import GroupWeights, read_weights
from sfumato.training.methods.base import TrainingMethod, build_method
from sfumato.training.objectives import ObjectiveName
from sfumato.training.plan import UNITS, Plan, quietly
from sfumato.training.sampling import Sampling, sampling
from sfumato.training.stages import Schedule

if TYPE_CHECKING:
    from sfumato.training.vocabulary import PrivateVocabulary

OPTIMIZERS = ("adam", "adam-bc", "momentum", "sgd")
LARGEST_RATE = 1e6  # above it weights overflow, whatever the gradient
AUTO = "auto"  # Poisson sampling, unless the method needs another one
BALANCED = "balanced"  # weights of classes that are computed from the labels
LARGEST_WEIGHT = 1e6
SCHEDULES = ("constant", "cosine", "linear")
# How training uses the machine unless it is told otherwise.
USUAL = {"recompute": NOTHING, "precision": FULL, "device": CPU}


@dataclass(frozen=True, kw_only=True)
class Course:
    """The settings of training that do not affect privacy.

    The learning rate rises over ``warm_up`` steps and then follows the ``schedule``. The loss of a
    record is the mean over its own tokens, or their sum over ``divisor``, a public number; a
    classifier multiplies it by the weight of the record's class in ``class_weights``, before the
    gradient is clipped, and a record counts by the weight of its group in ``group_weights`` after
    that (``groups``). At most ``tokens_at_once`` tokens, padding included, are computed at a
    time; a checkpoint is written every ``checkpoint_every`` steps.

    ``recompute`` is what is computed again to save memory (``models.recomputing``), ``precision``
    that of frozen weights and of products (``models.precision``), and ``device`` where torch
    computes. What is clipped and promised is the same with all of them.
    """

    optimizer: str = "adam"
    learning_rate: float = 1e-3
    schedule: str = "constant"
    warm_up: int = 0
    divisor: float | None = None
    class_weights: tuple[float, ...] | str = ()
    group_weights: GroupWeights | str = ()
    tokens_at_once: int = 4096
    checkpoint_every: int = 50
    recompute: str = NOTHING
    precision: str = FULL
    device: str = CPU

    def __post_init__(self) -> None:
        one_of("recompute", self.recompute, RECOMPUTED)
        one_of("precision", self.precision, PRECISIONS)
        check_device(self.device)
        _check_weights(self.class_weights)
        one_of("optimizer", self.optimizer, OPTIMIZERS)
        one_of("schedule", self.schedule, SCHEDULES)
        between("learning_rate", positive("learning_rate", self.learning_rate), 0.0, LARGEST_RATE)
        at_least("warm_up", self.warm_up, 0)
        at_least("tokens_at_once", self.tokens_at_once, 1)
        at_least("checkpoint_every", self.checkpoint_every, 1)
        if self.divisor is not None:
            positive("divisor", self.divisor)

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON; weights only if there are any."""
        written = asdict(self)
        weights = written.pop("class_weights")
        if weights:
            written["class_weights"] = weights if isinstance(weights, str) else list(weights)
        groups = written.pop("group_weights")
        if groups:
            written["group_weights"] = groups if isinstance(groups, str) else dict(groups)
        for name, usual in USUAL.items():
            if written[name] == usual:  # older runs say nothing about it
                del written[name]
        return written

    @property
    def is_usual(self) -> bool:
        """Whether training runs as it does everywhere: in full precision, with nothing saved."""
        return all(getattr(self, name) == usual for name, usual in USUAL.items())


def _check_weights(weights: tuple[float, ...] | str) -> None:
    if isinstance(weights, str):
        if weights and weights != BALANCED:
            raise InvalidArgument(
                f"`class_weights={weights!r}` must be a number for each class, or 'balanced'"
            )
        return
    for one in weights:
        between("class_weights", positive("class_weights", one), 0.0, LARGEST_WEIGHT)


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """The settings that decide the privacy of a run, given before the data are read.

    Several batch sizes, or several amounts of noise, make stages of equal length.
    ``noise_schedule`` is the relative noise of each stage, and ``record`` says what an example is,
    in a public word or two.
    """

    epsilon: float
    delta: float | str = "auto"
    epochs: float = 3.0
    batch_sizes: tuple[int, ...] = (64,)
    noise_schedule: tuple[float, ...] = (1.0,)
    unit: str = "example"
    record: str = ""
    sampling: str = AUTO
    clipping: Clipping = field(default_factory=Clipping)
    accountant: str = "pld"

    def __post_init__(self) -> None:
        if self.epsilon != math.inf:
            positive("epsilon", self.epsilon)
        # Errors are found before a model is loaded; the remaining checks need the number of units.
        one_of("unit", self.unit, UNITS)
        check_record(self.record, self.unit)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        self.choose_sampling()
        if isinstance(self.delta, str):
            resolve_delta(self.delta, units=2)
        self._schedule(self.batch_sizes)

    def plan(self, units: int) -> Plan:
        """The plan for so many units, with the least noise that keeps the level."""
        return self.draft(units).with_epsilon(self.epsilon)

    def draft(self, units: int) -> Plan:
        """The same plan with the noise of its schedule, whatever level that gives."""
        way = self.choose_sampling()
        # A batch cannot be larger than the corpus; then it contains all units.
        sizes = tuple(min(size, units) for size in self.batch_sizes)
        with quietly():
            return Plan(
                units=units,
                stages=self._schedule(sizes).stages(units, way),
                delta=self.delta,
                unit=self.unit,
                record=self.record,
                sampling=way,
                clipping=self.clipping,
                accountant=self.accountant,
            )

    def choose_sampling(self, usual: str = "poisson") -> Sampling:
        """The way of sampling that was asked for, or the usual one."""
        return sampling(usual if self.sampling == AUTO else self.sampling)

    def _schedule(self, sizes: tuple[int, ...]) -> Schedule:
        return Schedule(epochs=self.epochs, batch_sizes=sizes, noise=self.noise_schedule)


@dataclass(frozen=True, kw_only=True)
class Training:
    """The settings of ``sfumato train`` under the same names.

    ``objective`` is what a language model has to predict (``objectives``), by default what is usual
    for its kind. With ``tokenizer_epsilon`` a private tokenizer is learned first (``vocabulary``).
    ``method_settings`` are the method's own, such as ``lead``: its fields, for a
    method by name.
    """

    method: str | TrainingMethod = "private"
    epsilon: float | None = None
    delta: float | str = "auto"
    unit: str = "example"
    record: str = ""
    epochs: float = 3.0
    batch_size: int | tuple[int, ...] = 64
    noise_schedule: tuple[float, ...] = (1.0,)
    clip_norm: float = 1.0
    clipping: str = "fixed"
    sampling: str = AUTO
    accountant: str = "pld"
    learning_rate: float = 1e-3
    optimizer: str = "adam"
    schedule: str = "constant"
    class_weights: tuple[float, ...] | str = ()
    group_weights: Mapping[str, float] | str = field(default_factory=dict)
    objective: str | None = None
    tokenizer_epsilon: float | None = None
    tokenizer_words: int | None = None
    tokenizer_size: int | None = None
    tokens_at_once: int = 4096
    checkpoint_every: int = 50
    recompute: str = NOTHING
    precision: str = FULL
    device: str = CPU
    method_settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.objective is not None:
            ObjectiveName.read(self.objective)  # an error if it is wrong
        self.vocabulary()
        chosen = self.built_method()
        if self.epsilon is None and chosen.needs_level:
            raise InvalidArgument(
                f"`epsilon=...` is missing: the method {chosen.name} needs a level (or inf, "
                "for no privacy)"
            )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Training:
        """From one flat table that also contains the method's own settings."""
        common = GENERAL & values.keys()
        return cls(
            **{key: values[key] for key in common},
            method_settings={key: values[key] for key in values if key not in common},
        )

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        """One for each stage."""
        return (self.batch_size,) if isinstance(self.batch_size, int) else self.batch_size

    def built_method(self) -> TrainingMethod:
        """The method with its own settings."""
        return build_method(self.method, self.method_settings)

    def privacy(self) -> Privacy:
        """The settings that decide privacy."""
        return Privacy(
            epsilon=math.inf if self.epsilon is None else self.epsilon,
            delta=self.delta,
            epochs=self.epochs,
            batch_sizes=self.batch_sizes,
            noise_schedule=self.noise_schedule,
            unit=self.unit,
            record=self.record,
            sampling=self.sampling,
            clipping=choose_clipping(self.clipping, self.clip_norm, self.batch_sizes),
            accountant=self.accountant,
        )

    def vocabulary(self) -> PrivateVocabulary | None:
        """The private tokenizer that is learned first, if one is asked for."""
        from sfumato.training.vocabulary import PrivateVocabulary

        words, size = self.tokenizer_words, self.tokenizer_size
        if self.tokenizer_epsilon is not None:
            usual = PrivateVocabulary(epsilon=self.tokenizer_epsilon)
            return replace(
                usual,
                words=usual.words if words is None else words,
                size=usual.size if size is None else size,
            )
        if words is not None or size is not None:
            raise InvalidArgument(
                "`tokenizer_words=...` and `tokenizer_size=...` are for a private tokenizer; give "
                "`tokenizer_epsilon=...`, too"
            )
        return None

    def course(self) -> Course:
        """The settings that do not affect privacy."""
        return Course(
            optimizer=self.optimizer,
            learning_rate=self.learning_rate,
            schedule=self.schedule,
            class_weights=self.class_weights,
            group_weights=read_weights(self.group_weights),
            tokens_at_once=self.tokens_at_once,
            checkpoint_every=self.checkpoint_every,
            recompute=self.recompute,
            precision=self.precision,
            device=self.device,
        )


# The settings that all methods have.
GENERAL = frozenset(one.name for one in fields(Training)) - {"method_settings"}
