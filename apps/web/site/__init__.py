"""The operator's own pages: how the site stands, its policy, ledger and settings."""
