#!/usr/bin/env bash
# Makes the secret files of the compositions, each once; one that is there is never touched.
#
#   bash deploy/make-secrets.sh [FOLDER]      (default: secrets, beside the compositions)
#
# The folder keeps other users of this machine out (mode 700). The files in it are readable (444), because the processes
# in the containers run as other users and see the mounted file alone, not its folder.
set -euo pipefail
umask 077

folder=${1:-"$(dirname -- "${BASH_SOURCE[0]}")/../secrets"}

random() {
    od -An -N 32 -t x1 /dev/urandom | tr -d ' \n'
}

# Made beside its place and then linked: a link never replaces a file, and a half-written one never counts.
keep() {
    local name=$1 value=$2 made
    if [ -e "$folder/$name" ] || [ -L "$folder/$name" ]; then
        echo "kept $folder/$name"
        return
    fi
    made=$(mktemp "$folder/.new.XXXXXXXX")
    printf '%s\n' "$value" >"$made"
    chmod 444 "$made"
    ln "$made" "$folder/$name"
    rm -f "$made"
    echo "made $folder/$name"
}

mkdir -p "$folder"
chmod 700 "$folder"

keep admin_token "$(random)"
keep s3_secret_key "$(random)"
if [ -e "$folder/database_url" ] && [ ! -e "$folder/database_password" ]; then
    echo "$folder/database_url is there without database_password: write the password of that URL into it." >&2
    exit 1
fi
keep database_password "$(random)"
keep database_url "postgresql+psycopg://assay:$(cat "$folder/database_password")@db/assay"
