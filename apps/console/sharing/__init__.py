"""The pages on which owners and admins allow share links, and see all of them."""
