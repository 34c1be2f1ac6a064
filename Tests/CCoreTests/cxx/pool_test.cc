// SPDX-License-Identifier: Apache-2.0
//
// Callables and futures on the worker pool.
#include "cxx/test.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <sys/wait.h>

using namespace std::chrono_literals;
using interlock::latch;
using interlock::pool;

static ilk_pool_options one_thread() {
    ilk_pool_options options = ilk_pool_options();
    options.threads = 1;
    return options;
}

// `task` has a unique_ptr, and so only moves.
TEST(what_is_posted_runs_once_and_is_destroyed) {
    const auto owned = std::make_shared<std::atomic<int>>(0);
    {
        pool workers;
        for (int i = 0; i < 100; i++) {
            auto part = std::make_unique<std::shared_ptr<std::atomic<int>>>(owned);
            check(workers.post([part = std::move(part)] { (*part)->fetch_add(1); },
                               i % 2 == 0 ? ILK_PRIORITY_HIGH : ILK_PRIORITY_NORMAL));
        }
    } // waits for all of them
    check_equal(owned->load(), 100);
    check_equal(owned.use_count(), 1);
}

TEST(a_future_has_the_result_or_the_exception) {
    pool workers;
    std::future<int> result = workers.submit([half = std::make_unique<int>(21)] { return 2 * *half; });
    std::future<void> failure = workers.submit([] { throw std::runtime_error("no result"); });
    check_equal(result.get(), 42);
    check(throws<std::runtime_error>([&] { failure.get(); }));
}

TEST(a_closed_pool_refuses_and_destroys) {
    pool workers(one_thread());
    workers.close();
    const auto owned = std::make_shared<int>(0);
    check(!workers.post([owned] {}));
    check_equal(owned.use_count(), 1);
    std::future<void> refused = workers.submit([] {});
    check(throws<std::future_error>([&] { refused.get(); }));
    workers.wait();
}

// worker    runs a job --------------------------- ends
// test                  wait_for, close_now ------
TEST(close_now_destroys_what_has_not_begun) {
    pool workers(one_thread());
    latch begun(1), end(1);
    const auto owned = std::make_shared<int>(0);
    check(workers.post([&] {
        begun.count_down();
        end.wait();
    }));
    begun.wait();
    check(workers.post([owned] { (*owned)++; }));
    std::future<void> broken = workers.submit([owned] { (*owned)++; });
    check(!workers.wait_for(1ms) && !workers.wait_until(std::chrono::system_clock::now()));
    workers.close_now();
    end.count_down();
    check(workers.wait_for(far));
    check(throws<std::future_error>([&] { broken.get(); }));
    check(*owned == 0 && owned.use_count() == 1);
}

TEST(a_blocking_section_lets_another_job_run) {
    ilk_pool_options options = one_thread();
    options.max_threads = 2;
    pool workers(options);
    std::future<void> inner;
    std::future<void> outer = workers.submit([&] {
        inner = workers.submit([] {});
        const interlock::blocking_section blocking;
        inner.wait();
    });
    outer.get();
}

TEST(options_that_do_not_fit_are_refused) {
    ilk_pool_options options = one_thread();
    options.threads = ILK_POOL_MAX_THREADS + 1;
    check(throws<std::invalid_argument>([&] { const pool workers(options); }));
}

static void throw_in_a_job(void *) {
    pool workers;
    check(workers.post([] { throw 1; }));
}

TEST(an_exception_that_leaves_a_job_ends_the_process) {
    char output[512];
    const int status = child_run(throw_in_a_job, nullptr, output, sizeof output);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    check(strstr(output, "terminate called") != nullptr || strstr(output, "terminating") != nullptr);
}

static void wait_in_a_job(void *) {
    pool workers;
    check(workers.post([&] { workers.wait(); }));
}

static void destroy_in_a_job(void *) {
    pool *const workers = new pool;
    check(workers->post([=] { delete workers; }));
    pool(one_thread()).wait(); // for ever: it is not closed
}

TEST(a_job_that_waits_for_its_pool_is_reported) {
    expect_misuse(wait_in_a_job, nullptr, "ilk_pool_wait_until", "own jobs");
    expect_misuse(destroy_in_a_job, nullptr, "ilk_pool_wait_until", "own jobs");
}
