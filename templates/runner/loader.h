/* The two vendor libraries: loaded by absolute path, and checked before anything in them is trusted. */
#ifndef HEXRUN_LOADER_H
#define HEXRUN_LOADER_H

#include "config.h"
#include "qnn_abi.h"
#include "status.h"

struct libraries {
    const struct config *config;
    const struct compute *unit; /* of config: what the backend drives */
    const struct qnn_interface *backend;
    const struct qnn_system_interface *system;
    const char *build; /* the backend's QAIRT build id, or "unknown" */
};

/* Sets the DSP search path first, because the backend reads it while it loads. */
enum status libraries_load(const struct config *config, const struct compute *unit, struct libraries *out,
                           struct fault *fault);

/* A library that runner.conf names, and one of its entry points. `role` is for messages. */
enum status library_entry(const struct config *config, const char *name, const char *role, const char *symbol,
                          void **entry, struct fault *fault);

#endif
