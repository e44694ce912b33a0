"""What can be measured of a privatized text, a model or a mechanism, one measure in each file."""
