"""What planners learn between trainings: from each graded run, at once."""
