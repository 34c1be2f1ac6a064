/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler's limits, and those of threads.
 */
#ifndef INTERLOCK_STUB_LIMITS_H
#define INTERLOCK_STUB_LIMITS_H

#include_next <limits.h>

#define PTHREAD_DESTRUCTOR_ITERATIONS 4
#if defined(__arm64__)
#define PTHREAD_STACK_MIN 16384
#else
#define PTHREAD_STACK_MIN 8192
#endif

#endif
