/* SPDX-License-Identifier: Apache-2.0
 *
 * libuv's timers: a loop of one thread, which sets, cancels and fires them. Deadlines are whole milliseconds.
 */
#include "../timers.h"

#include <uv.h>

#include <memory>

namespace bench {
namespace {

struct LoopTimers {
    static constexpr bool cancels = true;
    size_t count;
    uv_loop_t loop;
    std::unique_ptr<uv_timer_t[]> timers;

    explicit LoopTimers(size_t count) : count(count), timers(new uv_timer_t[count]()) {
        uv_loop_init(&loop);
    }
    ~LoopTimers() {
        for (size_t index = 0; index < count; ++index) {
            uv_close(reinterpret_cast<uv_handle_t *>(&timers[index]), nullptr);
        }
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
    }
    void set(size_t index, uint64_t deadline_ns) {
        uv_timer_init(&loop, &timers[index]);
        const uint64_t loop_ns = uv_now(&loop) * 1000000;
        uv_timer_start(
            &timers[index], [](uv_timer_t *) { count_job(); },
            deadline_ns > loop_ns ? (deadline_ns - loop_ns + 999999) / 1000000 : 0, 0);
    }
    void cancel(size_t index) {
        uv_timer_stop(&timers[index]);
    }
    bool wait(uint64_t) {
        uv_run(&loop, UV_RUN_DEFAULT); /* until no timer is set */
        return true;
    }
};

const EnlistedTimers uv{3, {"libuv", measure_timers<LoopTimers>}};

} // namespace
} // namespace bench
