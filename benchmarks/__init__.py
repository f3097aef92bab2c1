"""Benchmarks: each prints its tables and writes them to `benchmarks/results/` as JSON."""
