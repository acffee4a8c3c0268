#include "CPowerSyncSystem.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

void powersync_trim_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

void powersync_map_large_memory(void) {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, POWERSYNC_LARGE_MEMORY);
#endif
}
