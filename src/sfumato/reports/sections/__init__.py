"""The parts of a page, one idea each."""
