"""Services of pools, workers, conductors and credentials, and tests of models.

Each change commits together with its ledger entries and the new versions of the pools
concerned. Values are those of `service_inputs.py`; an invalid one is reported by its
field, and nothing is saved. Entries, results and errors never hold a secret. The list
of providers' prices belongs to the site: no team's ledger has entries of it.
"""

from apps.pools.services.abilities import abilities_adopt, worker_first_test
from apps.pools.services.conductors import (
    conductor_create,
    conductor_delete,
    conductor_update,
)
from apps.pools.services.credentials import (
    credential_create,
    credential_delete,
    credential_keep,
    credential_set,
    credential_update,
)
from apps.pools.services.importing import pool_import
from apps.pools.services.learning import prefill_refused
from apps.pools.services.model_tests import (
    conductor_test,
    model_calls_have_room,
    models_fetch,
    worker_test,
)
from apps.pools.services.onboarding import (
    NewCredential,
    pool_start,
    save_with_credential,
    worker_onboard,
)
from apps.pools.services.planner_promises import (
    planner_counts_replace,
    promise_dismiss,
)
from apps.pools.services.planner_versions import (
    PlannerFit,
    planner_version_add,
    planner_version_measured,
    planner_version_use,
)
from apps.pools.services.pools import (
    pool_check,
    pool_create,
    pool_delete,
    pool_update,
)
from apps.pools.services.price_list import price_list_refresh
from apps.pools.services.profiles import profiles_mark, profiles_replace
from apps.pools.services.server_status import conductor_look
from apps.pools.services.set_up import (
    conductor_add,
    models_add,
    pool_complete,
    pool_to_join,
    prices_fill,
)
from apps.pools.services.setups import setup_put
from apps.pools.services.workers import worker_create, worker_delete, worker_update

__all__ = [
    "NewCredential",
    "PlannerFit",
    "abilities_adopt",
    "conductor_add",
    "conductor_create",
    "conductor_delete",
    "conductor_look",
    "conductor_test",
    "conductor_update",
    "credential_create",
    "credential_delete",
    "credential_keep",
    "credential_set",
    "credential_update",
    "model_calls_have_room",
    "models_add",
    "models_fetch",
    "planner_counts_replace",
    "planner_version_add",
    "planner_version_measured",
    "planner_version_use",
    "pool_check",
    "pool_complete",
    "pool_create",
    "pool_delete",
    "pool_import",
    "pool_start",
    "pool_to_join",
    "pool_update",
    "prefill_refused",
    "price_list_refresh",
    "prices_fill",
    "profiles_mark",
    "profiles_replace",
    "promise_dismiss",
    "save_with_credential",
    "setup_put",
    "worker_create",
    "worker_delete",
    "worker_first_test",
    "worker_onboard",
    "worker_test",
    "worker_update",
]
