"""Solvers turn prompt messages into a trajectory: one file each."""
