#ifndef CPowerSyncCrypto_SHIM_H
#define CPowerSyncCrypto_SHIM_H

#include <openssl/evp.h>
#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/err.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/x509.h>

#endif
