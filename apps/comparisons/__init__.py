"""Comparisons: answers of several candidates to one prompt, votes and judgements."""
