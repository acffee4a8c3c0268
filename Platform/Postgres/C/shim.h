#ifndef CPowerSyncPQ_SHIM_H
#define CPowerSyncPQ_SHIM_H

#include <libpq-fe.h>

#endif
