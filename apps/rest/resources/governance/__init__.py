"""Resources by which runs are governed: policy, approvals, reviews, the ledger."""
