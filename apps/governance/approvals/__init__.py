"""Approvals: plans that wait until people have decided about them."""
