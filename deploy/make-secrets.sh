#!/usr/bin/env bash
# Creates the missing secret files of the compositions; existing files are never changed.
#
#   bash deploy/make-secrets.sh [FOLDER]      (default: secrets, beside the compositions)
#
# The folder is closed to other users of this machine (mode 700). The files in it are readable (444), because the
# processes in the containers run as other users and see only the mounted file, not its folder.
set -euo pipefail
umask 077

folder=${1:-"$(dirname -- "${BASH_SOURCE[0]}")/../secrets"}

random() {
    od -An -N 32 -t x1 /dev/urandom | tr -d ' \n'
}

# A private Ed25519 key in PEM: the head of PKCS #8 for this algorithm (RFC 8410), then 32 random bytes.
ed25519_key() {
    local head='\060\056\002\001\000\060\005\006\003\053\145\160\004\042\004\040'
    echo "-----BEGIN PRIVATE KEY-----"
    { printf "$head"; head -c 32 /dev/urandom; } | base64
    echo "-----END PRIVATE KEY-----"
}

# Written to a temporary file and then linked: a link never replaces a file, and a partial file never gets the name.
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
    echo "created $folder/$name"
}

mkdir -p "$folder"
chmod 700 "$folder"

keep admin_token "$(random)"
keep log_key "$(ed25519_key)"
keep s3_secret_key "$(random)"
if [ -e "$folder/database_url" ] && [ ! -e "$folder/database_password" ]; then
    echo "$folder/database_url exists without database_password: write the password of that URL to database_password." >&2
    exit 1
fi
keep database_password "$(random)"
keep database_url "postgresql+psycopg://assay:$(cat "$folder/database_password")@db/assay"
