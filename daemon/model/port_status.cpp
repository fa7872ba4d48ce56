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

std::string_view to_string(PortKeeping keeping)
{
    switch (keeping) {
    case PortKeeping::Off:
        return "off";
    case PortKeeping::Pending:
        return "pending";
    case PortKeeping::Kept:
        return "kept";
    case PortKeeping::LeftAlone:
        return "left-alone";
    case PortKeeping::Waiting:
        return "waiting";
    case PortKeeping::Failed:
        return "failed";
    case PortKeeping::Stopped:
        return "stopped";
    }
    return "";
}

}    // namespace rdmaqos
