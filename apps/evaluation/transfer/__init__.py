"""Evaluations from one site to another: a file of settings and results."""
