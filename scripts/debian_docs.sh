#!/usr/bin/env bash
# Debian 12's documentation packages for tests/web/test_debian_docs.py: 25 MB, unpacked below output/, nothing is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
place=output/debian-docs
if [ -d "$place" ] || [ ! -f ../shared/data/web_local_qa.jsonl ]; then exit 0; fi
if ! grep -q VERSION_CODENAME=bookworm /etc/os-release; then
  echo "this is not Debian 12: the questions over its documentation are not asked"
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
apt-get -o Acquire::Retries=3 update -qq
(cd "$work" && apt-get -o Acquire::Retries=3 download -qq -o APT::Sandbox::User=root sqlite3-doc postgresql-doc-15 python3.11-doc debian-policy)
for package in "$work"/*.deb; do dpkg -x "$package" "$work/root"; done
mkdir -p output
mv "$work/root" "$place"
