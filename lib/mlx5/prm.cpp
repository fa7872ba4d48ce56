#include "lib/mlx5/prm.h"

namespace rdmaqos::mlx5 {

std::uint64_t get(std::span<const std::uint8_t> mailbox, Field field)
{
    std::uint64_t value = 0;
    for (std::size_t bit = field.offset; bit < field.offset + field.width; ++bit) {
        const std::size_t byte = bit / 8;
        const unsigned digit = byte < mailbox.size() ? (mailbox[byte] >> (7 - bit % 8)) & 1U : 0U;
        value = (value << 1) | digit;
    }
    return value;
}

void set(std::span<std::uint8_t> mailbox, Field field, std::uint64_t value)
{
    for (std::size_t at = 0; at < field.width; ++at) {
        const std::size_t bit = field.offset + field.width - 1 - at;
        if (bit / 8 >= mailbox.size()) {
            continue;
        }
        const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8));
        std::uint8_t& byte = mailbox[bit / 8];
        byte = static_cast<std::uint8_t>((value >> at & 1U) != 0 ? byte | mask : byte & ~mask);
    }
}

std::string_view prm::name_of(std::uint64_t opcode)
{
    switch (opcode) {
    case QueryHcaCap:
        return "query-hca-cap";
    case QueryLag:
        return "query-lag";
    case CreateQp:
        return "create-qp";
    case DestroyQp:
        return "destroy-qp";
    case Rst2Init:
        return "rst2init-qp";
    case Init2Rtr:
        return "init2rtr-qp";
    case Rtr2Rts:
        return "rtr2rts-qp";
    case Rts2Rts:
        return "rts2rts-qp";
    case Sqerr2Rts:
        return "sqerr2rts-qp";
    case Qp2Err:
        return "2err-qp";
    case Qp2Rst:
        return "2rst-qp";
    case QueryQp:
        return "query-qp";
    case Init2Init:
        return "init2init-qp";
    case ModifySq:
        return "modify-sq";
    case CreateSchedulingElement:
        return "create-scheduling-element";
    case DestroySchedulingElement:
        return "destroy-scheduling-element";
    case QuerySchedulingElement:
        return "query-scheduling-element";
    case ModifySchedulingElement:
        return "modify-scheduling-element";
    case CreateGeneralObject:
        return "create-general-object";
    case ModifyGeneralObject:
        return "modify-general-object";
    case QueryGeneralObject:
        return "query-general-object";
    case DestroyGeneralObject:
        return "destroy-general-object";
    default:
        return "";
    }
}

}    // namespace rdmaqos::mlx5
