#!/bin/sh
# prepare.sh ROOT: dbus-broker instead of dbus-daemon, as its package sets it up.
set -eu
ln -sf /usr/lib/systemd/system/dbus-broker.service "$1/etc/systemd/system/dbus.service"
