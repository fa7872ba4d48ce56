#include "lib/dcb/port_keeping.h"

namespace rdmaqos {

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

bool needs_attention(PortKeeping keeping)
{
    return keeping == PortKeeping::Waiting || keeping == PortKeeping::Failed || keeping == PortKeeping::Stopped;
}

}    // namespace rdmaqos
