// SPDX-License-Identifier: Apache-2.0
//
// The C tests' support in C++: threads that run a callable, and what the tests of <interlock/interlock.hpp> share.
#ifndef INTERLOCK_TESTS_CXX_TEST_HPP
#define INTERLOCK_TESTS_CXX_TEST_HPP

#include <interlock/interlock.hpp>

#include <functional>
#include <thread>

// C's word for what the support declares.
#define _Noreturn [[noreturn]]
extern "C" {
#include "support/test.h"
}
#undef _Noreturn

// Runs `body`; joined at its end.
class running {
  public:
    explicit running(std::function<void()> body) : body_(std::move(body)) {
        thread_start(&thread_, call, this);
    }
    ~running() {
        thread_join(&thread_);
    }
    running(const running &) = delete;
    running &operator=(const running &) = delete;

    // For a body that can sleep only in the call under test.
    void await_sleep() {
        thread_await_sleep(&thread_);
    }
    bool is_done() {
        return thread_is_done(&thread_);
    }

  private:
    static void call(void *self) {
        static_cast<running *>(self)->body_();
    }

    std::function<void()> body_;
    thread thread_;
};

// What `body` answers on another thread: it owns nothing.
template <class Body> bool elsewhere(Body body) {
    bool answer = false;
    {
        const running other([&] { answer = body(); });
    }
    return answer;
}

// Whether `body` throws an Exception.
template <class Exception, class Body> bool throws(Body body) {
    try {
        body();
    } catch (const Exception &) {
        return true;
    }
    return false;
}

// A clock of the test's own. Each reading moves it on by `step`.
struct set_clock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<set_clock>;
    static constexpr bool is_steady = false;

    static time_point now() {
        const time_point read(duration{current});
        current += step;
        readings++;
        return read;
    }

    static inline rep current = 0, step = 0;
    static inline int readings = 0;
};

constexpr auto far = std::chrono::hours(1); // longer than any test

#endif
