/* SPDX-License-Identifier: Apache-2.0
 *
 * What a C program does without a library: epoll over pipes.
 */
#include "../contender.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

using namespace bench;

namespace {

void must(bool is_true) {
    if (!is_true) {
        std::abort();
    }
}

struct Pipe {
    enum { bytes = places * sizeof(uint64_t) };
    int ends[2];
    Pipe() {
        must(pipe(ends) == 0);
        must(fcntl(ends[1], F_SETPIPE_SZ, bytes) >= bytes);
    }
    ~Pipe() {
        close(ends[0]);
        close(ends[1]);
    }
    void push(uint64_t number) {
        must(write(ends[1], &number, sizeof number) == sizeof number);
    }
};

struct Polled {
    Pipe pipes[queues], answers;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    Polled() {
        must(poll >= 0);
        for (Pipe &pipe : pipes) {
            epoll_event event{EPOLLIN, {&pipe}};
            must(epoll_ctl(poll, EPOLL_CTL_ADD, pipe.ends[0], &event) == 0);
        }
    }
    ~Polled() {
        close(poll);
    }
    void push(size_t queue, uint64_t number) {
        pipes[queue].push(number);
    }
    void answer(uint64_t number) {
        answers.push(number);
    }
    uint64_t await_answer() {
        uint64_t number;
        must(read(answers.ends[0], &number, sizeof number) == sizeof number);
        return number;
    }
    template <class Body> void serve(unsigned count, Body body) {
        for (unsigned served = 0; served < count;) {
            epoll_event ready[queues];
            const int found = epoll_wait(poll, ready, queues, -1);
            must(found > 0);
            for (int index = 0; index < found; index++) {
                uint64_t numbers[64];
                const ssize_t bytes =
                    read(static_cast<Pipe *>(ready[index].data.ptr)->ends[0], numbers, sizeof numbers);
                must(bytes > 0 && bytes % sizeof *numbers == 0);
                for (size_t taken = 0; taken < bytes / sizeof *numbers; taken++, served++) {
                    body(numbers[taken]);
                }
            }
        }
    }
};
const Enlisted<Contender> polled(2, contender<Polled>("epoll, pipes"));

} // namespace
