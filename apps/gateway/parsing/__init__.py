"""Reads what the protocols under `/v1` share: bodies, fields, messages, tools."""
