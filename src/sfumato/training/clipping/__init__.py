"""Clipping by book-keeping: per-record gradient bounds at nearly the cost of plain training.

There is one forward and one backward pass. The backward pass computes gradients with respect to
activations only; a supported layer records its input ``a`` and the gradient ``g`` at its output.
From these the norm of each record's gradient is computed, then its scale, then the scaled sum over
the batch. The product gᵀa, which plain training computes in the backward pass, is postponed until
the scales are known, so nothing is computed twice.

    layers/        one file per kind of layer: its norm, its scaled sum
    recording.py   records what the layers of a model see in one backward pass
    slots.py       what is recorded for one parameter, by record (an example, or an author)
    rounding.py    a bound on what a record adds to the sum, including rounding errors
    clippers.py    from bounds to scales: flat, automatic, adaptive
    release.py     what a step releases: bounded gradients, with noise
    row_checks.py  whether rows influence each other
    replays.py     calling a model again without side effects
    losses.py      losses of rows that depend on nothing but the row

Reference
    Bu, Wang, Zha and Karypis 2023, "Differentially private optimization on large model at small
    cost" (book-keeping); Li, Tramèr, Liang and Hashimoto 2022, "Large language models can be
    strong differentially private learners" (norms from inner products).
"""
