#include "CPowerSyncSystem.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define POWERSYNC_HAS_THREAD_SANITIZER 1
#endif
#endif

#ifdef POWERSYNC_HAS_THREAD_SANITIZER

#include <stdatomic.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

// What is handed over stands for an address. Two that share one only hide races of theirs.
static char places[1 << 16];

static char *place(uint64_t mark) { return &places[mark % sizeof places]; }

uint64_t powersync_hand_over(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1);
}

void powersync_handed_over(uint64_t mark) { __tsan_release(place(mark)); }

void powersync_taken_over(uint64_t mark) { __tsan_acquire(place(mark)); }

#else

uint64_t powersync_hand_over(void) { return 0; }

void powersync_handed_over(uint64_t mark) { (void)mark; }

void powersync_taken_over(uint64_t mark) { (void)mark; }

#endif
