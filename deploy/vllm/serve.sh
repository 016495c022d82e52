#!/bin/sh
# Serves the conductor with vLLM. README.md beside this file has every variable.
#   SERVE_MODEL=/models/conductor deploy/vllm/serve.sh [more options of vLLM]
set -eu

fail() {
    echo "serve.sh: $1" >&2
    exit 2
}

: "${SERVE_MODEL:=}"
: "${SERVE_NAMES:=conductor}"
: "${SERVE_ADAPTERS:=}"
: "${SERVE_MAX_ADAPTER_RANK:=64}"
: "${SERVE_HOST:=127.0.0.1}"
: "${SERVE_PORT:=8100}"
: "${SERVE_MAX_LENGTH:=16384}"
: "${SERVE_GPUS:=1}"
: "${SERVE_GPU_MEMORY:=0.90}"
: "${SERVE_PYTHON:=python3}"

[ -n "$SERVE_MODEL" ] || fail "SERVE_MODEL is not set: a folder, or a name on the hub"
case $SERVE_HOST in
127.* | localhost | ::1) ;;
*)
    # vLLM reads the key from the environment, so no list of processes shows it.
    [ -n "${VLLM_API_KEY:-}" ] ||
        fail "VLLM_API_KEY is not set, and $SERVE_HOST is more than this machine"
    ;;
esac

# Names and adapters are lists of words: they are split on purpose from here on.
# shellcheck disable=SC2086
set -- --served-model-name $SERVE_NAMES "$@"
if [ -n "$SERVE_ADAPTERS" ]; then
    count=0
    for adapter in $SERVE_ADAPTERS; do
        case $adapter in
        ?*=?*) count=$((count + 1)) ;;
        *) fail "SERVE_ADAPTERS: expected name=folder, got $adapter" ;;
        esac
    done
    # shellcheck disable=SC2086
    set -- --enable-lora --max-loras "$count" --max-lora-rank "$SERVE_MAX_ADAPTER_RANK" \
        --lora-modules $SERVE_ADAPTERS "$@"
fi

# Turn off the usage statistics that vLLM sends to its developers.
export VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1

# guidance: the default back end lets raw control characters into strings of some
# schemas. No free whitespace: with it, greedy decoding can produce blanks until the limit.
exec "$SERVE_PYTHON" -m vllm.entrypoints.openai.api_server \
    --model "$SERVE_MODEL" \
    --host "$SERVE_HOST" --port "$SERVE_PORT" \
    --max-model-len "$SERVE_MAX_LENGTH" \
    --tensor-parallel-size "$SERVE_GPUS" \
    --gpu-memory-utilization "$SERVE_GPU_MEMORY" \
    --enable-prefix-caching \
    --structured-outputs-config '{"backend":"guidance","disable_any_whitespace":true}' \
    "$@"
