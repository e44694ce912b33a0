"""Attacks on noisy vectors: what they still tell about the texts behind them."""
