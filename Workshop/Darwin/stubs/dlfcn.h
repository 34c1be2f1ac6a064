/* SPDX-License-Identifier: Apache-2.0
 *
 * What dyld tells of an address, and of a name.
 */
#ifndef INTERLOCK_STUB_DLFCN_H
#define INTERLOCK_STUB_DLFCN_H

typedef struct dl_info {
    const char *dli_fname;
    void *dli_fbase;
    const char *dli_sname;
    void *dli_saddr;
} Dl_info;

#define RTLD_DEFAULT ((void *)-2)

int dladdr(const void *address, Dl_info *information);
void *dlsym(void *handle, const char *symbol);

#endif
