"""Actions of governance, of the ledger itself, of batches and webhooks."""

from __future__ import annotations

from collections.abc import Mapping

from deploy.ledger_entry_shapes import (
    AFTER,
    ALERT,
    ALERT_KIND,
    ALERT_NAME,
    CHANGE,
    DIGEST,
    ID,
    REASON,
    REVIEW_ID,
    ROUND,
    RUN_ID,
    SHA256,
    TIME,
    VERSION,
    WEBHOOK_NAME,
    Action,
    count,
    deleted,
    flag,
    mapping,
    or_null,
    text,
    words,
)

PREFERRED = or_null(text("The run of the better answer. null: none is."))
OUTCOME = count("How right the answer is, of 1,000.")

GOVERNANCE_ACTIONS: Mapping[str, Action] = {
    # --- governance ---
    "policy.updated": Action(
        "A team's policy was changed.", "policy", {"version": VERSION, **CHANGE}
    ),
    "site_policy.updated": Action(
        "The rules for all teams were changed.",
        "policy",
        {"version": VERSION, **CHANGE},
    ),
    "approval.granted": Action(
        "A person approved a plan that waits.",
        "run",
        {
            "round": ROUND,
            "plan_digest": DIGEST,
            "approvals": count("People who have approved it."),
            "approvals_needed": count("People who must."),
        },
    ),
    "approval.plan_edited": Action(
        "A person put another plan in the place of one that waits.",
        "run",
        {
            "round": ROUND,
            "previous_digest": DIGEST,
            "plan_digest": DIGEST,
            "workers": words("Of each step of the new plan."),
            "access": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "description": "Places of the steps whose results each step sees.",
            },
        },
        texts=("plan",),
    ),
    "approval.refused": Action(
        "A person refused a plan; its run ends.",
        "run",
        {"round": ROUND, "plan_digest": DIGEST},
        texts=("reason",),
    ),
    "feedback.recorded": Action(
        "Somebody rated an answer, or said how right a verifier found it.",
        "run",
        {
            "rating": or_null(text("up or down; null: the outcome alone.")),
            "previous_rating": or_null(text("null: none.")),
        },
        optional={
            "outcome_thousandths": OUTCOME,
            "outcome_source": text("verifier: a program of the caller."),
        },
        texts=("comment",),
    ),
    "feedback.removed": Action(
        "Somebody took back what they had said of an answer.",
        "run",
        {"previous_rating": or_null(text("up or down; null: none."))},
        optional={"previous_outcome_thousandths": OUTCOME},
    ),
    "comparison.created": Action(
        "Runs were put side by side as a comparison.",
        "comparison",
        {
            "run_ids": words("The runs, from left to right."),
            "models": words("The candidate of each run."),
            "is_blind": flag("What made the answers is hidden before the vote."),
        },
    ),
    "comparison.voted": Action(
        "Somebody said which answer of a comparison is better. The target is its first "
        "run, whose retention the reason has.",
        "run",
        {
            "comparison_id": {**ID, "description": "The comparison."},
            "choice": text("better, tie or none."),
            "preferred_run_id": PREFERRED,
            "previous_choice": or_null(text("null: it is the first vote.")),
            "previous_preferred_run_id": PREFERRED,
        },
        texts=("reason",),
    ),
    "comparison.judge_asked": Action(
        "A worker was asked which answer of a comparison is better.",
        "comparison",
        {
            "judge": text("The model that was asked."),
            "run_ids": words("Its runs: from left to right, and from right to left."),
        },
    ),
    "comparison.judged": Action(
        "What the judge of a comparison said was noted.",
        "comparison",
        {
            "judge": text("The model that was asked."),
            "outcome": text("better, tie, split or failed."),
            "preferred_run_id": PREFERRED,
        },
    ),
    "review.queued": Action(
        "A run was queued for review.",
        "run",
        {"review_id": REVIEW_ID, "reasons": words("Why, as words.")},
    ),
    "review.reserved": Action(
        "A reviewer reserved a run.",
        "run",
        {"review_id": REVIEW_ID, "reserved_until": TIME},
    ),
    "review.released": Action(
        "A reviewer gave a reservation back.", "run", {"review_id": REVIEW_ID}
    ),
    "review.judged": Action(
        "A reviewer gave a verdict.",
        "run",
        {
            "review_id": REVIEW_ID,
            "round": ROUND,
            "place": count("1: the first verdict of the round; 2: the second."),
            "verdict": text("pass, needs_change or fail."),
            "scores": mapping("Of each criterion: 1 to 5, or pass or fail."),
            "agrees": or_null(flag("With the first verdict. null: this is it.")),
        },
        {"is_task": flag("The run is a task for evaluations.")},
        texts=("reason", "right_answer"),
    ),
    "review.requeued": Action(
        "A reviewed run was queued again.",
        "run",
        {
            "review_id": REVIEW_ID,
            "round": ROUND,
            "previous_verdict": text("The verdict until then."),
        },
        texts=("reason",),
    ),
    "review.commented": Action(
        "Somebody commented on a review.",
        "run",
        {"review_id": REVIEW_ID},
        texts=("text",),
    ),
    "review.settings_updated": Action(
        "Rules or rubric of reviews were changed.",
        "review",
        {"version": VERSION, **CHANGE},
    ),
    "retention.updated": Action(
        "The retention period of a team, or its rule for conversations, was changed.",
        "retention",
        CHANGE,
    ),
    "conversations.deleted": Action(
        "Conversations without a turn for so long as the team says were deleted.",
        "team",
        {
            "count": count("Conversations."),
            "ids": words("Of the conversations."),
            "reason": REASON,
        },
    ),
    "legal_hold.placed": Action(
        "Erasure was forbidden, of a run or of the whole team.",
        "legal_hold",
        {"run_id": or_null(RUN_ID), "reason": REASON},
    ),
    "legal_hold.released": Action(
        "A legal hold was lifted.",
        "legal_hold",
        {"run_id": or_null(RUN_ID), "reason": REASON},
    ),
    "sharing.updated": Action(
        "A team changed whether, for how long or up to which data class it shares.",
        "team",
        {
            **CHANGE,
            "links_ended": count("Links that ended with it: it was turned off."),
        },
    ),
    "share_link.created": Action(
        "A member made a link that anyone can read a run or conversation by.",
        "share_link",
        {
            "run_id": or_null(RUN_ID),
            "conversation_id": or_null({**ID, "description": "The conversation."}),
            "expires_at": TIME,
            "has_plan": flag("Plans and steps are shown."),
            "has_name": flag("The name of the member is shown."),
            "data_class": text("The highest class of what is shown."),
        },
        texts=("note",),
    ),
    "share_link.viewed": Action(
        "A link was opened for the first time.",
        "share_link",
        {"views": count("1.")},
    ),
    "share_link.revoked": Action(
        "A link was ended before its time.",
        "share_link",
        {"reason": REASON, "views": count("Views that were counted.")},
    ),
    # --- the ledger itself ---
    "audit.content_erased": Action(
        "Texts of entries were erased.",
        "team",
        {
            "bodies": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "seq": count("Of the entry."),
                        "name": text("Of the text."),
                        "digest": text("As the entry has it."),
                    },
                    "required": ["seq", "name", "digest"],
                    "additionalProperties": False,
                },
                "description": "The texts.",
            },
            "reason": REASON,
        },
    ),
    "audit.verified": Action(
        "The whole chain was verified on request, or it or a run's part had faults.",
        "team",
        optional={
            "run_id": {**RUN_ID, "description": "The run; not of a whole chain."},
            "entries": count("That were read."),
            "bodies": count("Texts that were read."),
            "erased": count("Texts whose erasure is recorded."),
            "checkpoints": count("That were verified."),
            "codes": count("Of entries, that were verified."),
            "end_seq": count("The last entry."),
            "end_hash": text("Its hash."),
            "fault_count": count("Faults in all."),
            "faults": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "seq": {"type": "integer"},
                        "kind": {"type": "string"},
                        "detail": {"type": "string"},
                    },
                    "required": ["seq", "kind", "detail"],
                    "additionalProperties": False,
                },
                "description": "The first of them.",
            },
            "took_ms": count("Milliseconds."),
            "error": text("Why the verification broke off."),
        },
        outcomes=("success", "failure"),
    ),
    "audit.head_accepted": Action(
        "The operator accepted a chain as it stands.",
        "team",
        {"at": count("The last entry until then."), "reason": REASON},
    ),
    "run.exported": Action(
        "The record of a run was exported.",
        "team",
        {
            "run_id": RUN_ID,
            "entries": count("Entries in the file."),
            "checkpoint": count("Entries that the signed tree covers."),
            "sha256": SHA256,
        },
    ),
    "run.tagged": Action(
        "The tags of a run were changed.",
        "run",
        {"added": count("Tags."), "removed": count("Tags.")},
        texts=("tags",),
    ),
    "team.runs_exported": Action(
        "A list of runs was exported.",
        "team",
        {
            "format": text("csv or jsonl."),
            "filters": words(
                "Names of the filters that were set; `selected`: runs were picked."
            ),
        },
    ),
    "ledger_export.requested": Action(
        "An export of the ledger was requested.",
        "ledger_export",
        {
            "format": text("jsonl, csv or bundle."),
            "texts": flag("With texts that are kept apart."),
            "filter": mapping("What was given of the filter."),
            "through": count("The last entry it may hold."),
        },
    ),
    "ledger_export.completed": Action(
        "An export was made, or failed.",
        "ledger_export",
        optional={
            "entries": count("Entries in the file."),
            "bytes": count("Of the file."),
            "sha256": SHA256,
            "error": text("Why there is no file."),
        },
        outcomes=("success", "failure"),
    ),
    "ledger_export.downloaded": Action(
        "Somebody downloaded an export.",
        "ledger_export",
        {"sha256": SHA256, "bytes": count("Of the file.")},
    ),
    "ledger_export.deleted": Action(
        "An export was deleted.",
        "ledger_export",
        {"was_complete": flag("There was a file.")},
    ),
    # --- files and batches ---
    "file.created": Action(
        "A file was uploaded, or made of the results of a batch.",
        "file",
        {
            "purpose": text("As in the API."),
            "bytes": count("Its size."),
            "digest": text("SHA-256 of its content."),
        },
    ),
    "file.deleted": Action(
        "A file was deleted.", "file", {"bytes": count("Its size.")}
    ),
    "batch.created": Action(
        "A batch of requests was started.",
        "batch",
        {
            "endpoint": text("Where its requests go."),
            "input_file": {**ID, "description": "The file with its requests."},
        },
    ),
    "batch.cancelled": Action("A batch was cancelled.", "batch"),
    "batch.ended": Action(
        "A batch ended.",
        "batch",
        {
            "state": text("How."),
            "requests": count("Lines of its file."),
            "completed": count("Requests with an answer."),
            "failed": count("Requests without one."),
        },
    ),
    # --- webhooks ---
    "webhook.created": Action("A webhook was added.", "webhook", {"after": AFTER}),
    "webhook.updated": Action(
        "A webhook was changed.",
        "webhook",
        CHANGE,
        {
            "is_header_replaced": flag("It sends another header."),
            "is_url_replaced": flag("It has another URL."),
        },
    ),
    "webhook.deleted": deleted("A webhook", "webhook"),
    "webhook.secret_rotated": Action(
        "The secret of a webhook was replaced.", "webhook", {"name": WEBHOOK_NAME}
    ),
    "webhook.tested": Action(
        "A test was sent to a webhook.", "webhook", {"name": WEBHOOK_NAME}
    ),
    "webhook.resent": Action(
        "A message was sent again on demand.",
        "webhook",
        {"event_type": text("Of the message."), "entry_seq": count("Its entry.")},
    ),
    "webhook.disabled": Action(
        "The site disabled a webhook that accepts nothing.",
        "webhook",
        {"name": WEBHOOK_NAME, "reason": REASON},
    ),
    "webhook.dropped": Action(
        "Messages were given up.",
        "webhook",
        {
            "name": WEBHOOK_NAME,
            "first_seq": count("The first entry."),
            "last_seq": count("The last entry."),
            "count": count("Events, or entries of a stream."),
        },
    ),
    # --- alerts ---
    "alert.opened": Action("The condition of an alert rule was met.", "alert", ALERT),
    "alert.escalated": Action(
        "An alert that was a warning became critical.", "alert", ALERT
    ),
    "alert.closed": Action(
        "The condition of an alert was over.",
        "alert",
        {**ALERT, "open_s": count("Seconds that it was open.")},
        optional={"reason": REASON},
    ),
    "alert.acknowledged": Action(
        "A person knows of an alert.", "alert", {"kind": ALERT_KIND, "name": ALERT_NAME}
    ),
    "alert.muted": Action(
        "An alert was muted.",
        "alert",
        {
            "kind": ALERT_KIND,
            "name": ALERT_NAME,
            "minutes": count("For how long; 0: not any more."),
        },
    ),
    "alert.tested": Action(
        "A test alert was sent.", "team", {"channel": text("bell, mail or webhook.")}
    ),
    "alert_rule.updated": Action(
        "A rule of alerts was changed.", "alert_rule", {"kind": ALERT_KIND, **CHANGE}
    ),
}
