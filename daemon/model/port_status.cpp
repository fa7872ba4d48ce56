#include "daemon/model/port_status.h"

namespace rdmaqos {

std::string_view to_string(PortReading reading)
{
    switch (reading) {
    case PortReading::Off:
        return "off";
    case PortReading::None:
        return "none";
    case PortReading::Pending:
        return "pending";
    case PortReading::Read:
        return "read";
    case PortReading::Failed:
        return "failed";
    }
    return "";
}

}    // namespace rdmaqos
