"""How pages about pools show them: the table of workers, changes in words."""
