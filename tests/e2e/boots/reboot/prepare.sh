#!/bin/sh
# prepare.sh ROOT: as main.
set -eu
rm -f "$1/etc/systemd/system/dbus.service"
