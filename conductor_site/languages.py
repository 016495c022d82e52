"""The languages of the pages. APIs, mails, the ledger and the admin are in English."""

LANGUAGES = [("en", "English"), ("de", "Deutsch")]
"""Codes and names. Each has its catalogue in `locale` and its formats beside this."""
FORMAT_MODULE_PATH = "conductor_site.formats"
"""Figures and dates are written alike in all of them."""
