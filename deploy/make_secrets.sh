#!/bin/sh
# Makes the secrets that compose.yaml mounts, in deploy/secrets. Keeps those it finds:
# without its encryption keys a database is lost. Keep a copy apart from its backups.
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"

random() { # bytes
    head -c "$1" /dev/urandom | base64 | tr -d '\n'
}

put() { # name, text
    if [ -s "$folder/$1" ]; then
        echo "kept  $folder/$1"
        return
    fi
    printf '%s\n' "$2" >"$folder/$1"
    # The folder is closed; the file is read by another user inside a container.
    chmod 444 "$folder/$1"
    echo "made  $folder/$1"
}

put secret_key "$(random 48)"
put encryption_keys "k1:$(random 32)"
put metrics_token "$(random 24)"
# Part of a URL, so letters and digits only.
put database_password "$(random 36 | tr -d '+/=')"
put database_url "postgres://conductor:$(cat "$folder/database_password")@postgres:5432/conductor"
