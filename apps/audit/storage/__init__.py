"""How the rows of the ledger are kept: compressed, read as they are, checkpointed."""
