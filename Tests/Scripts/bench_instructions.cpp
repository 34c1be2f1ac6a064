/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs what counts the benchmarks' instructions, for bench_instructions_test.py:
 *     kinds      the kind of each instruction on standard input, a line of hexadecimal bytes each
 *     loops      what an operation of each loop below costs
 *     table      the table of two rows and of one left out
 *     refused    with ptrace forbidden
 *     hung       with a loop that sleeps for ever
 *     ended      with a loop that ends its process
 */
#include "../../Workshop/Benchmarks/runner/instruction.h"
#include "../../Workshop/Benchmarks/runner/instructions.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <iostream>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace bench;

alignas(64) static unsigned char words[256];

/* A loop of its body and four instructions more. */
#define LOOP(name, body)                                                                                     \
    static uint64_t name(const uint32_t *phase, uint32_t during) {                                           \
        uint64_t operations = 0;                                                                             \
        asm volatile("1: cmpl %[during], (%[phase])\n"                                                       \
                     "jne 2f\n" body "incq %[operations]\n"                                                  \
                     "jmp 1b\n"                                                                              \
                     "2:\n"                                                                                  \
                     : [operations] "+r"(operations)                                                         \
                     : [phase] "r"(phase), [during] "r"(during), [words] "r"(words)                          \
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "memory", "cc");                             \
        return operations;                                                                                   \
    }

LOOP(nothing, "")
LOOP(nops_and_one_of_each, ".rept 10\nnop\n.endr\nlock incl (%[words])\nmfence\n")
LOOP(exchanges_of_registers, "xchgl %%ecx, %%edx\nxchgq %%r8, %%rcx\nxchgb %%cl, %%dl\n")
LOOP(exchanges_with_memory, "xchgl %%ecx, (%[words])\nxchgq %%r8, 8(%[words])\nxchgb %%cl, (%[words])\n")
LOOP(prefixed, "lock incw (%[words])\nlock cmpxchgq %%r8, (%[words])\nlock orl $0, (%%rsp)\n")
LOOP(unlocked, "cmpxchgq %%r8, (%[words])\nxaddl %%ecx, (%[words])\nincl (%[words])\n")
LOOP(fences, "mfence\nlfence\nsfence\n")
LOOP(no_fences, "clflush (%[words])\npause\nprefetcht0 (%[words])\n")
LOOP(a_string, "leaq 64(%[words]), %%rsi\nleaq 128(%[words]), %%rdi\nmovl $64, %%ecx\nrep movsb\n")
/* Every fourth operation has 8 nops: 2 an operation. */
LOOP(now_and_then, "testl $3, %k[operations]\njnz 3f\n.rept 8\nnop\n.endr\n3:\n")

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static uint64_t takes_a_mutex(const uint32_t *phase, uint32_t during) {
    uint64_t operations = 0;
    for (; __atomic_load_n(phase, __ATOMIC_RELAXED) == during; ++operations) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    return operations;
}

static uint64_t hangs(const uint32_t *, uint32_t) {
    pause();
    return 0;
}

static uint64_t ends(const uint32_t *, uint32_t) {
    _exit(3);
}

static int print_kinds() {
    static const char *const names[] = {"other", "locked", "fence", "breakpoint"};
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream text(line);
        std::vector<uint8_t> bytes;
        for (unsigned byte; text >> std::hex >> byte;) {
            bytes.push_back(static_cast<uint8_t>(byte));
        }
        const Instruction instruction = decode(bytes.data(), bytes.size());
        std::printf("%s%s\n", names[instruction.kind], instruction.repeats ? " repeats" : "");
    }
    return 0;
}

static int print_costs() {
    const std::pair<const char *, uint64_t (*)(const uint32_t *, uint32_t)> loops[] = {
        {"nothing", nothing},
        {"nops and one of each", nops_and_one_of_each},
        {"exchanges of registers", exchanges_of_registers},
        {"exchanges with memory", exchanges_with_memory},
        {"prefixed", prefixed},
        {"unlocked", unlocked},
        {"fences", fences},
        {"no fences", no_fences},
        {"a string", a_string},
        {"now and then", now_and_then},
        {"a mutex", takes_a_mutex},
    };
    OperationCosts costs;
    for (const auto &[name, loop] : loops) {
        costs.add(name, [name = name, loop = loop] {
            Stepped child([=] { return std::vector<Loop>{loop}; });
            warm_up(child, 0, 1);
            return std::vector<OperationCost>{cost_of(child, 0, name, "read")};
        });
    }
    std::vector<std::pair<std::string, Json>> members;
    add_json(members, costs, "lock");
    std::printf("%s\n", Json::object(members).text().c_str());
    return 0;
}

static int print_table() {
    OperationCosts costs;
    costs.rows = {{"a lock", "read", 41.04, 2, 0}, {"another", "write", 1234.5, 0.25, 1}};
    costs.add("a third, read", []() -> std::vector<OperationCost> { throw CannotCount("reason"); });
    std::printf("%s", to_markdown(costs, "lock").c_str());
    return 0;
}

static void forbid_ptrace() {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        std::perror("seccomp");
        _exit(4);
    }
}

static int print_reason(Loop loop) {
    OperationCosts costs;
    if (costs.are_possible()) {
        costs.add("a lock", [&] {
            Stepped child([&] { return std::vector<Loop>{loop}; }, 1);
            return std::vector<OperationCost>{cost_of(child, 0, "a lock", "read")};
        });
    }
    std::vector<std::pair<std::string, Json>> members;
    add_json(members, costs, "lock");
    std::printf("%s%s", to_markdown(costs, "lock").c_str(), members.empty() ? "" : "and a member\n");
    return 0;
}

int main(int count, char **arguments) {
    const std::string what = count == 2 ? arguments[1] : "";
    if (what == "kinds") {
        return print_kinds();
    }
    if (what == "loops") {
        return print_costs();
    }
    if (what == "table") {
        return print_table();
    }
    if (what == "refused") {
        forbid_ptrace();
        return print_reason(nothing);
    }
    if (what == "hung") {
        return print_reason(hangs);
    }
    if (what == "ended") {
        return print_reason(ends);
    }
    return 2;
}
