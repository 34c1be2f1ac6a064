// SPDX-License-Identifier: Apache-2.0
//
// How <interlock/interlock.hpp> refuses: by the standard's exceptions, or by std::abort where a program is compiled
// without exceptions. Include that header, not this one.
#ifndef INTERLOCK_CXX_FAILURE_HPP
#define INTERLOCK_CXX_FAILURE_HPP

#include <interlock/status.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <system_error>

namespace interlock {
namespace detail {

#if defined(__cpp_exceptions)
template <class Exception> [[noreturn]] inline void fail(Exception exception) {
    throw exception;
}
#else
template <class Exception> [[noreturn]] inline void fail(Exception) {
    std::abort();
}
#endif

// Turns the status of a call that creates or adds into an exception: `what` names the argument that ILK_INVALID
// refuses.
inline void require_ok(ilk_status status, const char *what) {
    if (status == ILK_INVALID) {
        fail(std::invalid_argument(what));
    }
    if (status != ILK_OK) {
        fail(std::bad_alloc());
    }
}

// A call on a lock object that holds nothing fails as std::unique_lock does.
[[noreturn]] inline void fail_not_held(const char *call) {
    fail(std::system_error(std::make_error_code(std::errc::operation_not_permitted), call));
}

} // namespace detail
} // namespace interlock

#endif
