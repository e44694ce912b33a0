"""Which way to the norm is cheaper for this batch: inner products or the gradient itself.

A row's gradient is G = lᵀr with l of T×m and r of T×n (places × widths). Two ways to ‖G‖²:

- *inner products*, ⟨llᵀ, rrᵀ⟩: T²(m+n) multiplications; T² numbers are kept for a moment. The
  scaled sum over the batch, lᵀ(c·r), is one product later on, as in plain training.
- *instantiation*: form G, T·m·n multiplications, and keep it. The scaled sum is then only a
  weighted sum of what is there, so this is the very product plain training does, and what it costs
  beyond that is memory traffic: m·n numbers of each row are written once and read twice.

So, beyond plain training, inner products cost T²(m+n) multiplications and instantiation costs the
traffic of m·n numbers. The second is chosen when it takes less time and its memory, m·n, stays
within a few times what is written down anyway, T(m+n).
"""

from __future__ import annotations

# One number written once and read twice costs as much time as so many multiplications in a
# product; more if there are so many numbers in all rows that their memory is fresh each time.
# Measured on x86-64 with MKL; the best choice changes little over a factor of two.
TRAFFIC, FRESH_TRAFFIC = 28, 130
FRESH = 8_000_000
# A kept gradient may take so many times the memory of the inputs and gradients it replaces.
MEMORY = 2


def keep_gradient(rows: int, places: int, left: int, right: int) -> bool:
    """Whether forming and keeping each row's gradient is cheaper than inner products.

    >>> keep_gradient(16, 128, 256, 768), keep_gradient(16, 128, 50257, 256)
    (True, False)
    >>> keep_gradient(16, 128, 768, 3072), keep_gradient(4, 512, 768, 3072)
    (False, True)
    """
    size, pair = left * right, left + right
    traffic = TRAFFIC if rows * size <= FRESH else FRESH_TRAFFIC
    return places * places * pair > traffic * size and size <= MEMORY * places * pair


def form_gradient(places: int, left: int, right: int) -> bool:
    """Whether forming a gradient only for its norm is cheaper than inner products.

    >>> form_gradient(1000, 100, 100), form_gradient(10, 100, 100)
    (True, False)
    """
    return left * right < places * (left + right)
