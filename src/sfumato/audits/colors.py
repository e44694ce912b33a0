"""A small public space: names of colors, placed by their red, green and blue.

On a space of 60,000 words in 50 dimensions sampling sees little: the claims for most pairs allow
ratios that no number of draws could exceed. Here every pair is within reach, some names share a
place (aqua is cyan), some are near-duplicates (navy, darkblue) and some lie at the rim.
"""

from __future__ import annotations

import numpy as np

from sfumato.vectors.space import Space

# CSS Color Module Level 4, section 6.1.
_COLORS = """
    black #000000 navy #000080 darkblue #00008b mediumblue #0000cd blue #0000ff
    midnightblue #191970 indigo #4b0082 purple #800080 darkmagenta #8b008b magenta #ff00ff
    fuchsia #ff00ff maroon #800000 darkred #8b0000 firebrick #b22222 crimson #dc143c red #ff0000
    tomato #ff6347 coral #ff7f50 orange #ffa500 gold #ffd700 yellow #ffff00 khaki #f0e68c
    olive #808000 green #008000 darkgreen #006400 forestgreen #228b22 lime #00ff00 teal #008080
    darkcyan #008b8b aqua #00ffff cyan #00ffff turquoise #40e0d0 azure #f0ffff snow #fffafa
    ivory #fffff0 white #ffffff silver #c0c0c0 gray #808080 dimgray #696969 pink #ffc0cb
"""
# The claimed exponent across the whole range of one color, epsilon times the length of the cube.
ACROSS = 4.0


def color_space(epsilon: float) -> Space:
    """Forty names of colors in three dimensions, at a scale where epsilon means something.

    A claim holds in every space or not at all; at this scale the ratios that it allows go from 1
    to about exp(7), so a few thousand draws can tell.

    >>> space = color_space(2.0)
    >>> len(space), space.dimension
    (40, 3)
    """
    fields = _COLORS.split()
    values = [[int(code[place : place + 2], 16) for place in (1, 3, 5)] for code in fields[1::2]]
    scaled = np.array(values) / 255 * (ACROSS / epsilon)
    return Space("40 names of colors", fields[::2], scaled.astype(np.float32))
