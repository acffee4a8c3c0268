#ifndef CPowerSyncSystem_H
#define CPowerSyncSystem_H

#endif
