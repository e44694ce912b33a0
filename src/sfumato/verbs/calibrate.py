"""``sfumato.calibrate``: levels of different methods at which one attack finds equally much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.errors import BadInput
from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.calibration.results import Calibration


def calibrate(
    study: Placed,
    *,
    attack: str | None = None,
    metric: str | None = None,
    target: float | Sequence[float] = (),
    utility: str | None = None,
    corpus: str | None = None,
    public_proxy: str | None = None,
) -> Calibration:
    """Put every method at the level at which an attack finds as much as a target says.

    Epsilons of different notions cannot be compared, measured leakage can. An attack whose finding
    does not follow the level is called unfit. A measurement, never a guarantee. ``study`` is a
    finished study or its folder, ``corpus`` the one to look at where it has several;
    ``public_proxy`` says which public corpus it was run on in place of the private one.
    """
    from sfumato.calibration.equal_leakage import calibrate_methods
    from sfumato.calibration.permission import basis
    from sfumato.calibration.select import select_rows
    from sfumato.studies.folder import StudyFolder

    place = path_of(study)
    if place.is_file():
        raise BadInput(
            f"{place} is a file; give the folder that the study was run into, with a study.json "
            "in it (by default it is called like the study's file, without .toml)"
        )
    folder = StudyFolder(place)
    # What must not be chosen by is refused before any figure of it is read.
    allowed = basis(public=folder.study().get("public") is True, proxy=public_proxy)
    selected = select_rows(
        folder.rows(), attack=attack, metric=metric, utility=utility, corpus=corpus
    )
    targets = [target] if isinstance(target, (int, float)) else list(target)
    return calibrate_methods(selected, targets, basis=allowed)
