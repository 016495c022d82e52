"""The user's pages: playground, list of runs, a run step by step."""
