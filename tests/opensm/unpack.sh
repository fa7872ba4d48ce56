#!/bin/bash
# unpack.sh ARCHIVE DIRECTORY: the cases of the archive as DIRECTORY/NAME, in place of what was there.
set -euo pipefail
rm -rf "$2"
mkdir -p "$2"
tar -xJf "$1" --strip-components=1 -C "$2"
