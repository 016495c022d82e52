"""Retention of prompts and answers, and legal holds."""
