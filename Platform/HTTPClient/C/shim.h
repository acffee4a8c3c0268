#ifndef CPowerSyncCurl_SHIM_H
#define CPowerSyncCurl_SHIM_H

#include <curl/curl.h>

#endif
