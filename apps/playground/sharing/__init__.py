"""Share links: the pages on which members make them, and the one they lead to."""
