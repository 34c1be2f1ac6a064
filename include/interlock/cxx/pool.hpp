// SPDX-License-Identifier: Apache-2.0
//
// ilk_pool for callables: move-only ones too, with or without a std::future. Guarantees are those of
// <interlock/pool.h>.
//
//     #include <interlock/cxx/pool.hpp>
//     #include <cstdio>
//
//     int main() {
//         interlock::pool pool;
//         std::future<int> sum = pool.submit([] { return 1 + 2; });
//         std::unique_ptr<int> number(new int(4)); // a callable may own what cannot be copied
//         std::promise<int> twice;
//         std::future<int> doubled = twice.get_future();
//         const bool taken = pool.post([number = std::move(number), twice = std::move(twice)]() mutable {
//             twice.set_value(*number * 2);
//         });
//         std::printf("%d %d %d\n", taken, sum.get(), doubled.get()); // prints 1 3 8
//     }
#ifndef INTERLOCK_CXX_POOL_HPP
#define INTERLOCK_CXX_POOL_HPP

#include <interlock/cxx/deadline.hpp>
#include <interlock/cxx/failure.hpp>
#include <interlock/pool.h>

#include <chrono>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

namespace interlock {
namespace detail {

// A job in memory of its own, which the job's end frees.
struct task : ilk_job {
    virtual ~task() = default;
};

template <class Function> struct task_of final : task {
    explicit task_of(Function &&callable) : function(std::move(callable)) {}

    // An exception that leaves the callable ends the process here.
    static void run(void *self) noexcept {
        const std::unique_ptr<task_of> owner(static_cast<task_of *>(self));
        (void)owner->function();
    }

    Function function;
};

} // namespace detail

// Thread-safe but for constructor and destructor. The destructor closes the pool and waits until all that it accepted
// has run. Misuse, reported: destruction, and a wait, by one of the pool's own jobs.
class pool {
  public:
    using native_handle_type = ilk_pool *;

    // Throws std::invalid_argument (too many threads, or fewer than are kept), std::bad_alloc (no memory, or no
    // thread).
    explicit pool(const ilk_pool_options &options = ilk_pool_options()) {
        detail::require_ok(ilk_pool_create(&pool_, &options), "the options of an interlock::pool");
    }
    ~pool() {
        close();
        wait();
        ilk_pool_destroy(pool_);
    }
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

    // Has `function()` called once by one of the threads, and destroyed there. Its result is dropped; an exception that
    // leaves it ends the process. Allocates; throws std::bad_alloc and what moving or copying `function` throws, before
    // anything is accepted. False: the pool is closed, and `function`, as it was handed over, is destroyed.
    template <class Function>
    [[nodiscard]] bool post(Function &&function, ilk_priority priority = ILK_PRIORITY_NORMAL) {
        using callable = std::decay_t<Function>;
        using task_type = detail::task_of<callable>;
        std::unique_ptr<task_type> task(new task_type(callable(std::forward<Function>(function))));
        ilk_job_init(task.get(), task_type::run, task.get());
        ilk_job_set_priority(task.get(), priority);
        if (!ilk_pool_submit(pool_, task.get())) {
            return false;
        }
        (void)task.release(); // the pool's
        return true;
    }

    // Has the pool run `function`, and gives a future of its result, or of the exception that left it. If the pool is
    // closed, the future holds std::future_error, broken_promise. A job that waits for a future is inside a
    // blocking_section.
    template <class Function>
    [[nodiscard]] auto submit(Function &&function, ilk_priority priority = ILK_PRIORITY_NORMAL) {
        using result = std::invoke_result_t<std::decay_t<Function> &>;
        std::packaged_task<result()> packaged(std::forward<Function>(function));
        std::future<result> future = packaged.get_future();
        (void)post(std::move(packaged), priority);
        return future;
    }

    // Nothing more comes in; what was accepted runs.
    void close() noexcept {
        ilk_pool_close(pool_);
    }
    // Nothing more comes in, and what has not begun is destroyed, by this thread or the pool's; its futures hold
    // broken_promise. Not for a pool to which the C calls have given jobs.
    void close_now() noexcept {
        const auto discard = [](void *, ilk_job *job) noexcept { delete static_cast<detail::task *>(job); };
        ilk_pool_close_now(pool_, discard, nullptr);
    }
    // Waits until the pool is closed and all that it accepted has run or was destroyed.
    void wait() noexcept {
        (void)(ilk_pool_wait_until(pool_, ILK_FOREVER) == ILK_OK); // has no other end
    }
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &length) {
        return ilk_pool_wait_until(pool_, deadline_in(length)) == ILK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration> &limit) {
        return detail::succeeds_until(ilk_pool_wait_until, pool_, limit);
    }

    // For groups, loops and timers.
    [[nodiscard]] native_handle_type native_handle() noexcept {
        return pool_;
    }

  private:
    ilk_pool *pool_ = nullptr;
};

// Around a call by which a job blocks: another thread of its pool takes over meanwhile. On other threads nothing.
class blocking_section {
  public:
    blocking_section() noexcept {
        ilk_pool_will_block();
    }
    ~blocking_section() {
        ilk_pool_did_block();
    }
    blocking_section(const blocking_section &) = delete;
    blocking_section &operator=(const blocking_section &) = delete;
};

} // namespace interlock

#endif
