"""Published noise multipliers beside ours.

Usage: python scripts/published_noise.py [LEVEL ...]

The published ones are those of table 7 of Faustini et al. 2024, "Empirical calibration and metric
differential privacy in language models": Rényi accountant, batches of 128, sizes and epochs of its
tables 5 and 6. Which delta it does not say; 1/n, with Poisson sampling, comes closest. Its "1.191"
for BERT on CoLA at level 1 is taken for a misprint of 1.91, which its table 3 has.
"""

from __future__ import annotations

import sys
import warnings

from sfumato.training.plan import Plan

# Model and data, number of training examples, epochs, noise by power of ten of the level.
PUBLISHED = {
    "GPT-2, CoLA": (5056, 30, (3.06, 0.747, 0.347, 0.173, 0.112, 0.066, 0.024)),
    "GPT-2, IMDb": (22500, 5, (1.01, 0.472, 0.226, 0.121, 0.089, 0.052, 0.019)),
    "GPT-2, SST-2": (53710, 3, (0.957, 0.458, 0.234, 0.127, 0.096, 0.072, 0.034)),
    "BERT, CoLA": (5056, 10, (1.91, 0.615, 0.278, 0.140, 0.092, 0.043, 0.014)),
    "BERT, IMDb": (22500, 5, (0.993, 0.460, 0.216, 0.116, 0.086, 0.072, 0.016)),
    "BERT, SST-2": (53710, 4, (1.00, 0.478, 0.254, 0.137, 0.101, 0.078, 0.042)),
}
BATCH_SIZE = 128


def needed(units: int, epochs: int, level: float, accountant: str) -> float:
    """Our noise multiplier at the paper's delta."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # delta = 1/n is the paper's
        return Plan.for_epsilon(
            epsilon=level,
            units=units,
            batch_size=BATCH_SIZE,
            epochs=epochs,
            delta="1/n",
            accountant=accountant,
        ).noise_multiplier


def main(levels: list[float]) -> None:
    """Print a table: published, ours by RDP with the difference, ours by PLD."""
    print("| | epsilon | published | RDP | difference | PLD |")
    print("|---|---|---|---|---|---|")
    for name, (units, epochs, noise) in PUBLISHED.items():
        for power, published in enumerate(noise):
            if 10.0**power in levels:
                rdp, pld = (needed(units, epochs, 10.0**power, by) for by in ("rdp", "pld"))
                print(
                    f"| {name} | {10**power:,} | {published:.3g} | {rdp:.3g} | "
                    f"{(rdp / published - 1) * 100:+.1f} % | {pld:.3g} |",
                    flush=True,
                )


if __name__ == "__main__":
    main([float(level) for level in sys.argv[1:]] or [10.0**power for power in range(7)])
