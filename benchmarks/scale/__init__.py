"""Batches of many species: what a species costs, how that grows, and what a cluster adds."""
