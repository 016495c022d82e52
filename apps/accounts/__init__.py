"""People, teams and API keys: who may act for which team."""
