/* Error codes in words. */
#ifndef HEXRUN_DECODE_H
#define HEXRUN_DECODE_H

#include <stdint.h>

#include "tables.h"

/* The part of a QNN return value that is the error code; the bits above it are the backend's own. */
uint32_t decode_mask(uint64_t returned);

const struct error_row *decode_row(uint32_t code);
const struct error_range *decode_range(uint32_t code);

/* The row of the first FastRPC code (0x8000xxxx) that a log line mentions, or NULL. */
const struct error_row *decode_line(const char *line);

#endif
