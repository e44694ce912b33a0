"""The kinds of arrays that pass between modules, each under one name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Double precision: probabilities, distances, scores."""

Singles = NDArray[np.float32]
"""Single precision, for large arrays whose last digits do not matter."""

Integers = NDArray[np.int64]
"""Counts and ranks."""

Points = NDArray[np.intp]
"""Indices: points of a space, places in a list."""

Flags = NDArray[np.bool_]
"""True or false, one for each item."""
