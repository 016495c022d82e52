"""Alerts: conditions of a team that a person should know of, and who hears of them."""
