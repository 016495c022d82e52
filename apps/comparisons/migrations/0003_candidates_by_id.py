from django.db import migrations, models

DEFAULT_TIERS = {"conductor-mini": "mini", "conductor-ultra": "ultra"}


def _names(rows):
    return {(team_id, name): str(pk) for pk, team_id, name in rows}


def _key(team_id, model, workers, pools, defaults):
    parts = model.split("/")
    worker = parts[-1] if len(parts) > 1 and parts[-2] == "worker" else ""
    if worker:
        pk = workers.get((team_id, worker))
        return f"worker {pk}" if pk else f"name {model}"
    tier = DEFAULT_TIERS.get(model, parts[-1])
    pk = defaults.get(team_id) if model in DEFAULT_TIERS else pools.get((team_id, parts[0]))
    return f"tier {tier} {pk}" if pk else f"name {model}"


def name_candidates(apps, schema_editor):
    """Find the candidates of answers by the names that they have today."""
    Answer = apps.get_model("comparisons", "ComparedAnswer")
    Pool, Worker = apps.get_model("pools", "Pool"), apps.get_model("pools", "Worker")
    workers = _names(Worker.objects.values_list("id", "team_id", "name"))
    pools = _names(Pool.objects.values_list("id", "team_id", "name"))
    defaults = {
        team_id: str(pk)
        for pk, team_id in Pool.objects.filter(is_default=True).values_list("id", "team_id")
    }
    pairs = Answer.objects.order_by().values_list("comparison__team_id", "model")
    for team_id, model in pairs.distinct():
        key = _key(team_id, model, workers, pools, defaults)
        rows = Answer.objects.filter(comparison__team_id=team_id, model=model)
        rows.update(candidate=key)


class Migration(migrations.Migration):
    dependencies = [
        ("comparisons", "0002_same_prompts_and_blind_votes"),
        ("pools", "0023_versions_with_styles_and_delegation"),
    ]

    operations = [
        migrations.AddField(
            model_name="comparedanswer",
            name="candidate",
            field=models.CharField(default="", max_length=250),
            preserve_default=False,
        ),
        migrations.RunPython(name_candidates, migrations.RunPython.noop),
    ]
