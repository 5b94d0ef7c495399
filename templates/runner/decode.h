/* Error codes in words. */
#ifndef HEXRUN_DECODE_H
#define HEXRUN_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/* The part of a QNN return value that is the error code; the bits above it are the backend's own. */
uint32_t decode_mask(uint64_t returned);

/* What the tables say about a code; NULL what they do not. */
struct decoded {
    uint32_t code;
    const char *name, *sentence, *look_first;
};

/* A code that has a row of its own; false where it has none. */
bool decode_row(uint32_t code, struct decoded *out);

/* The same, or what is known of the range that the code is in. */
struct decoded decode_code(uint32_t code);

/* Its name; empty where it has no row. */
const char *decode_name(uint32_t code);

/* The first FastRPC code (0x8000xxxx) with a row that a log line mentions. */
bool decode_line(const char *line, struct decoded *out);

#endif
