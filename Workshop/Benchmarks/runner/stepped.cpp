/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracer and child; see stepped.h. The child executes a breakpoint before and after each loop, and rests in the
 * first one. The tracer reads the instruction at the child's instruction pointer before each step.
 */
#include "stepped.h"

#include "instruction.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>

namespace bench {

namespace {

enum : uint32_t { stopped, running };

/* Memory of both processes. The child alone writes `operations` and `error`. */
struct Shared {
    uint32_t phase;
    int error; /* errno of the refused ptrace, or 0 */
    size_t loop;
    uint64_t operations;
};

[[gnu::always_inline]] inline void breakpoint() {
    asm volatile("int3" ::: "memory");
}

/* Terminal signals concern the tracer: they would stop the child in the middle of a loop. */
void block_signals() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int signal : {SIGALRM, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) {
        sigdelset(&blocked, signal);
    }
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
}

[[noreturn]] void serve(Shared &shared, const std::function<std::vector<Loop>()> &make,
                        unsigned limit_seconds) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    block_signals();
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) {
        shared.error = errno;
        _exit(1);
    }
    /* In a process of one thread the C library's locks leave the LOCK prefix out. */
    std::thread([] {
        for (;;) {
            pause();
        }
    }).detach();
    const std::vector<Loop> loops = make();
    for (;;) {
        alarm(limit_seconds);
        breakpoint();
        shared.operations = loops[shared.loop](&shared.phase, running);
        breakpoint();
    }
}

} // namespace

struct Stepped::Child {
    Shared *shared = nullptr;
    pid_t process = -1;
    unsigned limit_seconds = 0;
    std::unordered_map<uint64_t, Instruction> decoded; /* by address: code does not change */

    ~Child() {
        if (process > 0) {
            kill(process, SIGKILL);
            waitpid(process, nullptr, __WALL);
        }
        if (shared != nullptr) {
            munmap(shared, sizeof *shared);
        }
    }

    [[noreturn]] static void refuse(const std::string &what, int error) {
        throw CannotCount(what + ": " + std::strerror(error));
    }

    void await_trap() {
        int status = 0;
        while (waitpid(process, &status, __WALL) < 0) {
            if (errno != EINTR) {
                refuse("waitpid", errno);
            }
        }
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) {
            return;
        }
        if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGALRM) {
            throw CannotCount("a loop did not end within " + std::to_string(limit_seconds) + " s");
        }
        if (WIFSTOPPED(status)) {
            throw CannotCount(std::string("the traced process got a signal: ") + strsignal(WSTOPSIG(status)));
        }
        process = -1; /* waited for */
        if (shared->error != 0) {
            refuse("ptrace is refused", shared->error);
        }
        throw CannotCount("the traced process ended");
    }

    void resume(__ptrace_request how) {
        if (ptrace(how, process, nullptr, nullptr) != 0) {
            refuse("ptrace", errno);
        }
    }

    void resume_to_breakpoint() {
        resume(PTRACE_CONT);
        await_trap();
    }

    void begin(size_t loop) {
        shared->loop = loop;
        set_phase(running);
    }

    void set_phase(uint32_t phase) {
        __atomic_store_n(&shared->phase, phase, __ATOMIC_RELAXED);
    }

    uint64_t instruction_pointer() {
        errno = 0;
        const long value = ptrace(PTRACE_PEEKUSER, process,
                                  reinterpret_cast<void *>(offsetof(user_regs_struct, rip)), nullptr);
        if (errno != 0) {
            refuse("ptrace", errno);
        }
        return static_cast<uint64_t>(value);
    }

    Instruction instruction_at(uint64_t address) {
        const auto known = decoded.find(address);
        if (known != decoded.end()) {
            return known->second;
        }
        uint8_t bytes[2 * sizeof(long)];
        static_assert(sizeof bytes >= longest_instruction);
        size_t size = 0;
        for (; size < sizeof bytes; size += sizeof(long)) { /* the next page may not be there */
            errno = 0;
            const long word =
                ptrace(PTRACE_PEEKTEXT, process, reinterpret_cast<void *>(address + size), nullptr);
            if (errno != 0) {
                break;
            }
            std::memcpy(bytes + size, &word, sizeof word);
        }
        return decoded.emplace(address, decode(bytes, size)).first->second;
    }
};

Stepped::Stepped(const std::function<std::vector<Loop>()> &make, unsigned limit_seconds)
    : child_(std::make_unique<Child>()) {
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        Child::refuse("mmap", errno);
    }
    child_->shared = static_cast<Shared *>(memory);
    child_->limit_seconds = limit_seconds;
    child_->process = fork();
    if (child_->process < 0) {
        Child::refuse("fork", errno);
    }
    if (child_->process == 0) {
        serve(*child_->shared, make, limit_seconds);
    }
    child_->await_trap();
}

Stepped::~Stepped() = default;

uint64_t Stepped::run(size_t loop, uint64_t ns) {
    child_->begin(loop);
    child_->resume(PTRACE_CONT);
    timespec left{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
    }
    child_->set_phase(stopped);
    child_->await_trap();
    const uint64_t operations = child_->shared->operations;
    child_->resume_to_breakpoint();
    return operations;
}

Counts Stepped::step(size_t loop, uint64_t steps) {
    child_->begin(loop);
    Counts counts;
    uint64_t before = 0;
    for (;;) {
        const uint64_t address = child_->instruction_pointer();
        const Instruction next = child_->instruction_at(address);
        if (next.kind == Instruction::breakpoint) {
            break;
        }
        if (!next.repeats || address != before) {
            ++counts.instructions;
            counts.locked += next.kind == Instruction::locked;
            counts.fences += next.kind == Instruction::fence;
        }
        before = address;
        child_->resume(PTRACE_SINGLESTEP);
        child_->await_trap();
        if (counts.instructions == steps) {
            child_->set_phase(stopped);
        }
    }
    child_->resume_to_breakpoint();
    counts.operations = child_->shared->operations;
    child_->resume_to_breakpoint();
    return counts;
}

} // namespace bench
