"""Webhooks: events of a team, or its whole ledger, sent to addresses of its choice."""
