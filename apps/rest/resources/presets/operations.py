"""Presets: listed, created, read, changed, copied, deleted; their versions."""

from __future__ import annotations

import uuid

from django.urls import path, reverse
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import READ_PRESETS, RUN
from apps.presets.models import Preset
from apps.presets.selectors import (
    access_preset,
    access_preset_version,
    preset_list,
    preset_version_list,
    presets_matching,
)
from apps.presets.services import (
    preset_copy,
    preset_create,
    preset_delete,
    preset_restore,
    preset_update,
)
from apps.rest.pagination import Page, PageQuery, page_by_place
from apps.rest.resources.presets.shapes import (
    EXAMPLE,
    SENT,
    SHOWN,
    VERSION_EXAMPLE,
    NewPresetInput,
    PresetChangeInput,
    PresetDetailOutput,
    PresetOutput,
    PresetQuery,
    PresetVersionOutput,
    preset_document,
    preset_values,
    seen_preset,
    seen_version,
)
from apps.rest.schema import operation
from apps.rest.views import RestView

TAG = "Presets"
WHOLE_EXAMPLE = {**EXAMPLE, **SHOWN}


class Presets(RestView):
    """The presets that you see."""

    tag = TAG
    rights = {"GET": READ_PRESETS, "POST": RUN}

    @operation(
        "preset_list",
        "List presets",
        page_of=PresetOutput,
        query=PresetQuery,
        example=EXAMPLE,
    )
    def get(self, request: Request) -> Response:
        """Return your presets and those that others share, by name."""
        asked = self.read_page(PresetQuery)
        cursor, limit = asked.pop("cursor"), asked.pop("limit")
        is_archived = asked.get("archived", False)
        rows = list(preset_list(self.principal, is_archived=is_archived))
        found = presets_matching(rows, asked.get("query", ""))
        page = page_by_place(found, cursor=cursor, limit=limit)
        seen = [seen_preset(self.principal, row) for row in page.data]
        return self.paged(Page(seen, page.next_cursor), PresetOutput)

    @operation(
        "preset_create",
        "Create a preset",
        body=NewPresetInput,
        answer=PresetDetailOutput,
        status=201,
        errors=(409,),
        sent=SENT,
        example={**WHOLE_EXAMPLE, "version": 1},
    )
    def post(self, request: Request) -> Response:
        """Create a preset of your own, with its first version."""
        values = preset_values(self.read(NewPresetInput))
        return _made(self, preset_create(principal=self.principal, values=values))


class OnePreset(RestView):
    """One preset."""

    tag = TAG
    rights = {"GET": READ_PRESETS, "PATCH": RUN, "DELETE": RUN}

    @operation(
        "preset_get",
        "Read a preset",
        answer=PresetDetailOutput,
        example=WHOLE_EXAMPLE,
    )
    def get(self, request: Request, preset_id: uuid.UUID) -> Response:
        """Return a preset with what its newest version says."""
        preset = access_preset(self.principal, preset_id)
        return Response(preset_document(self.principal, preset))

    @operation(
        "preset_update",
        "Change a preset",
        body=PresetChangeInput,
        is_partial=True,
        answer=PresetDetailOutput,
        errors=(409,),
        sent={"prompt": SENT["prompt"], "is_shared": True},
        example=WHOLE_EXAMPLE,
    )
    def patch(self, request: Request, preset_id: uuid.UUID) -> Response:
        """Change what is sent. Other texts or settings make a new version.

        `is_shared` and `is_archived` share, unshare, archive and unarchive it. With
        `version`, nothing changes if there is a newer version than that.
        """
        preset = access_preset(self.principal, preset_id)
        values = preset_values(self.read(PresetChangeInput, is_partial=True))
        changed = preset_update(principal=self.principal, preset=preset, values=values)
        return Response(preset_document(self.principal, changed))

    @operation("preset_delete", "Delete a preset")
    def delete(self, request: Request, preset_id: uuid.UUID) -> Response:
        """Delete a preset with all its versions. Runs that used it stay."""
        preset = access_preset(self.principal, preset_id)
        preset_delete(principal=self.principal, preset=preset)
        return Response(status=204)


class PresetCopy(RestView):
    """Copying a preset."""

    tag = TAG
    rights = {"POST": RUN}

    @operation(
        "preset_copy",
        "Copy a preset",
        answer=PresetDetailOutput,
        status=201,
        errors=(409,),
        example={**WHOLE_EXAMPLE, "version": 1, "is_shared": False},
    )
    def post(self, request: Request, preset_id: uuid.UUID) -> Response:
        """Create a preset of your own that says what the newest version says."""
        preset = access_preset(self.principal, preset_id)
        return _made(self, preset_copy(principal=self.principal, preset=preset))


class PresetVersions(RestView):
    """The versions of a preset."""

    tag = TAG
    rights = {"GET": READ_PRESETS}

    @operation(
        "preset_version_list",
        "List versions of a preset",
        page_of=PresetVersionOutput,
        query=PageQuery,
        example=VERSION_EXAMPLE,
    )
    def get(self, request: Request, preset_id: uuid.UUID) -> Response:
        """Return what a preset said at each time, the newest version first."""
        rows = preset_version_list(access_preset(self.principal, preset_id))
        page = page_by_place(rows, **self.read_page())
        seen = [seen_version(row) for row in page.data]
        return self.paged(Page(seen, page.next_cursor), PresetVersionOutput)


class OnePresetVersion(RestView):
    """One version of a preset."""

    tag = TAG
    rights = {"GET": READ_PRESETS}

    @operation(
        "preset_version_get",
        "Read a version of a preset",
        answer=PresetVersionOutput,
        example=VERSION_EXAMPLE,
    )
    def get(self, request: Request, preset_id: uuid.UUID, version: int) -> Response:
        """Return what a preset said at one time."""
        preset = access_preset(self.principal, preset_id)
        row = access_preset_version(preset, version)
        return Response(PresetVersionOutput(seen_version(row)).data)


class PresetRestore(RestView):
    """Going back to an older version."""

    tag = TAG
    rights = {"POST": RUN}

    @operation(
        "preset_restore",
        "Restore a version of a preset",
        answer=PresetDetailOutput,
        errors=(409,),
        example={**WHOLE_EXAMPLE, "version": 4},
    )
    def post(self, request: Request, preset_id: uuid.UUID, version: int) -> Response:
        """Make a new version that says what an older one said."""
        preset = access_preset(self.principal, preset_id)
        restored = preset_restore(
            principal=self.principal, preset=preset, number=version
        )
        return Response(preset_document(self.principal, restored))


def _made(view: RestView, preset: Preset) -> Response:
    location = reverse("rest:preset", args=[preset.id])
    return view.created(preset_document(view.principal, preset), location)


ONE = "presets/<uuid:preset_id>/"
PATHS = [
    path("presets/", Presets.as_view(), name="presets"),
    path(ONE, OnePreset.as_view(), name="preset"),
    path(f"{ONE}copy/", PresetCopy.as_view(), name="preset_copy"),
    path(f"{ONE}versions/", PresetVersions.as_view(), name="preset_versions"),
    path(
        f"{ONE}versions/<int:version>/",
        OnePresetVersion.as_view(),
        name="preset_version",
    ),
    path(
        f"{ONE}versions/<int:version>/restore/",
        PresetRestore.as_view(),
        name="preset_restore",
    ),
]
