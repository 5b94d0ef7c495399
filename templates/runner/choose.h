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
    char name[CONFIG_WORD]; /* what the system calls the SoC or the processor; empty: not told */
};

struct choice {
    const struct variant *variant;
    enum asset asset; /* of the variant, the first that the unit can use */
    char reason[256];
};

/* The model for the unit, on this device. `wanted` is --soc, a SoC's name or number, or NULL. Graphs that the
 * CPU or GPU composes do not depend on the SoC, so there any variant with such a model will do. */
enum status choose_variant(const struct config *config, enum unit unit, const char *wanted,
                           const struct identity *identity, struct choice *out, struct fault *fault);

/* Whether a SoC of this soc_model is called so, in whole words and without regard to case. */
bool soc_is_called(uint32_t soc_model, const char *name);

#endif
