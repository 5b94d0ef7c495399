/* A context binary made from graphs that were composed here. */
#ifndef HEXRUN_SAVE_H
#define HEXRUN_SAVE_H

#include <stdint.h>

#include "status.h"

struct hexrun;

/* What the stored file says about itself. */
struct saved {
    const char *file;
    uint64_t bytes;
    uint32_t soc_model, hexagon; /* 0: not told */
};

/* Prepares every graph of the model and stores the context as `file`. It is read back and judged under another
 * name first, so that under its own there is a good one or none. */
enum status save_context(struct hexrun *handle, const char *file, struct saved *out, struct fault *fault);

#endif
