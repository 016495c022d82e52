"""Conversations: runs that continue each other, as people and programs keep them."""
