/* Which of the package's models this device runs. Never a guess: a model compiled for another SoC of
 * the same Hexagon architecture may crash the DSP. */
#ifndef HEXRUN_CHOOSE_H
#define HEXRUN_CHOOSE_H

#include "config.h"
#include "status.h"

/* What the device says about itself. */
struct identity {
    bool from_backend;
    uint32_t soc_model, hexagon, vtcm_mb; /* 0: not told */
    bool from_linux;
    uint32_t linux_soc_id;
};

struct choice {
    const struct variant *variant;
    char reason[256];
};

/* `wanted` is --soc, a SoC's name or number, or NULL. */
enum status choose_variant(const struct config *config, const char *wanted, const struct identity *identity,
                           struct choice *out, struct fault *fault);

#endif
