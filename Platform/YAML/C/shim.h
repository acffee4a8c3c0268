#ifndef CPowerSyncYAML_SHIM_H
#define CPowerSyncYAML_SHIM_H

#include <yaml.h>

#endif
