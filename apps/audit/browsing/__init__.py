"""Reading one team's ledger for people: filtered, in pages, with its state."""
