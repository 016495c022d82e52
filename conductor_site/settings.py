"""All settings, read from the environment. The defaults run on a laptop.

Embedded mode (nothing set): SQLite and in-memory channels, one process. Production:
`CONDUCTOR_ENV=production` plus the variables in docs/configuration.md; it refuses to
start with DEBUG, a default secret, no encryption key or `ALLOWED_HOSTS=*`.
"""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from apps.core.logs import logging_config
from apps.governance.types import MAX_DAYS, MIN_DAYS
from conductor_site.admin_look import ADMIN_LOOK
from conductor_site.api_description import API_DESCRIPTION
from conductor_site.databases import database_of
from conductor_site.environment import (
    is_given,
    read_bool,
    read_choice,
    read_days,
    read_int,
    read_list,
    read_origins,
    read_text,
    read_url,
    read_web_address,
)
from conductor_site.languages import FORMAT_MODULE_PATH, LANGUAGES  # noqa: F401
from conductor_site.redis_backends import caches, channel_layers
from conductor_site.serving.address import served_url
from conductor_site.single_sign_on import PROVIDER_ID, openid_providers
from conductor_site.storages import STORAGES  # noqa: F401

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(read_text("CONDUCTOR_VAR_DIR", str(BASE_DIR / "var")))
"""Where the embedded mode keeps its database and the demo its file."""

IS_PRODUCTION = (
    read_choice("CONDUCTOR_ENV", ("development", "production")) == "production"
)
IS_DEMO = not IS_PRODUCTION and read_bool("CONDUCTOR_DEMO", default=False)
DEBUG = read_bool("DEBUG", default=False)
DEVELOPMENT_SECRET = "development-only-not-a-secret"  # nosec B105
MIN_SECRET_LENGTH, MIN_SECRET_SET = 32, 10
"""Characters of SECRET_KEY in production, and different ones among them."""
SECRET_KEY = read_text("SECRET_KEY", DEVELOPMENT_SECRET)
SECRET_KEY_FALLBACKS = read_list("SECRET_KEY_FALLBACKS")
"""Former secrets: sessions and API keys made with them go on working."""
ENCRYPTION_KEYS = read_list("CONDUCTOR_ENCRYPTION_KEYS")
"""`id:base64` of 32 bytes each; the first encrypts, all decrypt."""
ALLOWED_HOSTS = read_list("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = read_list("CSRF_TRUSTED_ORIGINS")


def _is_weak(secret: str) -> bool:
    if secret == DEVELOPMENT_SECRET:
        return False  # that it is not set says it better
    return len(secret) < MIN_SECRET_LENGTH or len(set(secret)) < MIN_SECRET_SET


def _refuse_unsafe_production() -> None:
    faults = [
        (DEBUG, "DEBUG is on"),
        (
            DEVELOPMENT_SECRET in {SECRET_KEY, *SECRET_KEY_FALLBACKS},
            "SECRET_KEY is not set",
        ),
        (
            _is_weak(SECRET_KEY),
            f"SECRET_KEY is too weak (at least {MIN_SECRET_LENGTH} random characters)",
        ),
        (not ENCRYPTION_KEYS, "CONDUCTOR_ENCRYPTION_KEYS is not set"),
        (not read_list("ALLOWED_HOSTS"), "ALLOWED_HOSTS is not set"),
        ("*" in ALLOWED_HOSTS, "ALLOWED_HOSTS contains *"),
    ]
    found = [f"{text}, in production" for is_fault, text in faults if is_fault]
    if found:
        raise ImproperlyConfigured("\n".join(found))


if IS_PRODUCTION:
    _refuse_unsafe_production()
elif not ENCRYPTION_KEYS:
    # Development only: derived from the secret, so a laptop needs no second variable.
    _derived = hashlib.sha256(b"conductor-development:" + SECRET_KEY.encode()).digest()
    ENCRYPTION_KEYS = ["dev:" + base64.b64encode(_derived).decode()]

# --- Django --------------------------------------------------------------------------

INSTALLED_APPS = [
    "unfold",  # before the admin, whose templates it replaces
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "apps.core",
    "apps.audit",
    "apps.accounts",
    "apps.webhooks",
    "apps.pools",
    "apps.budgets",
    "apps.attachments",
    "apps.runs",
    "apps.conversations",
    "apps.presets",
    "apps.governance",
    "apps.comparisons",
    "apps.sharing",
    "apps.batches",
    "apps.evaluation",
    "apps.insights",
    "apps.training",
    "apps.alerts",
    "apps.gateway",
    "apps.web",
    "apps.rest",
    "apps.console",
    "apps.playground",
    "conductor_site",  # its checks of the configuration
]

MIDDLEWARE = [
    "apps.web.middleware.RequestIdMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "apps.web.middleware.AdminPolicyMiddleware",
    "apps.web.middleware.PrivatePagesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.web.languages.LanguageMiddleware",  # after it: people choose a language
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "apps.web.middleware.SecondFactorMiddleware",
    "apps.web.middleware.DomainErrorMiddleware",
]

ROOT_URLCONF = "conductor_site.urls"
ASGI_APPLICATION = "conductor_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASE_URL = read_url(
    "DATABASE_URL",
    ("postgres", "postgresql", "sqlite"),
    f"sqlite:///{VAR_DIR / 'conductor.sqlite3'}",
)
DATABASES = {"default": database_of(DATABASE_URL, VAR_DIR)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    VAR_DIR.mkdir(parents=True, exist_ok=True)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = read_url("REDIS_URL", ("redis", "rediss", "unix"))
CHANNEL_LAYERS = channel_layers(REDIS_URL)
CACHES = caches(REDIS_URL)

LANGUAGE_CODE = "en"
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]

# --- People --------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/home/"
SIGN_UP = read_choice("SIGN_UP", ("invite", "open", "closed"))
"""Who may sign up: invited people, all people, or none."""
EMAIL_VERIFICATION = read_choice(
    "EMAIL_VERIFICATION",
    ("mandatory", "none") if IS_PRODUCTION else ("none", "mandatory"),
)
"""Whether an address must be confirmed before its owner gets in."""
REQUIRE_MFA = read_bool("REQUIRE_MFA", default=False)
"""Everybody who signs in sets up a second factor before anything else."""
ACCOUNT_ADAPTER = "apps.accounts.adapters.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "apps.accounts.forms.SignInForm",
    "signup": "apps.accounts.forms.SignUpForm",
    "add_email": "apps.accounts.forms.AddressForm",
}
ACCOUNT_LOGOUT_REDIRECT_URL = "/accounts/login/"
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_VERIFICATION = EMAIL_VERIFICATION
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Conductor: "
MFA_ADAPTER = "apps.accounts.adapters.SecondFactorAdapter"
MFA_FORMS = {
    "login_webauthn": "apps.accounts.forms.PasskeySignIn",
    "authenticate_webauthn": "apps.accounts.forms.PasskeyProof",
    "reauthenticate_webauthn": "apps.accounts.forms.PasskeyProofAgain",
    "add_webauthn": "apps.accounts.forms.PasskeyAddition",
}
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "Conductor"
# Where no address is ever confirmed, nobody could protect their account otherwise.
MFA_ALLOW_UNVERIFIED_EMAIL = EMAIL_VERIFICATION == "none"

OIDC_ISSUER = read_text("OIDC_ISSUER").rstrip("/")
"""Address of the OpenID provider people may sign in with. Empty: none."""
OIDC_PROVIDER_ID = PROVIDER_ID
OIDC_CLIENT_ID = read_text("OIDC_CLIENT_ID")
OIDC_CLIENT_SECRET = read_text("OIDC_CLIENT_SECRET")
OIDC_NAME = read_text("OIDC_NAME", "single sign-on")
"""What the button calls it."""
OIDC_TRUST_EMAIL = read_bool("OIDC_TRUST_EMAIL", default=False)
"""Believe every address the provider gives, even one it does not call verified."""
SOCIALACCOUNT_ADAPTER = "apps.accounts.adapters.SingleSignOnAdapter"
SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_PROVIDERS = openid_providers(
    issuer=OIDC_ISSUER,
    client_id=OIDC_CLIENT_ID,
    client_secret=OIDC_CLIENT_SECRET,
    name=OIDC_NAME,
    trusts_email=OIDC_TRUST_EMAIL,
)

EMAIL_BACKEND = read_text(
    "EMAIL_BACKEND", "django.core.mail.backends.console.EmailBackend"
)
DEFAULT_FROM_EMAIL = read_text("DEFAULT_FROM_EMAIL", "conductor@localhost")
EMAIL_HOST = read_text("EMAIL_HOST", "localhost")
EMAIL_PORT = read_int("EMAIL_PORT", 25)
EMAIL_HOST_USER = read_text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = read_text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = read_bool("EMAIL_USE_TLS", default=False)
EMAIL_TIMEOUT = 15

# --- The operator's pages ------------------------------------------------------------

UNFOLD = ADMIN_LOOK
ADMIN_POLICY = {"script-src": "'unsafe-eval'", "style-src": "'unsafe-inline'"}
"""What the admin's scripts need beyond CONTENT_SECURITY_POLICY, on its pages alone."""

# --- Security ------------------------------------------------------------------------

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = IS_PRODUCTION
SECURE_SSL_REDIRECT = IS_PRODUCTION and read_bool("SECURE_SSL_REDIRECT", default=True)
SECURE_HSTS_SECONDS = 31_536_000 if IS_PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = IS_PRODUCTION
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if IS_PRODUCTION else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

# --- Conductor -----------------------------------------------------------------------

_public_url = read_text("CONDUCTOR_URL").rstrip("/")
IS_CONDUCTOR_URL_GIVEN = bool(_public_url)
"""False: pages show the address that the browser has asked for."""
CONDUCTOR_URL = _public_url or served_url()
"""Public address of the site, for links in mails, API answers and copyable commands."""
MAX_PROMPT_BYTES = read_int("MAX_PROMPT_BYTES", 1_000_000)
"""A longer prompt is refused with a clear error."""
MAX_TOOLS = read_int("MAX_TOOLS", 1_024)
"""Tools that one request may define."""
MAX_TOOLS_BYTES = read_int("MAX_TOOLS_BYTES", 2_000_000)
"""Longer definitions of tools, as JSON, are refused."""
MAX_SCHEMA_BYTES = read_int("MAX_SCHEMA_BYTES", 200_000)
"""A longer schema of an answer, as JSON, is refused."""
MAX_REQUEST_BYTES = read_int("MAX_REQUEST_BYTES", 16_000_000)
"""Largest request body of the API, images included."""
MAX_FORM_BYTES = min(MAX_REQUEST_BYTES, 4_000_000)
"""Largest request body of pages and the REST API: none holds images, and reading one
costs by the value."""
MAX_IMAGES = read_int("MAX_IMAGES", 20)
"""Images in one request."""
MAX_IMAGE_BYTES = read_int("MAX_IMAGE_BYTES", 5_000_000)
"""Largest image in a request, as a file."""
MAX_ATTACHMENT_BYTES = read_int("MAX_ATTACHMENT_BYTES", 10_000_000)
"""Largest file that can be attached to a prompt."""
MAX_ATTACHMENTS = read_int("MAX_ATTACHMENTS", 10)
"""Files and images of one prompt."""
TEAM_ATTACHMENT_BYTES = read_int("TEAM_ATTACHMENT_BYTES", 2_000_000_000)
"""Of all attachments of a team that are stored."""
REQUEST_HEAD_TIMEOUT_S = read_int("REQUEST_HEAD_TIMEOUT_S", 20)
"""A connection on which no complete request head arrives for this long is closed."""
REQUEST_BODY_TIMEOUT_S = read_int("REQUEST_BODY_TIMEOUT_S", 120)
"""A connection whose request body is not complete by then is closed."""
MAX_FILE_BYTES = read_int("MAX_FILE_BYTES", 32_000_000)
"""Largest file that can be uploaded for a batch."""
FILE_DAYS = read_int("FILE_DAYS", 30, highest=MIN_DAYS)
"""How long files of requests and results are kept. They hold content of runs, so for no
longer than a team may choose for those."""
MAX_BATCH_REQUESTS = read_int("MAX_BATCH_REQUESTS", 10_000)
"""Requests in one batch."""
BATCH_PARALLEL_RUNS = read_int("BATCH_PARALLEL_RUNS", 8)
"""Requests of one batch that are made at the same time."""
SANDBOX_PARALLEL = read_int("SANDBOX_PARALLEL", os.cpu_count() or 1)
"""Sandboxes that run code of answers at the same time, in one process."""
SANDBOX_PYTHON = read_text("SANDBOX_PYTHON")
"""The interpreter that code of answers runs with, and whose packages it may import.
Empty: the site's, without packages."""
UNKNOWN_KEYS_PER_MINUTE = read_int("UNKNOWN_KEYS_PER_MINUTE", 20)
"""API keys unknown to this site that one address may send within a minute; further ones
are answered with 429. 0: any number."""
SOCKETS_PER_PERSON = read_int("SOCKETS_PER_PERSON", 50)
"""Websockets that one person may have open to one process."""
CORS_ORIGINS = read_origins("CORS_ORIGINS")
"""Web sites whose pages may call the OpenAI-compatible API; `*` for all, none: no."""
RUN_GATES = "apps.governance.policies.gate.PolicyGates"
"""Makes the gate of each run, which checks it against the policies."""
RUN_ARMS = "apps.evaluation.ab.arms.ABArms"
"""Says which run is on which side of an A/B test."""
RUN_EXPLORATION = "apps.training.live_exploration.LiveExploration"
"""Says which runs try a plan near the best one, to learn from it."""
LEDGER_ROW_CHECKS = [
    "apps.runs.records.row_checks.rows_check",
    "apps.insights.checks.rows_check",
]
"""Checks of rows that are derived from the ledger, beside those of the ledger."""
BACKGROUND_RUNS = read_choice(
    "BACKGROUND_RUNS", ("workers", "here") if REDIS_URL else ("here", "workers")
)
"""Where detached runs execute: in worker processes, or in the one that starts them."""
RUN_WAKER = (
    "apps.runs.tasks.notify_of_run"
    if REDIS_URL and BACKGROUND_RUNS == "workers"
    else ""
)
"""Notifier for queued runs. Empty: worker processes find them by polling."""
TASK_APP = "conductor_site.celery.app"
WORKER_DRAIN_S = read_int("WORKER_DRAIN_S", 20)
"""How long the runs of a worker process may go on once it has been asked to stop."""
MAX_LIVE_RUNS = read_int("MAX_LIVE_RUNS", 2000)
"""Runs at once in one process; more are answered with 503 and Retry-After."""
TEAM_RUNS_PERCENT = read_int("TEAM_RUNS_PERCENT", 80)
"""Percent of MAX_LIVE_RUNS that are open to every team. The rest is for teams that have
fewer live runs than their fair share."""
WEB_NOTICE_S = read_int("WEB_NOTICE_S", 0)
"""How long a web process that was asked to stop goes on taking requests, while /readyz
tells the proxy to send it none."""
WEB_DRAIN_S = read_int("WEB_DRAIN_S", 10)
"""How long after that open answers and live runs may take to end."""
MODEL_NETWORKS = (
    read_list("MODEL_NETWORKS")
    if IS_PRODUCTION or is_given("MODEL_NETWORKS")  # given and empty means none
    else ["127.0.0.0/8", "::1/128"]
)
"""Networks (CIDR) beside the public internet that models may live in. The operator's
decision: a team cannot reach into the site's own network."""
MODEL_PORTS = read_list("MODEL_PORTS")
"""Ports that models may have inside of those networks; none listed: any but those that
databases and other services are known to have."""
WEBHOOK_NETWORKS = (
    read_list("WEBHOOK_NETWORKS")
    if IS_PRODUCTION or is_given("WEBHOOK_NETWORKS")
    else ["127.0.0.0/8", "::1/128"]
)
"""Networks (CIDR) beside the public internet that webhooks may be sent to."""
WEBHOOK_PORTS = read_list("WEBHOOK_PORTS")
"""Ports that receivers may have inside of those networks; as MODEL_PORTS."""
CONDUCTOR_MAX_QUEUE = read_int("CONDUCTOR_MAX_QUEUE", 0)
"""Requests that may wait at a conductor's vLLM; beyond, runs do without a plan of its.
0: any number."""
MAX_ANSWER_CHARACTERS = read_int("MAX_ANSWER_CHARACTERS", 2_000_000)
"""Text, thinking and tool arguments of one call; more of it fails the call."""
STEP_TIME_S = read_int("STEP_TIME_S", 600)
"""Longest a step may take, retries, waits and other workers included."""
WORKER_CONNECT_TIMEOUT_S = read_int("WORKER_CONNECT_TIMEOUT_S", 5)
WORKER_FIRST_BYTE_TIMEOUT_S = read_int("WORKER_FIRST_BYTE_TIMEOUT_S", 60)
WORKER_FIRST_TOKEN_TIMEOUT_S = read_int("WORKER_FIRST_TOKEN_TIMEOUT_S", 20)
"""First token of a worker whose times are not known yet, if another can take over.
0: no limit but those of the first byte and the whole call."""
WORKER_IDLE_TIMEOUT_S = read_int("WORKER_IDLE_TIMEOUT_S", 30)
WORKER_TOTAL_TIMEOUT_S = read_int("WORKER_TOTAL_TIMEOUT_S", 300)

MODEL_CALLS_PER_TEAM = read_int("MODEL_CALLS_PER_TEAM", 8)
"""Tests of models, lists of a provider's models and looks at a conductor's server that
a team may have under way in one process; more are answered with 429."""

PRICE_LIST_URL = read_web_address("PRICE_LIST_URL")
"""Where the list of providers' prices is fetched from, once a day. Empty: nowhere, the
list that came with this version is used."""

CHECKPOINT_DIR = read_text("CHECKPOINT_DIR", str(VAR_DIR / "checkpoints"))
"""Where signed checkpoints of the ledger are copied to, a file for each month. Empty:
the log is their only copy."""
CONDUCTOR_TRAINING_PYTHON = read_text("CONDUCTOR_TRAINING_PYTHON")
"""The Python of the environment that trains conductors. Empty: none are trained."""
CONDUCTOR_TRAINING_DIR = read_text(
    "CONDUCTOR_TRAINING_DIR", str(VAR_DIR / "conductor-trainings")
)
"""Where trainings of conductors have their folders, and the weights stay."""
CONDUCTOR_BASE_MODELS = read_list(
    "CONDUCTOR_BASE_MODELS", ("Qwen/Qwen2.5-7B-Instruct",)
)
"""The models that a training may begin with: folders, or names on the hub."""
CONDUCTOR_TRAINER = "apps.training.trainer"
"""The module that trains, in that environment. Tests have another one."""
RETENTION_DAYS = read_days("RETENTION_DAYS", MIN_DAYS, MAX_DAYS)
"""The retention period of teams that chose none, in days. 0: no limit."""
TEAM_DELETE_CHECK = "apps.governance.services.team_delete_check"
"""What may refuse that a team is deleted."""
MEMBER_GONE = "apps.sharing.services.member_links_end"
"""What ends with a membership, beside keys and invitations."""
CONVERSATIONS_GONE = "apps.sharing.services.conversation_links_end"
"""What ends with conversations that are deleted."""
SHARE_LINKS = read_bool("SHARE_LINKS", default=True)
"""Teams may turn on share links. Off: none works, whatever teams chose."""
SHARE_LINK_LOOKUPS_PER_MINUTE = read_int("SHARE_LINK_LOOKUPS_PER_MINUTE", 60)
"""Share links that one address may open within a minute; further ones get 429. 0: any
number."""

# --- REST API ------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "apps.rest.authentication.KeyAuthentication",
        "apps.rest.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["apps.rest.permissions.HasRight"],
    "DEFAULT_THROTTLE_CLASSES": ["apps.rest.throttles.Rates"],
    "DEFAULT_PARSER_CLASSES": ["apps.rest.parsing.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["apps.rest.rendering.QuickJSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.rest.parsing.JSONAlways",
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "apps.rest.schema.OperationSchema",
    "EXCEPTION_HANDLER": "apps.rest.errors.answer_failure",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = API_DESCRIPTION

# --- Watching it ---------------------------------------------------------------------

METRICS_TOKEN = read_text("METRICS_TOKEN")
"""Who reads `/metrics` sends it as a bearer; empty: this machine alone may."""
METRICS_PORT = read_int("METRICS_PORT", 0)
"""Where worker processes, which have no other address, serve theirs. 0: nowhere."""
OTEL_EXPORTER_OTLP_ENDPOINT = read_text("OTEL_EXPORTER_OTLP_ENDPOINT")
"""A collector of traces (OTLP over HTTP). Empty: no traces are made."""
OTEL_SERVICE_NAME = read_text("OTEL_SERVICE_NAME", "conductor")
"""What traces call this site."""
LOG_FORMAT = read_choice(
    "LOG_FORMAT", ("json", "text") if IS_PRODUCTION else ("text", "json")
)
LOGGING = logging_config(
    form=LOG_FORMAT, level=read_text("LOG_LEVEL", "INFO"), hides=IS_PRODUCTION
)
