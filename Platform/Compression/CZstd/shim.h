#ifndef CPowerSyncZstd_SHIM_H
#define CPowerSyncZstd_SHIM_H

#include <zstd.h>

#endif
