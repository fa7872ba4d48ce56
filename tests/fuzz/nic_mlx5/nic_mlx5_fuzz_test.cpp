// What lib/nic_mlx5 reads from the kernel, the firmware and the disk: for any bytes it ends soon, with a value that can
// be used or with none.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "lib/nic_mlx5/commands.h"
#include "lib/nic_mlx5/mirror_notes.h"
#include "lib/nic_mlx5/ownership.h"
#include "lib/nic_mlx5/self_test.h"
#include "lib/nic_mlx5/self_test_cache.h"
#include "lib/nic_mlx5/sysfs.h"
#include "lib/rdma_netlink/counters.h"
#include "lib/rdma_netlink/queue_pairs.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::mlx5 {
namespace {

namespace fs = std::filesystem;

std::span<const std::uint8_t> bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// ---- netlink ----

constexpr std::uint32_t kSequence = 7;

std::string attribute(std::uint16_t type, const std::string& content)
{
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + content.size()), type};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes += content;
    bytes.resize(NLA_ALIGN(bytes.size()));
    return bytes;
}

std::string number(std::uint16_t type, std::uint32_t value)
{
    return attribute(type, std::string(reinterpret_cast<const char*>(&value), sizeof(value)));
}

std::string message(const std::string& attributes, std::uint16_t type = 0x1401)
{
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(sizeof(header) + attributes.size());
    header.nlmsg_type = type;
    header.nlmsg_seq = kSequence;
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + attributes;
}

TEST(NicMlx5Fuzz, Netlink)
{
    const std::string device = number(RDMA_NLDEV_ATTR_DEV_INDEX, 3) +
                               attribute(RDMA_NLDEV_ATTR_DEV_NAME, std::string("mlx5_0\0", 7));
    const std::string entry = number(RDMA_NLDEV_ATTR_RES_LQPN, 17) + number(RDMA_NLDEV_ATTR_RES_PID, 4711);
    const std::string table = attribute(RDMA_NLDEV_ATTR_RES_QP, attribute(RDMA_NLDEV_ATTR_RES_QP_ENTRY, entry));
    const std::uint64_t many = 4711;
    const std::string counted = attribute(
        RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
        attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, std::string("qp\0", 3)) +
            attribute(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
                      std::string(reinterpret_cast<const char*>(&many), sizeof(many))));
    const std::string summary = attribute(RDMA_NLDEV_ATTR_RES_SUMMARY, counted + counted);
    const std::string hardware_counter = attribute(
        RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
        attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, std::string("rdma_tx_bytes\0", 14)) +
            attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
                      std::string(reinterpret_cast<const char*>(&many), sizeof(many))) +
            number(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, 1) +
            attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC, std::string(1, '\1')));
    const std::string optional_counters = attribute(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS, hardware_counter);
    const std::string counter_table = attribute(
        RDMA_NLDEV_ATTR_STAT_COUNTER,
        attribute(RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
                  number(RDMA_NLDEV_ATTR_STAT_COUNTER_ID, 3) + table + optional_counters));
    const std::vector<std::string> seeds{
        summary,
        message(device + summary),
        message(device),
        message(device) + message(device) + message({}, NLMSG_DONE),
        message(entry),
        message(table),
        message({}, NLMSG_ERROR),
        message(counter_table),
        message(optional_counters),
        message(number(RDMA_NLDEV_ATTR_RES_PDN, 5) + number(RDMA_NLDEV_ATTR_RES_PID, 1))};
    test::fuzz("netlink", seeds, [](const std::string& text) {
        const auto found = find_device(bytes_of(text), kSequence, "mlx5_0");
        ASSERT_TRUE(found.end == AnswerEnd::Found || found.index == 0);
        const auto owner = find_owner(bytes_of(text), kSequence, 17);
        ASSERT_TRUE(owner.end == AnswerEnd::Found || !owner.owner);
        ASSERT_NE(owner.owner, 0);
        const auto domain = find_surrounding(bytes_of(text), kSequence, Surrounding::ProtectionDomain, 5);
        ASSERT_TRUE(domain.end == AnswerEnd::Found || (!domain.maker && !domain.context));
        std::vector<rdma_netlink::TrackedQueuePair> queue_pairs;
        std::vector<rdma_netlink::TrackedDevice> devices;
        std::vector<rdma_netlink::Holder> holders;
        int failed = -1;
        rdma_netlink::read_queue_pairs(bytes_of(text), kSequence, queue_pairs, failed);
        rdma_netlink::read_devices(bytes_of(text), kSequence, devices, failed);
        rdma_netlink::read_holders(bytes_of(text), kSequence, rdma_netlink::HolderKind::Domain, holders, failed);
        ASSERT_TRUE(failed >= -1 && failed < 4096);
        static_cast<void>(rdma_netlink::read_counts(bytes_of(text)));
        static_cast<void>(rdma_netlink::read_exclusive(bytes_of(text)));
        if (const auto one = rdma_netlink::read_sole_queue_pair(bytes_of(text))) {
            queue_pairs.push_back(*one);
        }
        std::vector<rdma_netlink::QueuePairCounter> counters;
        rdma_netlink::read_counters(bytes_of(text), kSequence, counters, failed);
        static_cast<void>(rdma_netlink::read_optional_counters(bytes_of(text)));
        static_cast<void>(rdma_netlink::read_counter_mode(bytes_of(text)));
        for (const auto& queue_pair : queue_pairs) {
            ASSERT_FALSE(rdma_netlink::name_of_type(queue_pair.type).empty());
            ASSERT_NE(queue_pair.thread, 0);
        }
    });
}

// ---- the firmware ----

TEST(NicMlx5Fuzz, Mailboxes)
{
    std::vector<std::string> seeds{std::string(prm::kQueryQpBytes, '\x10'), std::string(16 + 256, '\xff'),
                                   std::string(144, '\0')};
    for (const auto& command : {create_element(ElementKind::Leaf, ObjectId{5}, {7, Bandwidth::from_mbps(40)}),
                                query_capabilities(prm::kQosCapabilities)}) {
        seeds.emplace_back(command.begin(), command.end());
    }
    test::fuzz("mailboxes", seeds, [](const std::string& text) {
        const auto all = bytes_of(text);
        const auto middle = all.size() / 2;
        const auto can = decode_capabilities(all.first(middle), all.subspan(middle));
        ASSERT_EQ(can.scheduling, can.max_leaves != 0 && can.max_depth != 0 && can.max_elements != 0);
        ASSERT_TRUE(can.scheduling || (can.attachable.empty() && !can.shares && !can.rate_caps && !can.responder_leaf));

        for (const auto& by : {prm::kObjectCommands, prm::kLegacyCommands}) {
            const auto element = decode_element(all, by);
            ASSERT_TRUE(!element.attributes.max_rate || element.attributes.max_rate->kbps() >= 1000);
            // What is read can be asked for, and is read the same again.
            const auto again = decode_element(create_element(element.kind, element.parent, element.attributes, by), by);
            ASSERT_TRUE(again == element);
        }

        const auto queue_pair = decode_queue_pair(all);
        if (queue_pair.state) {
            ASSERT_FALSE(to_string(*queue_pair.state).empty());
        }
    });
}

// ---- sysfs ----

TEST(NicMlx5Fuzz, LinkRate)
{
    test::fuzz("link-rate",
               {"100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)", "14.0625 Gb/sec", "inf Gb/sec", "1e6 Gb/sec"},
               [](const std::string& text) { ASSERT_LE(parse_link_rate(text).kbps(), 1'000'000'000'000U); });
}

// A line of the input is "path=content"; a path that ends in a slash is a folder, "path->target" a link.
void plant(const fs::path& root, const std::string& text)
{
    std::size_t files = 0;
    for (std::size_t at = 0; at < text.size() && files < 100; ++files) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        const auto equals = line.find('=');
        const auto arrow = line.find("->");
        std::string name = line.substr(0, std::min(equals, arrow));
        std::erase(name, '\0');
        const fs::path path = (root / fs::path(name).relative_path()).lexically_normal();
        // Never beside the tree.
        if (path.lexically_relative(root).string().starts_with("..") || name.size() > 200) {
            continue;
        }
        std::error_code ignored;
        fs::create_directories(path.parent_path(), ignored);
        if (arrow != std::string::npos) {
            const fs::path target(line.substr(arrow + 2).c_str());
            fs::create_symlink(root / target.relative_path(), path, ignored);
        } else if (equals != std::string::npos) {
            std::ofstream(path, std::ios::binary) << line.substr(equals + 1) << '\n';
        }
    }
}

constexpr const char* kTree = "class/infiniband/mlx5_0/node_guid=0c42:a103:0065:1234\n"
                              "class/infiniband/mlx5_0/fw_ver=22.31.1014\n"
                              "class/infiniband/mlx5_0/device->devices/a\n"
                              "devices/a/net/eth0/dev_port=0\n"
                              "devices/a/driver->bus/mlx5_core\n"
                              "class/infiniband/mlx5_0/ports/1/rate=100 Gb/sec (4X EDR)\n"
                              "class/infiniband/mlx5_0/ports/1/state=4: ACTIVE\n"
                              "class/infiniband/mlx5_0/ports/1/gids/0=fe80:0000:0000:0000:0e42:a1ff:fe65:1234\n"
                              "class/infiniband/mlx5_0/ports/1/pkeys/0=0xffff\n"
                              "class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0=eth0\n"
                              "class/infiniband/mlx5_0/ports/1/counters/port_xmit_data=1000\n"
                              "class/infiniband/mlx5_0/ports/1/counters/port_rcv_data=1000\n"
                              "class/net/eth0/mtu=4200\n"
                              "class/net/eth0/master->class/net/bond0\n"
                              "class/net/bond0/bonding/mode=802.3ad 4\n"
                              "class/infiniband_verbs/uverbs0/dev=231:192\n"
                              "class/infiniband_verbs/uverbs0/ibdev=mlx5_0\n";

TEST(NicMlx5Fuzz, Sysfs)
{
    test::fuzz("sysfs", {kTree}, [](const std::string& text) {
        const test::TempDir dir;
        plant(dir.path(), text);
        std::set<std::string> keys;
        const auto ports = list_ports(dir.path());
        for (const auto& port : ports.value()) {
            ASSERT_TRUE(keys.insert(port.key()).second) << port.key();
            ASSERT_TRUE(port.port >= 1 && port.port <= 255);
            ASSERT_TRUE(port.mtu >= 256 && port.mtu <= 4096 && (port.mtu & (port.mtu - 1)) == 0) << port.mtu;
            for (const auto& gid : port.gids) {
                ASSERT_FALSE(gid == Gid{});
            }
            static_cast<void>(read_counters(dir.path(), port.name, port.port));
        }
        static_cast<void>(device_of_number(dir.path(), 0xe7c0));
    });
}

// ---- notes of mirrors ----

TEST(NicMlx5Fuzz, MirrorNotes)
{
    const std::string seed = "file 3=pid 4711 start 90210\nfile 3 element 12=handle 5 id 18\n"
                             "file 3 queue-pair 7=requester 12 responder 0\n";
    test::fuzz("mirror-notes", {seed}, [](const std::string& text) {
        BackendNotes notes;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            notes[line.substr(0, line.find('='))] = line.substr(std::min(line.find('='), line.size() - 1) + 1);
        }
        // What was read is read again from the notes that it makes.
        BackendNotes kept;
        const NoteKeeper keeper = [&](const std::string& key, const std::string& value) { kept[key] = value; };
        const auto files = read_mirror_notes(notes);
        for (const auto& file : files) {
            MirroredFile again;
            again.number = file.number;
            again.owner = file.owner;
            for (const auto& [element, mirror] : file.mirrors) {
                again.add(element, mirror, keeper);
            }
            for (const auto& [handle, sides] : file.queue_pairs) {
                again.place(handle, sides, keeper);
            }
        }
        const auto again = read_mirror_notes(kept);
        ASSERT_EQ(again.size(), files.size());
        for (std::size_t i = 0; i < files.size(); ++i) {
            ASSERT_EQ(again[i].mirrors, files[i].mirrors);
        }
    });
}

// ---- the kept self-test ----

TEST(NicMlx5Fuzz, KeptSelfTest)
{
    const test::TempDir dir;
    constexpr const char* kKey = "MT_0000000359 22.35.1012 6.1.0";
    AttachReport report = judge(
        {{step::kElements, true, 0, 0, 0, {}}, {step::kAttachInit, false, 121, 5, 0x51c00a, "why"}});
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report).has_value());
    const fs::path file = fs::directory_iterator(dir.path())->path();
    std::ifstream in(file);
    const std::string seed((std::istreambuf_iterator<char>(in)), {});
    test::fuzz("self-test", {seed}, [&](const std::string& text) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
        const auto known = load_self_test(dir.path(), kKey).value();
        if (known) {
            // Whatever was accepted is kept as it is.
            ASSERT_TRUE(save_self_test(dir.path(), kKey, *known).has_value());
            ASSERT_EQ(load_self_test(dir.path(), kKey).value(), known);
        }
    });
}

}    // namespace
}    // namespace rdmaqos::mlx5
