#include "daemon/port_classes/port_kernel.h"

namespace rdmaqos {

std::string how_to_allow_ports()
{
    return "`install -D -m 644 " RDMAQOS_DATA_DIR "/port-classes.conf "
           "/etc/systemd/system/rdma-qosd.service.d/port-classes.conf && systemctl daemon-reload && systemctl restart "
           "rdma-qosd` gives it this capability";
}

}    // namespace rdmaqos
