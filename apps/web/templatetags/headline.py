"""Template tags of the headline: what conducting brings, by the newest measurement."""

from __future__ import annotations

from django import template

from apps.web import headline_words

register = template.Library()
register.filter("headline_words", headline_words.headline_words)
register.filter("headline_percent", headline_words.percent_words)
register.filter("headline_bounds", headline_words.bounds_words)
