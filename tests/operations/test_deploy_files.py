"""The files of deploy/ agree with the product and with each other, without Docker."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

from apps.core.keyring import seal, unseal
from conductor_site.environment import read_list, read_text, read_url
from conductor_site.health import PATHS
from conductor_site.shutdown_deadline import CLOSE_S
from tests.operations.deploying import (
    DEPLOY,
    ROOT,
    documents,
    known_variables,
    manifests,
    stages,
)

[COMPOSE] = documents(DEPLOY / "compose.yaml")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = {n: s for n, s in SERVICES.items() if "CONDUCTOR_IMAGE" in s["image"]}
CADDYFILE = (DEPLOY / "Caddyfile").read_text("utf-8")
OBJECTS = [document for _, document in manifests()]
[JOB] = documents(DEPLOY / "kubernetes/migrate/job.yaml")
PODS = {
    o["metadata"]["name"]: o["spec"]["template"]["spec"]
    for o in [*OBJECTS, JOB]
    if o["kind"] in {"Deployment", "Job"}
}
CONFIG = next(o for o in OBJECTS if o["kind"] == "ConfigMap")["data"]
SECRET = next(o for o in OBJECTS if o["kind"] == "Secret")["stringData"]


def resolve(command: list[str]) -> None:
    """Fail unless a command of ours can be run."""
    assert command[0] == "python"
    if command[1] == "-m":
        spec = find_spec(command[2])
        assert spec is not None
        assert spec.submodule_search_locations is None or find_spec(
            f"{command[2]}.__main__"
        )
    else:
        assert command[1] == "manage.py"
        assert command[2] in get_commands()


def seconds(text: str) -> int:
    return int(text.removesuffix("s"))


# --- the image -----------------------------------------------------------------------


def test_the_image_installs_by_hash_and_compiles_nothing():
    build, final = stages()
    installs = [step.rest for step in build if "pip install" in step.rest]
    assert len(installs) == 3
    for install in installs:
        assert "--require-hashes --only-binary :all: -r requirements" in install
    assert not [s for s in [*build, *final] if "apt-get" in s.rest or s.word == "ADD"]
    done = [s.rest for s in final if s.word == "RUN"]
    assert {rest.split()[0] for rest in done} == {"python", "useradd", "install"}
    assert "python -m pip uninstall --yes pip setuptools wheel" in done


def test_the_image_runs_as_nobody_in_particular_and_in_production():
    final = stages()[-1]
    assert final.only("USER") == "10001:10001"
    assert final.variables["CONDUCTOR_ENV"] == "production"
    ours = {n for n in final.variables if n != "PATH" and not n.startswith("PYTHON")}
    assert ours <= known_variables()


def test_the_image_starts_the_site():
    command = re.findall(r'"([^"]*)"', stages()[-1].only("CMD"))
    resolve(command)
    assert command[-1] == stages()[-1].only("EXPOSE")


def test_what_is_copied_exists_and_is_sent_to_the_builder():
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    copies = [s.rest.split() for s in stages()[0] if s.word == "COPY"]
    for source in [name for copy in copies for name in copy[:-1]]:
        assert (ROOT / source).exists()
        assert source.split("/")[0] in sent


# --- compose -------------------------------------------------------------------------


def test_there_is_everything_a_site_needs():
    assert set(OWN) == {"web-1", "web-2", "worker", "beat", "migrate"}
    assert set(SERVICES) - set(OWN) == {"proxy", "postgres", "redis", "vllm"}
    assert SERVICES["vllm"]["profiles"] == ["gpu"]


@pytest.mark.parametrize("name", OWN)
def test_own_services_are_known_and_confined(name):
    service = OWN[name]
    resolve(service["command"])
    assert set(service["environment"]) <= known_variables()
    assert service["read_only"]
    assert service["user"] == stages()[-1].only("USER")
    assert service["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_gain_privileges(name):
    """T15: those of others too."""
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert "ipc" not in service
    assert service.get("read_only") or name == "vllm"


@pytest.mark.parametrize("name", set(SERVICES) - set(OWN))
def test_foreign_images_have_an_exact_version_and_may_be_pinned(name):
    """T15: a tag that moves is another program tomorrow."""
    assert re.fullmatch(
        r"\$\{[A-Z]+_IMAGE:-[a-z/-]+:v?\d+\.\d+(\.\d+)?(-alpine)?\}",
        SERVICES[name]["image"],
    )


@pytest.mark.parametrize("name", ["inner", "models"])
def test_closed_networks_lead_neither_out_nor_to_the_machine(name):
    """T15: with a gateway the machine's own services could be reached by it."""
    assert COMPOSE["networks"][name] == {
        "internal": True,
        "driver_opts": {"com.docker.network.bridge.gateway_mode_ipv4": "isolated"},
    }


def test_services_have_no_way_out():
    """T15: what holds the data cannot send it anywhere."""
    for name in ("postgres", "redis", "beat", "migrate"):
        assert SERVICES[name]["networks"] == ["inner"]
        assert "ports" not in SERVICES[name]


def test_vllm_reaches_neither_the_data_nor_anything_outside():
    """T15: Redis asks for no password, and vLLM is much code of others."""
    assert SERVICES["vllm"]["networks"] == ["models"]
    assert "ports" not in SERVICES["vllm"]
    for name in ("web-1", "web-2", "worker"):
        assert SERVICES[name]["networks"] == ["inner", "models", "outer"]


def test_the_proxy_alone_keeps_a_capability():
    """T15: it listens below port 1024. PostgreSQL begins as its own user."""
    kept = {n: s["cap_add"] for n, s in SERVICES.items() if "cap_add" in s}
    assert kept == {"proxy": ["NET_BIND_SERVICE"]}
    assert SERVICES["postgres"]["user"] == "70:70"


def test_one_service_makes_the_image_before_the_others_start():
    assert [name for name in OWN if "build" in OWN[name]] == ["migrate"]
    build = OWN["migrate"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).exists()
    for name in set(OWN) - {"migrate"}:
        waits_for = OWN[name]["depends_on"]["migrate"]
        assert waits_for == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", OWN)
def test_checkpoints_outlive_the_container_and_can_be_written(name):
    folder = OWN[name]["environment"]["CHECKPOINT_DIR"]
    assert OWN[name]["volumes"] == [f"checkpoints:{folder}"]
    made = "install --directory --owner 10001 --group 10001 " + folder
    assert made in [s.rest for s in stages()[-1] if s.word == "RUN"]


def test_every_variable_can_be_set_in_a_file_that_is_not_for_a_repository():
    for service in OWN.values():
        assert service["env_file"] == [{"path": ".env", "required": False}]
    ignored = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert {"/deploy/.env", "/deploy/secrets/"} <= set(ignored)


@pytest.mark.parametrize("name", SERVICES)
def test_what_services_name_is_there(name):
    service = SERVICES[name]
    assert set(service.get("depends_on", {})) <= set(SERVICES)
    assert set(service["networks"]) <= set(COMPOSE["networks"])
    assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])
    for mount in service.get("volumes", []):
        source = mount.split(":")[0]
        if source.startswith("./"):
            assert (DEPLOY / source).exists()
        elif not source.startswith("$"):
            assert source in COMPOSE["volumes"]


@pytest.mark.parametrize("name", OWN)
def test_secrets_come_from_files_that_are_mounted(name):
    variables = OWN[name]["environment"].items()
    files = [value for name, value in variables if name.endswith("_FILE")]
    assert {f"/run/secrets/{s}" for s in OWN[name]["secrets"]} == set(files)


def test_the_proxy_knows_the_processes_and_asks_whether_they_are_ready():
    upstreams = re.findall(r"reverse_proxy ([^{]+)", CADDYFILE)[0].split()
    web = {n: s for n, s in OWN.items() if n.startswith("web-")}
    assert upstreams == [f"{n}:{s['command'][-1]}" for n, s in web.items()]
    assert re.findall(r"health_uri (\S+)", CADDYFILE) == ["/readyz"]
    interval_s = seconds(re.findall(r"health_interval (\w+)", CADDYFILE)[0])
    for service in web.values():
        assert int(service["environment"]["WEB_NOTICE_S"]) > 2 * interval_s
        assert "/readyz" in service["healthcheck"]["test"][-1]
        assert "ports" not in service


def test_the_proxy_takes_what_the_site_takes_and_says_so_of_more(settings):
    [limit] = re.findall(r"max_size (\d+)MB", CADDYFILE)
    largest = max(settings.MAX_REQUEST_BYTES, settings.MAX_FILE_BYTES)
    assert int(limit) * 1_000_000 > largest
    assert CADDYFILE.count(f"larger than {limit} MB") == 1
    assert CADDYFILE.count(f"longer than {limit} MB") == 1


def test_what_the_proxy_says_to_programs_has_the_shape_of_both_apis():
    told = [json.loads(t) for t in re.findall(r"respond @api `(.*)`", CADDYFILE)]
    assert len(told) == 2
    for answer in told:
        assert set(answer) == {"error"}
        assert set(answer["error"]) == {"message", "type", "param", "code"}


def test_the_proxy_compresses_nothing_but_files(settings):
    assert re.findall(r"encode (.*)", CADDYFILE) == ["@files gzip"]
    [path] = re.findall(r"@files path (.*)", CADDYFILE)
    assert path == f"{settings.STATIC_URL}*"


def test_the_proxy_sees_who_comes_by_ipv6():
    [network] = SERVICES["proxy"]["networks"]
    assert COMPOSE["networks"][network] == {"enable_ipv6": "${SITE_IPV6:-true}"}


def test_processes_have_the_time_they_take_to_stop():
    for name in ("web-1", "web-2"):
        values = OWN[name]["environment"]
        needed_s = int(values["WEB_NOTICE_S"]) + int(values["WEB_DRAIN_S"]) + CLOSE_S
        assert seconds(OWN[name]["stop_grace_period"]) > needed_s
    drain_s = int(OWN["worker"]["environment"]["WORKER_DRAIN_S"])
    assert seconds(OWN["worker"]["stop_grace_period"]) > drain_s + CLOSE_S


def test_docker_compose_takes_the_file(tmp_path):
    docker = shutil.which("docker")
    probe = [docker or "docker", "compose", "version"]
    if docker is None or subprocess.run(probe, capture_output=True).returncode:
        pytest.skip("there is no docker compose here")
    subprocess.run(
        [docker, "compose", "-f", "deploy/compose.yaml", "config", "--quiet"],
        cwd=ROOT,
        env={**os.environ, "SITE_HOST": "conductor.example"},
        check=True,
    )


# --- secrets -------------------------------------------------------------------------


def make_secrets(folder: Path) -> dict[str, str]:
    command = ["sh", str(DEPLOY / "make_secrets.sh"), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_secrets_are_made_once_and_can_be_used(tmp_path, monkeypatch, settings):
    folder = tmp_path / "secrets"
    made = make_secrets(folder)
    assert {s["file"] for s in COMPOSE["secrets"].values()} == {
        f"./secrets/{name}" for name in made
    }
    assert folder.stat().st_mode & 0o077 == 0
    for name, variable in (
        ("secret_key", "SECRET_KEY_FILE"),
        ("encryption_keys", "CONDUCTOR_ENCRYPTION_KEYS_FILE"),
        ("database_url", "DATABASE_URL_FILE"),
    ):
        monkeypatch.setenv(variable, str(folder / name))
    assert len(read_text("SECRET_KEY")) >= 50
    assert made["database_password"].strip() in read_url("DATABASE_URL", ("postgres",))
    settings.ENCRYPTION_KEYS = read_list("CONDUCTOR_ENCRYPTION_KEYS")
    assert unseal(seal(b"text", context=b"here"), context=b"here") == b"text"
    assert make_secrets(folder) == made


# --- Kubernetes ----------------------------------------------------------------------


def test_kubernetes_has_every_process():
    assert set(PODS) == {"web", "worker", "beat", "migrate"}
    kinds = {o["kind"] for o in OBJECTS}
    assert {"Service", "Ingress", "PodDisruptionBudget", "ConfigMap"} <= kinds


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/migrate"])
def test_the_kustomization_names_files_and_images_that_are_there(folder):
    [kustomization] = documents(DEPLOY / folder / "kustomization.yaml")
    for resource in kustomization["resources"]:
        assert (DEPLOY / folder / resource).exists()
        assert "example" not in resource
    named = {image["name"] for image in kustomization["images"]}
    assert {c["image"] for pod in PODS.values() for c in pod["containers"]} == named


@pytest.mark.parametrize("name", PODS)
def test_pods_are_known_and_confined(name):
    pod = PODS[name]
    [container] = pod["containers"]
    resolve(container["command"])
    assert {v["name"] for v in container.get("env", [])} <= known_variables()
    sources = [next(iter(source.values()))["name"] for source in container["envFrom"]]
    assert sources == ["conductor", "conductor"]
    user = pod["securityContext"]
    assert f"{user['runAsUser']}:{user['runAsGroup']}" == stages()[-1].only("USER")
    assert user["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_kubernetes_sets_only_known_variables_and_no_secret():
    assert {*CONFIG, *SECRET} <= known_variables()
    assert not set(CONFIG) & set(SECRET)
    assert set(SECRET.values()) == {""}


def test_probes_ask_what_is_answered():
    [container] = PODS["web"]["containers"]
    paths = {
        kind: container[f"{kind}Probe"]["httpGet"]["path"]
        for kind in ("startup", "readiness", "liveness")
    }
    assert set(paths.values()) == PATHS
    # A process that is alive and not ready must not be restarted for it.
    assert paths["liveness"] == "/healthz"
    assert paths["readiness"] == "/readyz"
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": int(container["command"][-1])}


def test_pods_have_the_time_they_take_to_stop():
    [web] = PODS["web"]["containers"]
    noticed_s = web["readinessProbe"]["periodSeconds"]
    assert int(CONFIG["WEB_NOTICE_S"]) > 2 * noticed_s
    needed_s = int(CONFIG["WEB_NOTICE_S"]) + int(CONFIG["WEB_DRAIN_S"]) + CLOSE_S
    assert PODS["web"]["terminationGracePeriodSeconds"] > needed_s
    needed_s = int(CONFIG["WORKER_DRAIN_S"]) + CLOSE_S
    assert PODS["worker"]["terminationGracePeriodSeconds"] > needed_s


def test_selectors_find_the_pods():
    labels = [
        o["spec"]["template"]["metadata"]["labels"]
        for o in OBJECTS
        if o["kind"] == "Deployment"
    ]
    for o in OBJECTS:
        selector = o.get("spec", {}).get("selector", {})
        wanted = selector.get("matchLabels", selector)
        if wanted:
            assert wanted in labels
    [service] = [o for o in OBJECTS if o["kind"] == "Service"]
    assert service["spec"]["ports"][0]["targetPort"] == "http"
    [ingress] = [o for o in OBJECTS if o["kind"] == "Ingress"]
    [path] = ingress["spec"]["rules"][0]["http"]["paths"]
    assert path["backend"]["service"]["name"] == service["metadata"]["name"]
    assert ingress["spec"]["rules"][0]["host"] in CONFIG["ALLOWED_HOSTS"].split(",")


@pytest.mark.parametrize("folder", ["kubernetes", "kubernetes/migrate"])
def test_kustomize_takes_the_folder(folder):
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl here")
    made = subprocess.run(
        [kubectl, "kustomize", str(DEPLOY / folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "image: registry.example/conductor:0.1.0" in made.stdout


# --- the page ------------------------------------------------------------------------


def test_the_way_to_production_names_every_variable():
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    of_the_demo = {"CONDUCTOR_DEMO", "PORT", "SIMULATOR_PORT"}
    wanted = {v for v in known_variables() if not v.endswith("_FILE")} - of_the_demo
    assert {name for name in wanted if f"`{name}" not in page} == set()
