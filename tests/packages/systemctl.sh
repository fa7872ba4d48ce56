#!/bin/sh
# Plays systemctl for maintainer scripts: notes what they want of it, and knows whether the service runs and is enabled. As on
# Debian, what is installed is enabled.
link=/etc/systemd/system/multi-user.target.wants/rdma-qosd.service
case " $* " in
    *" is-active "*) test -e /srv/running ;;
    *" is-enabled "*) test -L $link && echo enabled ;;
    *" preset "*) mkdir -p ${link%/*} && ln -sf /lib/systemd/system/rdma-qosd.service $link ;;
    *" start "* | *" restart "*) touch /srv/running && echo "$*" >>/srv/systemctl.log ;;
    *" stop "*) rm -f /srv/running && echo "$*" >>/srv/systemctl.log ;;
    *) echo "$*" >>/srv/systemctl.log ;;
esac
