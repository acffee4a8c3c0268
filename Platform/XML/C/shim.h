#ifndef CPowerSyncExpat_SHIM_H
#define CPowerSyncExpat_SHIM_H

#include <expat.h>

#endif
