/* SPDX-License-Identifier: Apache-2.0
 *
 * The kind of an x86-64 instruction, from its bytes: as many prefixes and opcodes as tell locked instructions
 * and fences from all others.
 */
#ifndef INTERLOCK_BENCHMARKS_INSTRUCTION_H
#define INTERLOCK_BENCHMARKS_INSTRUCTION_H

#include <cstddef>
#include <cstdint>

namespace bench {

constexpr size_t longest_instruction = 15;

struct Instruction {
    enum Kind {
        other,
        locked, /* has the LOCK prefix, or is XCHG with memory, which locks without it */
        fence,  /* MFENCE, LFENCE, SFENCE */
        breakpoint,
    };
    Kind kind = other;
    bool repeats = false; /* a string instruction with REP: stops a single-stepping tracer after each part */
};

/* Of the `size` bytes that begin at the instruction; fewer than it has make it `other`. */
Instruction decode(const uint8_t *bytes, size_t size);

} // namespace bench

#endif
