"""What planners learn from: the team's consent, how much there is, and its file."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.rights import EXPORT_LEARNING, MANAGE_LEARNING, READ_LEARNING
from apps.rest.fields import Flag, Input, Output, Query, Time, Whole
from apps.rest.schema import operation
from apps.rest.views import RestView
from apps.training.models import HALF_LIFE_ANSWERS, TrainingSettings
from apps.training.selectors import FEWEST_RUNS, learning_counts, training_settings
from apps.training.services import (
    FILE_TYPE,
    LEAST_HALF_LIFE,
    MOST_EXPLORED,
    MOST_HALF_LIFE,
    learning_export,
    training_settings_replace,
)
from apps.web.downloads import download

TAG = "Learning"
CONSENT_HELP = (
    "Planners also learn from runs that people and API keys asked for, if these were "
    "rated, verified or reviewed. Evaluations are the team's own tests: they need no "
    "consent."
)
EXPLORED_HELP = (
    "Percent of the requests to tiers of light planners that try a plan near the best "
    "one, 0 to 20. It has an effect only with `learns_from_requests`."
)
TRUST_HELP = (
    "Outcomes that programs verified weigh more than ratings: those of one key as much "
    "as 500 runs and a quarter of all weight, at most, instead of 50 and a twentieth. "
    "It has an effect only with `learns_from_requests`."
)
HALF_LIFE_HELP = (
    "Graded answers of a worker in one kind of prompts after which its earlier ones "
    "count half, in what planners learn between trainings: 10 to 1,000,000."
)
SETTINGS: dict[str, Any] = {
    "learns_from_requests": True,
    "explored_percent": 5,
    "trusts_verified_outcomes": False,
    "half_life_answers": 50,
    "updated_at": "2026-11-25T15:53:16.000000Z",
    "updated_by": "Alice",
}
DATA: dict[str, Any] = {
    "fewest_runs": FEWEST_RUNS,
    "pools": [
        {
            "pool": "default",
            "runs": 480,
            "graded_steps": 950,
            "weight": 480.0,
            "missing_runs": 20,
            "explored_requests": 0,
            "former_runs": 0,
            "counts": [
                {
                    "source": "verifier",
                    "family": "sums",
                    "runs": 480,
                    "graded_steps": 950,
                    "explored": 0,
                }
            ],
        }
    ],
}


class LearningSettingsInput(Input):
    """What the team decides."""

    learns_from_requests = Flag(help_text=CONSENT_HELP)
    explored_percent = Whole(
        required=False, default=0, max_value=MOST_EXPLORED, help_text=EXPLORED_HELP
    )
    trusts_verified_outcomes = Flag(required=False, default=False, help_text=TRUST_HELP)
    half_life_answers = Whole(
        required=False,
        default=HALF_LIFE_ANSWERS,
        min_value=LEAST_HALF_LIFE,
        max_value=MOST_HALF_LIFE,
        help_text=HALF_LIFE_HELP,
    )


class LearningSettingsOutput(Output):
    """What the team has decided."""

    learns_from_requests = serializers.BooleanField(help_text=CONSENT_HELP)
    explored_percent = serializers.IntegerField(help_text=EXPLORED_HELP)
    trusts_verified_outcomes = serializers.BooleanField(help_text=TRUST_HELP)
    half_life_answers = serializers.IntegerField(help_text=HALF_LIFE_HELP)
    updated_at = Time(allow_null=True, help_text="null: nobody has decided yet.")
    updated_by = serializers.CharField(allow_null=True)


class LearningCountOutput(Output):
    """Graded runs of one source and family."""

    source = serializers.CharField(  # type: ignore[assignment]
        help_text="verifier, reviewer, client or feedback."
    )
    family = serializers.CharField(help_text="Empty: the runs are of no evaluation.")
    runs = serializers.IntegerField()
    graded_steps = serializers.IntegerField(help_text="Last steps included.")
    explored = serializers.IntegerField(
        help_text="Requests among the runs that tried a plan near the best one."
    )


class PoolLearningOutput(Output):
    """What there is to learn from for one pool."""

    pool = serializers.CharField()
    runs = serializers.IntegerField(help_text="That have a grade.")
    graded_steps = serializers.IntegerField()
    weight = serializers.FloatField(
        help_text="Less than `runs` if a few people or keys asked for most of them."
    )
    missing_runs = serializers.IntegerField(
        help_text="That a planner still needs. 0: one can be fitted."
    )
    explored_requests = serializers.IntegerField(
        help_text="That tried a plan near the best one, graded or not."
    )
    former_runs = serializers.IntegerField(
        help_text="Of `runs`, those in which a worker was another model than it is "
        "now, or had other parameters; its part in them counts little."
    )
    counts = LearningCountOutput(many=True)


class LearningDataOutput(Output):
    """What there is to learn from."""

    fewest_runs = serializers.IntegerField(help_text="That a planner is fitted on.")
    pools = PoolLearningOutput(many=True)


class LearningExportQuery(Query):
    """Of which pool."""

    pool = serializers.CharField(
        required=False, max_length=100, help_text="Without it: the default pool."
    )


class LearningSettingsView(RestView):
    """The team's consent."""

    tag = TAG
    rights = {"GET": READ_LEARNING, "PUT": MANAGE_LEARNING}

    @operation(
        "learning_settings_get",
        "Read what planners may learn from",
        answer=LearningSettingsOutput,
        example=SETTINGS,
    )
    def get(self, request: Request) -> Response:
        """Return the team's choice; one that has made none has not consented."""
        return _shown(training_settings(self.principal.team_id))

    @operation(
        "learning_settings_replace",
        "Change what planners may learn from",
        body=LearningSettingsInput,
        answer=LearningSettingsOutput,
        sent={"learns_from_requests": True, "explored_percent": 5},
        example=SETTINGS,
    )
    def put(self, request: Request) -> Response:
        """Put the choice in force from the next fit on, and for requests at once.

        Only people may change it.
        """
        return _shown(
            training_settings_replace(
                team=self.principal.team,
                values=self.read(LearningSettingsInput),
                actor=self.principal.actor,
            )
        )


class LearningData(RestView):
    """How much there is to learn from."""

    tag = TAG
    rights = {"GET": READ_LEARNING}

    @operation(
        "learning_data_get",
        "Count what planners can learn from",
        answer=LearningDataOutput,
        example=DATA,
    )
    def get(self, request: Request) -> Response:
        """Return graded runs and steps by pool, source and family."""
        counts = {
            "fewest_runs": FEWEST_RUNS,
            "pools": learning_counts(self.principal.team_id),
        }
        return Response(LearningDataOutput(counts).data)


class LearningExportView(RestView):
    """What planners learn from, as a file."""

    tag = TAG
    rights = {"GET": EXPORT_LEARNING}

    @operation(
        "learning_export",
        "Download what planners learn from",
        query=LearningExportQuery,
        file_type=FILE_TYPE,
    )
    def get(self, request: Request) -> HttpResponseBase:
        """Return a ZIP file of Parquet files, with prompts, and their data card.

        Each download is recorded in the ledger.
        """
        principal = self.principal
        asked = self.read_query(LearningExportQuery)
        export = learning_export(
            team=principal.team, pool=asked.get("pool"), actor=principal.actor
        )
        own = request._request
        return download(own, export.parts, name=export.name, kind=FILE_TYPE)


def _shown(settings: TrainingSettings) -> Response:
    shown = {
        "learns_from_requests": settings.learns_from_requests,
        "explored_percent": settings.explored_percent,
        "trusts_verified_outcomes": settings.trusts_verified_outcomes,
        "half_life_answers": settings.half_life_answers,
        "updated_at": settings.updated_at,
        "updated_by": settings.actor_name or None,
    }
    return Response(LearningSettingsOutput(shown).data)
