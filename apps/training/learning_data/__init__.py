"""Learning data: graded runs of one team and one pool, read anew whenever needed."""
