#!/bin/sh
# prepare.sh ROOT: as main, with the daemon of the packages of --previous (boot.sh), and those of --packages beside it.
set -eu
rm -f "$1/etc/systemd/system/dbus.service"
