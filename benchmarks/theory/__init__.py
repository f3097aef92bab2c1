"""Benchmarks of what the theory of penalties says."""
