"""Training of conductor models, as the site sees it."""
