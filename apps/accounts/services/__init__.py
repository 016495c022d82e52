"""Changes to teams, members, invitations and API keys, and the resolving of a key.

Every change and its ledger entry commit together. `acting_role` is the role of who does
it in that team; None is the operator, who may do everything.
"""

from apps.accounts.services.api_keys import (
    KEY_LIFETIME,
    MAX_KEY_LIFETIME,
    ROTATION_OVERLAP,
    api_key_issue,
    api_key_revoke,
    api_key_rotate,
    api_key_update,
)
from apps.accounts.services.invitations import (
    INVITATION_LIFETIME,
    invitation_accept,
    invitation_create,
    invitation_resend,
    invitation_revoke,
)
from apps.accounts.services.key_authentication import (
    api_key_cache_clear,
    api_key_holder,
    api_key_peek,
    api_key_resolve,
    unknown_key_note,
)
from apps.accounts.services.members import (
    member_add,
    member_change_role,
    member_leave,
    member_remove,
    setup_checklist_dismiss,
)
from apps.accounts.services.teams import team_create, team_delete, team_update

__all__ = [
    "INVITATION_LIFETIME",
    "KEY_LIFETIME",
    "MAX_KEY_LIFETIME",
    "ROTATION_OVERLAP",
    "api_key_cache_clear",
    "api_key_holder",
    "api_key_issue",
    "api_key_peek",
    "api_key_resolve",
    "api_key_revoke",
    "api_key_rotate",
    "api_key_update",
    "invitation_accept",
    "invitation_create",
    "invitation_resend",
    "invitation_revoke",
    "member_add",
    "member_change_role",
    "member_leave",
    "member_remove",
    "setup_checklist_dismiss",
    "team_create",
    "team_delete",
    "team_update",
    "unknown_key_note",
]
