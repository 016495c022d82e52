"""Policies, retention of prompts and answers, and legal holds."""
