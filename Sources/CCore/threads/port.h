/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the files that do the same for different systems a build compiles. Every such file includes
 * this and is empty when it is not the chosen one, so that one list of sources serves SwiftPM, CMake
 * and Xcode. Define ILK_PARK_BACKEND_PTHREAD to build the portable park layer where futex(2) exists.
 */
#ifndef INTERLOCK_THREADS_PORT_H
#define INTERLOCK_THREADS_PORT_H

#if defined(__linux__)
#define ILK__PORT_LINUX 1
#else
#define ILK__PORT_LINUX 0
#endif

/* Unique symbols of GNU systems. The explorer, which has one copy of everything and puts plain variables
 * back between its runs, defines ILK_MODEL. */
#if defined(__gnu_linux__) && !defined(ILK_MODEL)
#define ILK__PORT_UNIQUE_SYMBOLS 1
#else
#define ILK__PORT_UNIQUE_SYMBOLS 0
#endif

#if ILK__PORT_LINUX && !defined(ILK_PARK_BACKEND_PTHREAD)
#define ILK__PARK_FUTEX 1
#else
#define ILK__PARK_FUTEX 0
#endif

#endif
