#ifndef CPowerSyncZlib_SHIM_H
#define CPowerSyncZlib_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

static inline uint32_t powersync_crc32(const void *bytes, size_t length) {
    return (uint32_t)crc32_z(0, bytes, length);
}

// With large files crc32_combine is a macro, and the type of a length differs from system to system.
static inline uint32_t powersync_crc32_combine(uint32_t first, uint32_t second, int64_t second_length) {
    return (uint32_t)crc32_combine(first, second, (z_off_t)second_length);
}

#endif
