"""Where files are kept: uploads by Django's own storage, static files by the site's."""

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "conductor_site.serving.static_files.SiteStorage"},
}
