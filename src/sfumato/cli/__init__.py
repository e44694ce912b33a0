"""The command line: one file per command, each a thin wrapper over a function."""
