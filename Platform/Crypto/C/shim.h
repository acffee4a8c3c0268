#ifndef CPowerSyncCrypto_SHIM_H
#define CPowerSyncCrypto_SHIM_H

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

/* OSSL_PARAM_BLD keeps the pointers it is given until the parameters are made, and EVP_PKEY_Q_keygen takes a
   variable list of arguments: keys are therefore built here, where every pointer lives long enough. */

/* Makes a key of `type` of what the builder holds. */
static inline EVP_PKEY *powersync_key_from(const char *type, OSSL_PARAM_BLD *builder, int is_private) {
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    if (parameters == NULL || context == NULL || EVP_PKEY_fromdata_init(context) != 1
        || EVP_PKEY_fromdata(context, &key, is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parameters) != 1) {
        key = NULL;
    }
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return key;
}

/* The members of an RSA JWK stand behind each other in `bytes` in the order n, e, d, p, q, dp, dq, qi;
   a length of 0 means that the member is absent. */
static inline EVP_PKEY *powersync_rsa_key(const unsigned char *bytes, const size_t lengths[8]) {
    static const char *const names[8] = {
        OSSL_PKEY_PARAM_RSA_N,       OSSL_PKEY_PARAM_RSA_E,         OSSL_PKEY_PARAM_RSA_D,
        OSSL_PKEY_PARAM_RSA_FACTOR1, OSSL_PKEY_PARAM_RSA_FACTOR2,   OSSL_PKEY_PARAM_RSA_EXPONENT1,
        OSSL_PKEY_PARAM_RSA_EXPONENT2, OSSL_PKEY_PARAM_RSA_COEFFICIENT1,
    };
    BIGNUM *numbers[8] = {NULL};
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    int complete = builder != NULL;
    for (int index = 0; complete && index < 8; index++) {
        if (lengths[index] == 0) continue;
        numbers[index] = BN_bin2bn(bytes, (int)lengths[index], NULL);
        complete = numbers[index] != NULL && OSSL_PARAM_BLD_push_BN(builder, names[index], numbers[index]) == 1;
        bytes += lengths[index];
    }
    EVP_PKEY *key = complete ? powersync_key_from("RSA", builder, lengths[2] != 0) : NULL;
    OSSL_PARAM_BLD_free(builder);
    for (int index = 0; index < 8; index++) BN_clear_free(numbers[index]);
    return key;
}

/* `point` is uncompressed (4, x, y); `secret` is empty for a public key. */
static inline EVP_PKEY *powersync_ec_key(
    const char *group, const unsigned char *point, size_t point_length, const unsigned char *secret,
    size_t secret_length) {
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *number = secret_length == 0 ? NULL : BN_bin2bn(secret, (int)secret_length, NULL);
    EVP_PKEY *key = NULL;
    if (builder != NULL
        && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, group, 0) == 1
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point, point_length) == 1
        && (secret_length == 0
            || (number != NULL && OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1))) {
        key = powersync_key_from("EC", builder, secret_length != 0);
    }
    OSSL_PARAM_BLD_free(builder);
    BN_clear_free(number);
    return key;
}

static inline EVP_PKEY *powersync_generate_rsa(size_t bits) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", bits);
}

static inline EVP_PKEY *powersync_generate_ec(const char *group) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", group);
}

/* `type` is ED25519 or ED448. */
static inline EVP_PKEY *powersync_generate_edwards(const char *type) {
    return EVP_PKEY_Q_keygen(NULL, NULL, type);
}

/* No password, and never a question on the terminal, which is what libcrypto does without a callback. */
static inline int powersync_no_password(char *buffer, int size, int writing, void *context) {
    (void)buffer, (void)size, (void)writing, (void)context;
    return -1;
}

static inline EVP_PKEY *powersync_read_private_pem(BIO *bio) {
    return PEM_read_bio_PrivateKey(bio, NULL, powersync_no_password, NULL);
}

static inline EVP_PKEY *powersync_read_public_pem(BIO *bio) {
    return PEM_read_bio_PUBKEY(bio, NULL, powersync_no_password, NULL);
}

#endif
