"""Clipping by book-keeping: every record's gradient bounded, at nearly the price of plain training.

One forward and one backward pass. The backward pass computes gradients with respect to what flows
through the model only; a supported layer writes down its input ``a`` and the gradient ``g`` at its
output. From these follow the norm of each record's gradient, then its scale, then the scaled sum
over the batch. The product that plain training does in the backward pass, gᵀa, is only put off
until the scales are known, so nothing is computed twice.

    layers/       one file per kind of layer: its norm, its scaled sum
    recording.py  finds the layers of a model and lets them write down what they see
    records.py    which rows of a batch belong to one record (an example, or an author)
    rounding.py   a bound on what a record adds to the sum, whatever rounding does
    clippers.py   from bounds to scales: flat, automatic, adaptive
    row_checks.py whether rows have an influence on each other
    losses.py     losses of rows that depend on nothing but the row

Reference
    Bu, Wang, Zha and Karypis 2023, "Differentially private optimization on large model at small
    cost" (book-keeping); Li, Tramèr, Liang and Hashimoto 2022, "Large language models can be
    strong differentially private learners" (norms from inner products).
"""
