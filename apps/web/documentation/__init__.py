"""The site's own documentation: which pages there are, their headings, their HTML."""
