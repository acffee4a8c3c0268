#include "baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buffer_add(struct buffer *buffer, const void *bytes, size_t count) {
    if (buffer->is_cut) return;
    if (buffer->room - buffer->count < count) {
        size_t room = 2 * buffer->room + count + 256;
        char *more = realloc(buffer->bytes, room);
        if (more == NULL) {
            buffer->is_cut = true;
            return;
        }
        buffer->bytes = more;
        buffer->room = room;
    }
    if (count > 0) memcpy(buffer->bytes + buffer->count, bytes, count);
    buffer->count += count;
}

void buffer_text(struct buffer *buffer, const char *text) {
    buffer_add(buffer, text, strlen(text));
}

void buffer_escaped(struct buffer *buffer, const char *bytes, size_t count) {
    size_t plain = 0;
    for (size_t index = 0; index < count; index++) {
        unsigned char byte = (unsigned char)bytes[index];
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        buffer_add(buffer, bytes + plain, index - plain);
        plain = index + 1;
        char escape[8];
        if (byte >= 0x20) {
            snprintf(escape, sizeof escape, "\\%c", byte);
        } else {
            snprintf(escape, sizeof escape, "\\u%04x", byte);
        }
        buffer_text(buffer, escape);
    }
    buffer_add(buffer, bytes + plain, count - plain);
}

void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

int limit_fail(char *error, size_t room, const char *what, const char *reason) {
    snprintf(error, room, "%s: %s", what, reason);
    // Messages of libpq have lines of their own.
    error[strcspn(error, "\n")] = 0;
    return -1;
}
