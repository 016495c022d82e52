"""What planners learn from: graded runs of a team, and its consent to that."""
