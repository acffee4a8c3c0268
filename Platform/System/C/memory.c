#include "CPowerSyncSystem.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

void powersync_trim_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}
