"""How well a mechanism hides words at its level: exact or drawn, for frequent public words."""

from __future__ import annotations

from dataclasses import asdict

from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import DrawEffort
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched, protection
from sfumato.results.measured import Measured
from sfumato.results.row import LEAKAGE
from sfumato.studies.kinds.context import CellResult, Context, Meaning, rows
from sfumato.studies.kinds.release import privatizer
from sfumato.studies.measures import check_measure


def compute(context: Context) -> CellResult:
    """The chance that a word stays, over words."""
    settings = check_measure("deniability", context.cell.settings["settings"])
    release = privatizer(context.study, context.target).selective
    mechanism = release.mechanism if isinstance(release, Selective) else None
    if not isinstance(mechanism, OverVocabulary):
        return CellResult(details={"none": "this method does not replace words by words"})
    points = mechanism.points
    watched = Watched.of(frequent_words(points.space), settings.words, context.randomness)
    effort = DrawEffort(eta=settings.eta, draws=settings.draws)
    found = protection(points, watched, effort, context.randomness.stream(1))
    median = found.median
    figure = Measured("chance to stay", median.value, median.low, median.high, found.words)
    return CellResult(
        rows=tuple(rows([figure], Meaning(by="deniability", role=LEAKAGE))),
        details={
            "keep": asdict(found.keep),
            "keep_worst": found.worst_keep,
            "outputs": asdict(found.outputs),
            "outputs_worst": found.worst_outputs,
            "draws": found.draws,
            "eta": settings.eta,
            "space": points.space.name,
        },
    )
