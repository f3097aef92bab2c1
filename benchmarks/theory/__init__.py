"""Benchmarks of what the papers say: of penalties, and of learners."""
