#include "baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const columns[column_count] = {"id", "name", "a", "b", "n", "x"};

// What the service derives the ids of rows from (service 4.5).
static const unsigned char namespace_of_rows[16] = {
    0xA3, 0x96, 0xDD, 0x91, 0x09, 0xFC, 0x40, 0x17, 0xA2, 0x8D, 0x3D, 0xF7, 0x22, 0xF6, 0x51, 0xE9,
};

bool hasher_open(struct hasher *hasher) {
    hasher->sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
    hasher->sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    hasher->context = EVP_MD_CTX_new();
    return hasher->sha1 != NULL && hasher->sha256 != NULL && hasher->context != NULL;
}

void hasher_close(struct hasher *hasher) {
    EVP_MD_free(hasher->sha1);
    EVP_MD_free(hasher->sha256);
    EVP_MD_CTX_free(hasher->context);
}

// A digest of parts; `digest` has room for the longest there is.
static bool hash(
    struct hasher *hasher, const EVP_MD *algorithm, const struct cell *parts, int count,
    unsigned char digest[EVP_MAX_MD_SIZE]) {
    bool is_done = EVP_DigestInit_ex2(hasher->context, algorithm, NULL) == 1;
    for (int index = 0; index < count; index++) {
        is_done = is_done && EVP_DigestUpdate(hasher->context, parts[index].bytes, parts[index].count) == 1;
    }
    return is_done && EVP_DigestFinal_ex(hasher->context, digest, NULL) == 1;
}

static void little_endian(unsigned char bytes[4], size_t number) {
    for (int index = 0; index < 4; index++) bytes[index] = (unsigned char)(number >> (8 * index));
}

// UUID version 5 over the BSON document of the id.
static bool make_subkey(struct operation *operation, struct hasher *hasher) {
    size_t count = operation->id.count;
    // The length of the document, a text called id, the length of that.
    unsigned char head[12] = {0, 0, 0, 0, 0x02, 'i', 'd', 0};
    little_endian(head, sizeof head + count + 1 + 1);
    little_endian(head + 8, count + 1);
    const struct cell parts[] = {
        {(const char *)namespace_of_rows, sizeof namespace_of_rows},
        {(const char *)head, sizeof head},
        operation->id,
        {"\0", 2},
    };
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!hash(hasher, hasher->sha1, parts, 4, digest)) return false;
    memcpy(operation->subkey, digest, sizeof operation->subkey);
    operation->subkey[6] = (operation->subkey[6] & 0x0F) | 0x50;
    operation->subkey[8] = (operation->subkey[8] & 0x3F) | 0x80;
    return true;
}

// The first four bytes of SHA-256, little endian (service 4.2).
static bool make_checksum(struct operation *operation, struct hasher *hasher) {
    static const char head[] = "put.items.";
    const struct cell parts[] = {
        {head, sizeof head - 1}, operation->id, {".", 1}, {operation->data.bytes, operation->data.count},
    };
    unsigned char digest[EVP_MAX_MD_SIZE];
    if (!hash(hasher, hasher->sha256, parts, 4, digest)) return false;
    operation->checksum = 0;
    for (int index = 3; index >= 0; index--) operation->checksum = operation->checksum << 8 | digest[index];
    return true;
}

bool operation_make(struct operation *operation, struct hasher *hasher, const struct cell cells[column_count]) {
    if (cells[0].bytes == NULL) return false;
    operation->id = cells[0];
    operation->op_id++;
    struct buffer *data = &operation->data;
    data->count = 0;
    for (int column = 0; column < column_count; column++) {
        const struct cell *cell = &cells[column];
        buffer_text(data, column == 0 ? "{\"" : ",\"");
        buffer_text(data, columns[column]);
        buffer_text(data, "\":");
        if (cell->bytes == NULL) {
            buffer_text(data, "null");
        } else if (column >= first_number) {
            buffer_add(data, cell->bytes, cell->count);
        } else {
            buffer_text(data, "\"");
            buffer_escaped(data, cell->bytes, cell->count);
            buffer_text(data, "\"");
        }
    }
    buffer_text(data, "}");
    return !data->is_cut && make_subkey(operation, hasher) && make_checksum(operation, hasher);
}

void operation_write(const struct operation *operation, struct buffer *line) {
    char text[64];
    snprintf(text, sizeof text, "{\"op_id\":\"%" PRId64 "\",\"op\":\"PUT\"", operation->op_id);
    buffer_text(line, text);
    buffer_text(line, ",\"object_type\":\"items\",\"object_id\":\"");
    buffer_escaped(line, operation->id.bytes, operation->id.count);
    snprintf(text, sizeof text, "\",\"checksum\":%" PRIu32 ",\"subkey\":\"", operation->checksum);
    buffer_text(line, text);
    for (int index = 0; index < 16; index++) {
        const char *dash = index == 4 || index == 6 || index == 8 || index == 10 ? "-" : "";
        snprintf(text, sizeof text, "%s%02x", dash, operation->subkey[index]);
        buffer_text(line, text);
    }
    buffer_text(line, "\",\"data\":\"");
    buffer_escaped(line, operation->data.bytes, operation->data.count);
    buffer_text(line, "\"}");
}
