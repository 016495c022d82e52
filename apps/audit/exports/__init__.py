"""Exports of the entries that a filter lets through: requested, made, downloaded."""
