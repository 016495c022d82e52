"""The formats of English: figures, dates and what forms take are alike on all pages."""

from django.conf.locale.en.formats import *  # type: ignore[import-untyped]  # noqa: F403

from conductor_site.formats.en.formats import *  # noqa: F403
