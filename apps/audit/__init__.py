"""The ledger: one hash chain of entries per team. Imports only `apps.core`."""
