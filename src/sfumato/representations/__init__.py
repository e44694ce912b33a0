"""Noisy representations: vectors of texts with a guarantee, in the place of the texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.representations.binary_vectors import BinaryVectors as BinaryVectors
    from sfumato.representations.corpus import EmbeddedCorpus as EmbeddedCorpus
    from sfumato.representations.embedder import Embedder as Embedder
    from sfumato.representations.files import StoredVectors as StoredVectors
    from sfumato.representations.files import read_stored as read_stored
    from sfumato.representations.gaussian_vectors import GaussianVectors as GaussianVectors
    from sfumato.representations.laplace_vectors import LaplaceVectors as LaplaceVectors
    from sfumato.representations.mechanism import Carrier as Carrier
    from sfumato.representations.mechanism import VectorMechanism as VectorMechanism
    from sfumato.representations.mechanism import build_representation as build_representation
    from sfumato.representations.per_dimension import PerDimension as PerDimension
    from sfumato.representations.projected_vectors import ProjectedVectors as ProjectedVectors
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.representations.binary_vectors": "BinaryVectors",
            "sfumato.representations.corpus": "EmbeddedCorpus",
            "sfumato.representations.embedder": "Embedder",
            "sfumato.representations.files": "StoredVectors read_stored",
            "sfumato.representations.gaussian_vectors": "GaussianVectors",
            "sfumato.representations.laplace_vectors": "LaplaceVectors",
            "sfumato.representations.mechanism": "Carrier VectorMechanism build_representation",
            "sfumato.representations.per_dimension": "PerDimension",
            "sfumato.representations.projected_vectors": "ProjectedVectors",
        },
    )

__all__ = [
    "BinaryVectors",
    "Carrier",
    "EmbeddedCorpus",
    "Embedder",
    "GaussianVectors",
    "LaplaceVectors",
    "PerDimension",
    "ProjectedVectors",
    "StoredVectors",
    "VectorMechanism",
    "build_representation",
    "read_stored",
]
