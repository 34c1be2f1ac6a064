/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the files that do the same for different systems a build compiles. Each includes this and is empty
 * when not chosen: one list of sources serves SwiftPM, CMake and Xcode. Define ILK_PARK_BACKEND_PTHREAD to
 * build the portable park layer where futex(2) exists.
 */
#ifndef INTERLOCK_PLATFORM_PORT_H
#define INTERLOCK_PLATFORM_PORT_H

#if defined(__linux__)
#define ILK__PORT_LINUX 1
#else
#define ILK__PORT_LINUX 0
#endif

/* ELF: assembly places symbols, program headers list what is loaded. Not in the explorer (ILK_MODEL), which
 * has one copy of everything and resets plain variables between runs. */
#if ILK__PORT_LINUX && !defined(ILK_MODEL)
#define ILK__PORT_ELF 1
#else
#define ILK__PORT_ELF 0
#endif

/* Shared by assembly and rwlock/slot_table.h. */
#define ILK__TABLE_ROLE_OFFSET 8200
#define ILK__TABLE_NOTE_TYPE 1

#if ILK__PORT_LINUX && !defined(ILK_PARK_BACKEND_PTHREAD)
#define ILK__PARK_FUTEX 1
#else
#define ILK__PARK_FUTEX 0
#endif

#endif
