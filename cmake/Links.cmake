# Included by the install script, which sets etc, data and lib: says with which links the system finds what is below a
# prefix that it does not know.
cmake_policy(VERSION 3.25)

set(folders "")
set(links "")
# rdmaqos_link(FILE PLACE): a link to FILE in PLACE, unless the folder of FILE is `known` to be looked into.
macro(rdmaqos_link file place)
    get_filename_component(folder ${file} DIRECTORY)
    if(NOT folder IN_LIST known)
        list(APPEND folders ${place})
        list(APPEND links "ln -sf ${file} ${place}/")
    endif()
endmacro()

set(known /usr/lib/systemd/system /usr/local/lib/systemd/system /lib/systemd/system)
rdmaqos_link("${lib}/systemd/system/rdma-qosd.service" /etc/systemd/system)
set(known /usr/lib/systemd/catalog /usr/local/lib/systemd/catalog)
rdmaqos_link("${lib}/systemd/catalog/rdma-qosd.catalog" /usr/local/lib/systemd/catalog)
set(known /usr/lib/udev/rules.d /usr/local/lib/udev/rules.d /lib/udev/rules.d)
rdmaqos_link("${lib}/udev/rules.d/90-rdma-qosd.rules" /etc/udev/rules.d)
set(known /usr/share/dbus-1/system.d)
rdmaqos_link("${data}/dbus-1/system.d/org.rdmaqos1.conf" /etc/dbus-1/system.d)
set(known /usr/share/dbus-1/system-services /usr/local/share/dbus-1/system-services)
rdmaqos_link("${data}/dbus-1/system-services/org.rdmaqos1.service" /usr/local/share/dbus-1/system-services)
set(known /usr/share/polkit-1/actions)
rdmaqos_link("${data}/polkit-1/actions/org.rdmaqos1.policy" /usr/share/polkit-1/actions)
# The programs read /etc/rdma-qos, whatever the prefix is.
if(NOT etc STREQUAL /etc)
    list(APPEND links "ln -sT ${etc}/rdma-qos /etc/rdma-qos")
endif()

if(links)
    list(JOIN folders " " folders)
    list(JOIN links "\n  " links)
    message("
The system looks for some of these files in other places. So that it finds them, as root:
  mkdir -p ${folders}
  ${links}
  systemctl daemon-reload; systemctl reload dbus; udevadm control --reload; journalctl --update-catalog
")
endif()
