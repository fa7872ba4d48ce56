// Command mailboxes of an mlx5 device: big-endian bit fields, and the positions of those that are used here. Positions
// are bits from the start of the mailbox, as the programmer's reference manual counts them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rdmaqos::mlx5 {

using Mailbox = std::vector<std::uint8_t>;

struct Field {
    std::size_t offset = 0;
    std::size_t width = 0;    // at most 64
};

// What lies beyond the end reads as 0 and is not written.
[[nodiscard]] std::uint64_t get(std::span<const std::uint8_t> mailbox, Field field);
void set(std::span<std::uint8_t> mailbox, Field field, std::uint64_t value);

[[nodiscard]] constexpr Field at(std::size_t base, Field field)
{
    return {base + field.offset, field.width};
}

namespace prm {

// Every command and answer.
constexpr Field kOpcode{0, 16};
constexpr Field kUid{16, 16};    // the context that a command belongs to
constexpr Field kOpMod{48, 16};
constexpr Field kStatus{0, 8};
constexpr Field kSyndrome{32, 32};
constexpr std::size_t kHeaderBytes = 16;

enum Opcode : std::uint16_t {
    QueryHcaCap = 0x100,
    TeardownHca = 0x103,
    EnableHca = 0x104,
    CreateQp = 0x500,
    DestroyQp = 0x501,
    Rst2Init = 0x502,
    Init2Rtr = 0x503,
    Rtr2Rts = 0x504,
    Rts2Rts = 0x505,
    Sqerr2Rts = 0x506,
    Qp2Err = 0x507,
    Qp2Rst = 0x50a,
    QueryQp = 0x50b,
    Init2Init = 0x50e,
    SetPpRateLimit = 0x780,
    CreateSchedulingElement = 0x782,
    DestroySchedulingElement = 0x783,
    QuerySchedulingElement = 0x784,
    ModifySchedulingElement = 0x785,
    QueryLag = 0x842,
    CreateSq = 0x904,
    ModifySq = 0x905,
    DestroySq = 0x906,
    QuerySq = 0x907,
    CreateRq = 0x908,
    ModifyRq = 0x909,
    DestroyRq = 0x90a,
    QueryRq = 0x90b,
    CreateGeneralObject = 0xa00,
    ModifyGeneralObject = 0xa01,
    QueryGeneralObject = 0xa02,
    DestroyGeneralObject = 0xa03,
    CreateUctx = 0xa04,
    DestroyUctx = 0xa06,
};
// "rts2rts-qp"; empty: no command that a program sends
[[nodiscard]] std::string_view name_of(std::uint64_t opcode);

// QUERY_LAG: a context of zeros says that the ports are not bonded.
constexpr std::size_t kLagBytes = 24;

// QUERY_HCA_CAP: the type is op_mod >> 1, capabilities follow the header.
constexpr std::size_t kCapability = 128;
constexpr std::size_t kCapabilityBytes = 16 + 4096;
constexpr std::uint64_t kCurrentCapabilities = 1;    // in op_mod, beside the type; 0: the highest possible
constexpr std::uint64_t kGeneralCapabilities = 0x0;
constexpr std::uint64_t kQosCapabilities = 0xc;
namespace general {
constexpr Field kLogMaxQp{155, 5};
constexpr Field kLogMaxCq{219, 5};
constexpr Field kQpcExtension{290, 1};
constexpr Field kNumPorts{440, 8};
constexpr Field kLogMaxMessage{451, 5};
constexpr Field kQos{539, 1};
constexpr Field kLogMaxPd{811, 5};
constexpr Field kGeneralObjectTypes{1024, 64};
}    // namespace general
namespace qos {
constexpr Field kPacketPacing{0, 1};
constexpr Field kPacketPacingBurst{5, 1};
constexpr Field kPacketPacingTypicalSize{6, 1};
constexpr Field kNicSqScheduling{8, 1};
constexpr Field kNicBwShare{9, 1};
constexpr Field kNicRateLimit{10, 1};
constexpr Field kPacketPacingUid{11, 1};
constexpr Field kNicQpScheduling{33, 1};
constexpr Field kLogNicMaxSchedDepth{36, 4};
constexpr Field kLogMaxNicQueueGroups{43, 5};
constexpr Field kPacketPacingMaxRate{64, 32};    // kbit/s
constexpr Field kPacketPacingMinRate{96, 32};
constexpr Field kPacketPacingTableSize{144, 16};
constexpr Field kMaxTsarBwShare{224, 32};
constexpr Field kNicElementType{256, 16};
constexpr Field kNicTsarType{272, 16};
constexpr Field kLogMaxNicSchedulingElements{323, 5};
}    // namespace qos

// CREATE, MODIFY, QUERY, DESTROY_GENERAL_OBJECT.
constexpr Field kObjectType{48, 16};
constexpr Field kObjectId{64, 32};
constexpr std::uint64_t kSchedulingElement = 0x26;
constexpr std::size_t kObject = 128;
constexpr std::size_t kObjectBytes = 16 + 128;
// A scheduling element's context.
namespace element {
constexpr Field kType{0, 8};
constexpr Field kTsarType{40, 8};
constexpr Field kParent{64, 32};
constexpr Field kBwShare{160, 32};
constexpr Field kMaxAverageBw{192, 32};    // Mbit/s
constexpr std::uint64_t kHierarchyNic = 3;
constexpr std::uint64_t kTsar = 0;
constexpr std::uint64_t kQueueGroup = 4;
constexpr std::uint64_t kSelectBwShare = 1U << 0;
constexpr std::uint64_t kSelectMaxAverageBw = 1U << 1;
}    // namespace element
// The commands on scheduling elements: those on general objects, and the older ones for nothing else.
struct ElementCommands {
    Opcode create, modify, query, destroy;
    bool is_object;    // names kSchedulingElement in kObjectType
    Field hierarchy;
    Field select;        // which attributes MODIFY changes
    Field id;            // in all but CREATE
    Field created_id;    // in the answer to CREATE
    std::size_t element;
    std::size_t written_bytes;    // of CREATE and MODIFY
    std::size_t named_bytes;      // of QUERY and DESTROY
    std::size_t created_bytes;    // of the answer to CREATE
    std::size_t read_bytes;       // of the answer to QUERY
};
inline constexpr ElementCommands kObjectCommands{
    CreateGeneralObject, ModifyGeneralObject, QueryGeneralObject, DestroyGeneralObject, true,         {192, 8},
    {128, 64},           kObjectId,           kObjectId,          kObject + 256,        kObjectBytes, kHeaderBytes,
    kHeaderBytes,        kObjectBytes};
inline constexpr ElementCommands kLegacyCommands{CreateSchedulingElement,
                                                 ModifySchedulingElement,
                                                 QuerySchedulingElement,
                                                 DestroySchedulingElement,
                                                 false,
                                                 {64, 8},
                                                 {160, 32},
                                                 {96, 32},
                                                 {128, 32},
                                                 256,
                                                 128,
                                                 64,
                                                 64,
                                                 128};
// Null: another command.
[[nodiscard]] constexpr const ElementCommands* element_commands(std::uint64_t opcode)
{
    for (const auto* commands : {&kObjectCommands, &kLegacyCommands}) {
        if (opcode == commands->create || opcode == commands->modify || opcode == commands->query ||
            opcode == commands->destroy) {
            return commands;
        }
    }
    return nullptr;
}

// Commands on queue pairs.
constexpr Field kQpn{72, 24};
constexpr Field kQpcExt{64, 1};
constexpr Field kOptParamMask{128, 32};
constexpr Field kOptParamMaskHigh{2112, 64};
constexpr std::uint64_t kOptQueueGroup = 1U << 1;
constexpr Field kQueueGroupRequester{2208, 32};
constexpr Field kQueueGroupResponder{2240, 32};
constexpr std::size_t kQpc = 192;
constexpr std::size_t kQpcBytes = 232;
constexpr std::size_t kQueryQpBytes = 272;
// QUERY_QP with kQpcExt: the answer goes on with the extended context, whose fields are where a command has them.
constexpr std::size_t kQueryQpExtBytes = kQueryQpBytes + 192;
// CREATE_QP: where its queue is, behind the context.
constexpr Field kQueueMemoryOffset{2048, 64};
constexpr Field kQueueMemory{2112, 32};
constexpr Field kQueueMemoryValid{2144, 1};
constexpr std::size_t kCreateQpBytes = 272;
// An address path in a queue pair's context.
namespace path {
constexpr Field kPkeyIndex{16, 16};
constexpr Field kGlobal{40, 1};    // on InfiniBand
constexpr Field kPathBits{41, 7};
constexpr Field kLid{48, 16};
constexpr Field kAckTimeout{64, 5};
constexpr Field kGidIndex{72, 8};
constexpr Field kStaticRate{84, 4};
constexpr Field kHopLimit{88, 8};
constexpr Field kTrafficClass{100, 8};
constexpr Field kFlowLabel{108, 20};
constexpr std::size_t kGid = 128;    // its 16 bytes
constexpr Field kDscp{266, 6};
constexpr Field kEthPriority{289, 3};
constexpr Field kSl{292, 4};
constexpr Field kPort{296, 8};
}    // namespace path
namespace qpc {
constexpr Field kState{0, 4};
constexpr Field kServiceType{8, 8};
constexpr Field kPathMigration{19, 2};
constexpr Field kPd{40, 24};
constexpr Field kMtu{64, 3};
constexpr Field kLogMessageMax{67, 5};
constexpr Field kLogReceives{73, 4};
constexpr Field kLogReceiveStride{77, 3};    // of 16 bytes
constexpr Field kNoSendQueue{80, 1};
constexpr Field kLogSendBlocks{81, 4};
constexpr Field kUarPage{104, 24};
constexpr Field kUserIndex{136, 24};
constexpr Field kRemoteQpn{168, 24};
// The primary address path and the alternate one.
constexpr std::size_t kPath = 192;
constexpr std::size_t kPathBytes = 44;
constexpr std::size_t kSecondPath = kPath + 8 * kPathBytes;
// Of the primary one.
constexpr Field kPkeyIndex = at(kPath, path::kPkeyIndex);
constexpr Field kAckTimeout = at(kPath, path::kAckTimeout);
constexpr Field kDscp = at(kPath, path::kDscp);
constexpr Field kEthPriority = at(kPath, path::kEthPriority);
constexpr Field kSl = at(kPath, path::kSl);
constexpr Field kPort = at(kPath, path::kPort);
constexpr Field kLogSraMax{904, 3};
constexpr Field kRetryCount{909, 3};
constexpr Field kRnrRetry{912, 3};
constexpr Field kNextSendPsn{968, 24};
constexpr Field kSendCq{1000, 24};
constexpr Field kLogRraMax{1160, 3};
constexpr Field kAtomicMode{1164, 4};
constexpr Field kRemoteRead{1168, 1};
constexpr Field kRemoteWrite{1169, 1};
constexpr Field kRemoteAtomic{1170, 1};
constexpr Field kMinRnrNak{1187, 5};
constexpr Field kNextReceivePsn{1192, 24};
constexpr Field kReceiveCq{1256, 24};
constexpr Field kDoorbellOffset{1280, 64};    // of its record, in that memory
constexpr Field kQkey{1344, 32};
constexpr Field kReceiveType{1381, 3};
constexpr Field kSharedReceiveQueue{1384, 24};
constexpr Field kDoorbellMemoryValid{1667, 1};
constexpr Field kDoorbellMemory{1824, 32};
constexpr std::uint64_t kReliableConnection = 0;
constexpr std::uint64_t kUnreliableConnection = 1;
constexpr std::uint64_t kUnreliableDatagram = 2;
constexpr std::uint64_t kOwnReceives = 0;    // of kReceiveType
constexpr std::uint64_t kSharedReceives = 1;
}    // namespace qpc

// CREATE, MODIFY, QUERY, DESTROY_SQ; state and number of receive queues are at the same places.
constexpr Field kSqState{64, 4};
constexpr Field kSqn{72, 24};
constexpr Field kSqModifyBitmask{128, 64};
constexpr std::uint64_t kSqSelectRateLimit = 1U << 0;
constexpr std::uint64_t kSqSelectQueueGroup = 1U << 2;
constexpr std::size_t kSqc = 256;
constexpr std::size_t kSqcBytes = 240;
constexpr Field kSqcState{8, 4};
constexpr Field kSqcRateLimitIndex{240, 16};
constexpr Field kSqcQueueGroup{272, 16};
constexpr std::uint64_t kSqReset = 0;
constexpr std::uint64_t kSqReady = 1;
constexpr std::uint64_t kSqError = 3;

// SET_PP_RATE_LIMIT: a row of the table of rates; rate 0 empties it.
constexpr Field kRateLimitIndex{80, 16};
constexpr Field kRateLimit{128, 32};    // kbit/s
constexpr Field kRateLimitBurst{160, 32};
constexpr Field kRateLimitPacket{208, 16};

// CREATE_UCTX answers it, DESTROY_UCTX names it. Commands of the kernel itself have uid 0; 0xffff marks what it shares
// among contexts.
constexpr Field kUctxUid{80, 16};
constexpr std::uint64_t kKernelUid = 0;
constexpr std::uint64_t kSharedUid = 0xffff;

}    // namespace prm
}    // namespace rdmaqos::mlx5
