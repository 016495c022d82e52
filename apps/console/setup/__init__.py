"""The wizard that sets up a team's models, from a provider to a pool that plans."""
