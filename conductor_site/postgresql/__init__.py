"""PostgreSQL, with cheaper checks of pooled connections."""
