// The device's commands that the tests write by hand: fields are big-endian, a field is found by its first bit.
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    OP_QUERY_HCA_CAP = 0x100,
    OP_CREATE_QP = 0x500,
    OP_RTS2RTS_QP = 0x505,
    OP_INIT2INIT_QP = 0x50e,
    OP_CREATE_GENERAL_OBJECT = 0xa00,
    OP_MODIFY_GENERAL_OBJECT = 0xa01,
    OP_QUERY_GENERAL_OBJECT = 0xa02,
    OP_DESTROY_GENERAL_OBJECT = 0xa03,
};

enum { OBJECT_SCHEDULING_ELEMENT = 0x26 };
enum { HIERARCHY_NIC = 3 };
enum { ELEMENT_TSAR = 0, ELEMENT_QUEUE_GROUP = 4 };
enum { SELECT_SHARE = 1, SELECT_RATE = 2 };

// Bytes of the mailboxes.
enum {
    CAPABILITY_IN = 16,
    CAPABILITY_OUT = 16 + 4096,
    ELEMENT_IN = 16 + 96,
    ELEMENT_OUT = 16 + 96,
    GENERAL_OUT = 16,
    MODIFY_QP_IN = 0x220,
    MODIFY_QP_OUT = 16,
};

// `width` is at most 32, and the field lies within one aligned word.
static inline uint32_t prm_get(const void* mailbox, unsigned bit, unsigned width)
{
    const uint8_t* word = (const uint8_t*)mailbox + bit / 32 * 4;
    const uint32_t value = (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 | word[3];
    const uint32_t mask = width == 32 ? 0xffffffffU : (1U << width) - 1;
    return value >> (32 - bit % 32 - width) & mask;
}

static inline void prm_set(void* mailbox, unsigned bit, unsigned width, uint32_t value)
{
    uint8_t* word = (uint8_t*)mailbox + bit / 32 * 4;
    const unsigned shift = 32 - bit % 32 - width;
    const uint32_t mask = (width == 32 ? 0xffffffffU : (1U << width) - 1) << shift;
    uint32_t all = (uint32_t)word[0] << 24 | (uint32_t)word[1] << 16 | (uint32_t)word[2] << 8 | word[3];
    all = (all & ~mask) | (value << shift & mask);
    word[0] = (uint8_t)(all >> 24);
    word[1] = (uint8_t)(all >> 16);
    word[2] = (uint8_t)(all >> 8);
    word[3] = (uint8_t)all;
}

// Of any answer.
static inline uint32_t prm_status(const void* out)
{
    return prm_get(out, 0, 8);
}
static inline uint32_t prm_syndrome(const void* out)
{
    return prm_get(out, 32, 32);
}
static inline uint32_t prm_object_id(const void* mailbox)
{
    return prm_get(mailbox, 64, 32);
}

// `in` has CAPABILITY_IN bytes; the capability begins at bit 128 of the answer.
static inline void prm_query_capability(void* in, uint32_t type)
{
    memset(in, 0, CAPABILITY_IN);
    prm_set(in, 0, 16, OP_QUERY_HCA_CAP);
    prm_set(in, 48, 16, type << 1 | 1);    // what the device has now, not what it could have
}

struct prm_element {
    uint32_t type;
    uint32_t parent;    // 0: a root
    uint32_t share;
    uint32_t max_rate;    // Mbit/s
};

// `in` has ELEMENT_IN bytes.
static inline void prm_element_command(void* in, uint32_t opcode, uint32_t id)
{
    memset(in, 0, ELEMENT_IN);
    prm_set(in, 0, 16, opcode);
    prm_set(in, 48, 16, OBJECT_SCHEDULING_ELEMENT);
    prm_set(in, 64, 32, id);
}

// The context begins 256 bits into the object, and the object at bit 128.
enum { ELEMENT_CONTEXT = 128 + 256 };

static inline void prm_create_element(void* in, const struct prm_element* element)
{
    prm_element_command(in, OP_CREATE_GENERAL_OBJECT, 0);
    // As libmlx5 does it: what is set is selected, too.
    const uint32_t share = element->share != 0 ? (uint32_t)SELECT_SHARE : 0;
    const uint32_t rate = element->max_rate != 0 ? (uint32_t)SELECT_RATE : 0;
    prm_set(in, 128 + 32, 32, share | rate);
    prm_set(in, 128 + 64, 8, HIERARCHY_NIC);
    prm_set(in, ELEMENT_CONTEXT, 8, element->type);
    prm_set(in, ELEMENT_CONTEXT + 64, 32, element->parent);
    prm_set(in, ELEMENT_CONTEXT + 160, 32, element->share);
    prm_set(in, ELEMENT_CONTEXT + 192, 32, element->max_rate);
}

// Only the fields in `select` change.
static inline void prm_modify_element(void* in, uint32_t id, uint32_t select, uint32_t share, uint32_t max_rate)
{
    prm_element_command(in, OP_MODIFY_GENERAL_OBJECT, id);
    prm_set(in, 128 + 32, 32, select);
    prm_set(in, 128 + 64, 8, HIERARCHY_NIC);
    prm_set(in, ELEMENT_CONTEXT + 160, 32, share);
    prm_set(in, ELEMENT_CONTEXT + 192, 32, max_rate);
}

static inline struct prm_element prm_read_element(const void* out)
{
    struct prm_element element;
    element.type = prm_get(out, ELEMENT_CONTEXT, 8);
    element.parent = prm_get(out, ELEMENT_CONTEXT + 64, 32);
    element.share = prm_get(out, ELEMENT_CONTEXT + 160, 32);
    element.max_rate = prm_get(out, ELEMENT_CONTEXT + 192, 32);
    return element;
}

// Puts a queue pair of RC, UC or UD into leaves: `opcode` is that of its state. `in` has MODIFY_QP_IN bytes.
static inline void prm_attach(void* in, uint32_t opcode, uint32_t number, uint32_t requester, uint32_t responder)
{
    memset(in, 0, MODIFY_QP_IN);
    prm_set(in, 0, 16, opcode);
    prm_set(in, 64, 1, 1);    // the extension of the queue pair's context follows
    prm_set(in, 72, 24, number);
    prm_set(in, 2144, 32, 2);    // of optional parameters 32 to 95: the queue groups
    prm_set(in, 2208, 32, requester);
    prm_set(in, 2240, 32, responder);
}

#ifdef __cplusplus
}
#endif
