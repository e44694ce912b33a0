"""Charts: one look for all of them, as SVG, PNG, HTML or Vega-Lite; from plain rows of numbers."""
