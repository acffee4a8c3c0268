#include "CPowerSyncSystem.h"
