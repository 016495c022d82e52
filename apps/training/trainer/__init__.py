"""Trains conductor models. Needs torch and transformers; knows nothing of the site."""
