"""Speed and memory, each as a ratio to something measured in the same run.

``python -m benchmarks`` runs all of them, ``python -m benchmarks search policies`` some, and
``--quick`` gives a smoke run whose figures mean little. No figure here is ever asserted.
"""
