"""Fits light planners with scikit-learn, in processes that serve no pages."""
