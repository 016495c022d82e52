"""Merkle trees over the entries of teams: hashes, proofs, stored nodes."""
