"""What a light planner learns between trainings, and how it watches its promises."""
