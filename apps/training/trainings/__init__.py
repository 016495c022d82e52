"""Trainings: explore, fit, explore near the best, fit again, measure, put to use."""
