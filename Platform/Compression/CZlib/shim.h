#ifndef CPowerSyncZlib_SHIM_H
#define CPowerSyncZlib_SHIM_H

#include <zlib.h>

#endif
