"""Processes that tests start: Python with the product, and the whole site."""
