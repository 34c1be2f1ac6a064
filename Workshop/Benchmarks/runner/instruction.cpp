/* SPDX-License-Identifier: Apache-2.0
 *
 * See instruction.h. An instruction is any number of legacy prefixes, one REX prefix at most, the opcode, and
 * with most opcodes a ModRM byte, whose top two bits are 3 where the operand is a register.
 */
#include "instruction.h"

namespace bench {

namespace {

struct Prefixes {
    bool lock = false, repeat = false, operand_size = false;
    size_t size = 0;
};

Prefixes prefixes_of(const uint8_t *bytes, size_t size) {
    Prefixes found;
    for (; found.size < size; ++found.size) {
        switch (bytes[found.size]) {
        case 0xF0:
            found.lock = true;
            break;
        case 0xF2:
        case 0xF3:
            found.repeat = true;
            break;
        case 0x66:
            found.operand_size = true;
            break;
        case 0x2E: /* segments */
        case 0x36:
        case 0x3E:
        case 0x26:
        case 0x64:
        case 0x65:
        case 0x67: /* size of addresses */
            break;
        default:
            return found;
        }
    }
    return found;
}

bool names_register(uint8_t modrm) {
    return modrm >> 6 == 3;
}

/* 0F AE, by the second half of the opcode in ModRM. With a prefix it is another instruction. */
bool is_fence(uint8_t modrm, const Prefixes &prefixes) {
    const unsigned extension = modrm >> 3 & 7;
    return names_register(modrm) && extension >= 5 && !prefixes.repeat && !prefixes.operand_size;
}

bool is_string(uint8_t opcode) {
    return (opcode >= 0xA4 && opcode <= 0xA7) || (opcode >= 0xAA && opcode <= 0xAF) ||
           (opcode >= 0x6C && opcode <= 0x6F);
}

} // namespace

Instruction decode(const uint8_t *bytes, size_t size) {
    const Prefixes prefixes = prefixes_of(bytes, size);
    size_t at = prefixes.size;
    if (at < size && (bytes[at] & 0xF0) == 0x40) { /* REX */
        ++at;
    }
    if (at >= size) {
        return {};
    }
    const uint8_t opcode = bytes[at];
    const bool has_next = at + 1 < size;
    const bool is_exchange = (opcode == 0x86 || opcode == 0x87) && has_next && !names_register(bytes[at + 1]);
    if (prefixes.lock || is_exchange) {
        return {Instruction::locked};
    }
    if (opcode == 0x0F && at + 2 < size && bytes[at + 1] == 0xAE && is_fence(bytes[at + 2], prefixes)) {
        return {Instruction::fence};
    }
    if (opcode == 0xCC) {
        return {Instruction::breakpoint};
    }
    return {Instruction::other, prefixes.repeat && is_string(opcode)};
}

} // namespace bench
