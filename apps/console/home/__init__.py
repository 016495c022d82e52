"""The home page of owners and admins: what needs a person, health, money, runs."""
