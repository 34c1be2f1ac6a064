/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiler attributes, empty where a compiler does not know them. None changes what a call does.
 */
#ifndef INTERLOCK_INLINE_ATTRIBUTES_H
#define INTERLOCK_INLINE_ATTRIBUTES_H

/* Targets that the headers refuse. */
#if !defined(__SIZEOF_POINTER__) || __SIZEOF_POINTER__ != 8
#error "Interlock needs a 64-bit target: its locks and rings keep pointers and counters in 64-bit atomics"
#endif
#if defined(__cplusplus) && __cplusplus < 201103L
#error "Interlock's headers need C++11 or later: compile with -std=c++11"
#endif

/* Inline code is C, which a C++ compiler may be asked to warn of: -Wold-style-cast, -Wuseless-cast. */
#if defined(__cplusplus)
#if defined(__clang__)
#define ILK_BEGIN_DECLARATIONS                                                                               \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wold-style-cast\"") extern "C" {
#define ILK_END_DECLARATIONS                                                                                 \
    }                                                                                                        \
    _Pragma("clang diagnostic pop")
#else
#define ILK_BEGIN_DECLARATIONS                                                                               \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                    \
        _Pragma("GCC diagnostic ignored \"-Wuseless-cast\"") extern "C" {
#define ILK_END_DECLARATIONS                                                                                 \
    }                                                                                                        \
    _Pragma("GCC diagnostic pop")
#endif
#else
#define ILK_BEGIN_DECLARATIONS
#define ILK_END_DECLARATIONS
#endif

/* For initialisers, which a C++ program expands: -Wzero-as-null-pointer-constant. */
#if defined(__cplusplus)
#define ILK__NULL nullptr
#else
#define ILK__NULL 0
#endif

/* For a try call: to drop its result is a bug. */
#define ILK_MUST_USE __attribute__((warn_unused_result))

/* The slow half of a fast path: out of line, away from the hot code. */
#define ILK_COLD __attribute__((cold, noinline))
/* Keeps the caller small. */
#define ILK_NOINLINE __attribute__((noinline))
/* nothrow: -Wfunction-effects asks for it in C++. */
#define ILK_NORETURN __attribute__((noreturn, nothrow))

/* Whatever its size: a call would be the larger half. */
#define ILK_ALWAYS_INLINE static inline __attribute__((always_inline))

/* The call never blocks or allocates, and makes no system call but those its contract names: as a rule a
 * wake-up, when a thread sleeps on the other side. clang 20 and later check it (-Wfunction-effects,
 * RealtimeSanitizer). Part of the function's type, hence behind the parameter list. */
#if defined(__has_attribute)
#if __has_attribute(nonblocking)
#define ILK_NONBLOCKING __attribute__((nonblocking))
#endif
#endif
#ifndef ILK_NONBLOCKING
#define ILK_NONBLOCKING
#endif

/* Around a function that is ILK_NONBLOCKING by decision, not by analysis: a wake-up, a system call made only
 * when a thread sleeps; the report before an abort. */
#if defined(__clang__)
#define ILK_TRUSTED_NONBLOCKING_BEGIN                                                                        \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wunknown-warning-option\"")        \
        _Pragma("clang diagnostic ignored \"-Wfunction-effects\"")
#define ILK_TRUSTED_NONBLOCKING_END _Pragma("clang diagnostic pop")
#else
#define ILK_TRUSTED_NONBLOCKING_BEGIN
#define ILK_TRUSTED_NONBLOCKING_END
#endif

#define ILK_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define ILK_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
/* Seldom true, but not moved out of line, as clang does with ILK_UNLIKELY. */
#define ILK_SELDOM(condition) __builtin_expect_with_probability(!!(condition), 0, 0.9)

#endif
