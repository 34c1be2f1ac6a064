// SPDX-License-Identifier: Apache-2.0
//
// What happens to the memory of pictures when they are freed.

#include "image_codecs.h"

#ifdef __GLIBC__
#include <malloc.h>

// glibc raises its threshold with each large block that is freed, up to 32 MB, and keeps what is smaller: six photos
// of 12 megapixels needed 689 MB instead of 360. A threshold that was set stays.
void codec_give_freed_memory_back(void) {
    mallopt(M_MMAP_THRESHOLD, 1000 * 1000);
}
#else
void codec_give_freed_memory_back(void) {}
#endif
