#ifndef CPowerSyncCurl_SHIM_H
#define CPowerSyncCurl_SHIM_H

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/socket.h>

/* Swift cannot call variadic functions, nor read the union in CURLMsg: one small function for each shape. */

typedef size_t (*ps_curl_callback)(char *data, size_t size, size_t count, void *context);

static inline CURLcode ps_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ps_curl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ps_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ps_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

/* libcurl copies the bytes. */
static inline CURLcode ps_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}

static inline CURLcode ps_curl_set_callback(CURL *easy, CURLoption option, ps_curl_callback value) {
    return curl_easy_setopt(easy, option, value);
}

/* Asks for every socket before it connects; it gets the address that it will be connected to. */
static inline CURLcode ps_curl_set_open_socket(CURL *easy, curl_opensocket_callback value) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

/* Goes to another place of what is sent. */
static inline CURLcode ps_curl_set_seek(CURL *easy, curl_seek_callback value) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}

/* Tells each time a request is about to be sent, also one that libcurl sends again by itself. */
static inline CURLcode ps_curl_set_before_request(CURL *easy, curl_prereq_callback value) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline const struct sockaddr *ps_curl_address(const struct curl_sockaddr *address) {
    return &address->addr;
}

/* A socket for an address, closed in children. */
static inline curl_socket_t ps_curl_socket(const struct curl_sockaddr *address) {
#ifdef SOCK_CLOEXEC
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    curl_socket_t descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor != CURL_SOCKET_BAD) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
#endif
}

/* How many bytes the connection has accepted and brought, the heads of request and answer included. */
static inline curl_off_t ps_curl_bytes(CURL *easy) {
    curl_off_t sent = 0, received = 0;
    long request_head = 0, answer_head = 0;
    curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_head);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &answer_head);
    curl_easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    return request_head + sent + answer_head + received;
}

/* The status with which a proxy answered CONNECT last, 0 if none did. */
static inline long ps_curl_connect_status(CURL *easy) {
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status);
    return status;
}

/* What was found wrong with the certificate of the server, else with that of the proxy. */
static inline long ps_curl_verify_result(CURL *easy) {
    /* 1 stands for a handshake that has not come so far. */
    long server = 0, proxy = 0;
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &server);
    curl_easy_getinfo(easy, CURLINFO_PROXY_SSL_VERIFYRESULT, &proxy);
    return server > 1 ? server : proxy;
}

/* How many bytes of the body the connection has accepted. */
static inline curl_off_t ps_curl_sent(CURL *easy) {
    curl_off_t sent = 0;
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return sent;
}

/* Whether nothing of an answer has come on a connection that was kept from another request. */
static inline int ps_curl_is_lost_on_kept(CURL *easy) {
    long made = 0, answer_head = 0;
    curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made);
    curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &answer_head);
    return made == 0 && answer_head == 0;
}

/* Whether the connection has accepted all of a request whose body has so many bytes.
 *
 * The sizes of heads say nothing of it: those of CONNECT and of the answer to it count among them. */
static inline int ps_curl_is_sent(CURL *easy, curl_off_t body) {
    curl_off_t begun = 0, sent = 0;
    /* Behind the tunnel and the handshake, with the head of the request. */
    curl_easy_getinfo(easy, CURLINFO_PRETRANSFER_TIME_T, &begun);
    curl_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return begun > 0 && sent >= body;
}

/* Returns the next finished transfer, NULL if there is none. */
static inline CURL *ps_curl_next_finished(CURLM *multi, CURLcode *result) {
    CURLMsg *message;
    int remaining;
    while ((message = curl_multi_info_read(multi, &remaining))) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

#endif
