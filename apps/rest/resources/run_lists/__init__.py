"""Lists of runs over REST: their filters, views and files."""
