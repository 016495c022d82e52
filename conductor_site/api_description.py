"""How the REST API is described: settings of drf-spectacular."""

API_DESCRIPTION = {
    "TITLE": "Conductor API",
    "DESCRIPTION": "Teams, people, keys, pools, budgets and runs. To ask for answers "
    "as from an OpenAI model, use `/v1` instead.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_SUFFIX": "",
    "ENUM_NAME_OVERRIDES": {
        "ReviewState": "apps.governance.models.ReviewState",
        "RunState": "apps.runs.models.RunState",
        "RunSource": "apps.runs.models.Source",
        "ShareLinkState": "apps.rest.resources.governance.share_links.LINK_STATES",
        "DataClass": "apps.core.data_classes.DATA_CLASSES",
        "WebhookKind": "apps.webhooks.models.WebhookKind",
        "ModelSource": "apps.rest.resources.run_outputs.MODEL_SOURCES",
        "HealthState": "apps.rest.resources.workers.HEALTH_STATES",
    },
    "SORT_OPERATIONS": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {
        "deepLinking": True,
        "validatorUrl": None,
        "docExpansion": "none",
        "defaultModelsExpandDepth": 0,
    },
}
