"""Benchmarks, and their results in RESULTS.md. Not part of the product.

`make bench` measures the product alone; `make bench-peers` measures it side by side
with other software, all in one run on one machine.
"""
