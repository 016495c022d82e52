"""Exports of single runs that verify by themselves: making and verification."""
