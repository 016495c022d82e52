"""What is known of how workers do: measured on tasks, and from production."""
