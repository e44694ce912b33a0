"""How long a browser is waited for."""

from __future__ import annotations

FOREVER = 1_200_000.0  # milliseconds: it hangs; a busy machine takes long, too
