"""What people think of real answers, credited to the workers that gave them."""
