#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The agent-supervisor authors
#
# Installs the Debian packages named as arguments that are missing. Directly as root, through sudo
# otherwise; where neither works it names them and fails.
set -eu

missing=
for package in "$@"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] && continue
    # vim-tiny and nodejs may be there under another name
    case $package in
    vim-tiny) command -v vim >/dev/null 2>&1 && continue ;;
    nodejs) command -v node >/dev/null 2>&1 && continue ;;
    npm) command -v npm >/dev/null 2>&1 && continue ;;
    golang-go) command -v go >/dev/null 2>&1 && continue ;;
    pkg-config) command -v pkg-config >/dev/null 2>&1 && continue ;;
    esac
    missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "missing packages (Debian names):$missing" >&2
    echo "this system has no apt-get: install them with its own package manager, then run make again" >&2
    exit 1
fi
echo "installing:$missing" >&2
if [ "$(id -u)" -eq 0 ]; then
    run=
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    run='sudo -n'
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
    run=sudo
else
    echo "not root, and sudo cannot be used here; as root run: apt-get install$missing" >&2
    exit 1
fi
$run apt-get update -q >&2
# shellcheck disable=SC2086
$run env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing >&2
