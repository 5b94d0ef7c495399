/* The two vendor libraries: loaded by absolute path, and checked before anything in them is trusted. */
#ifndef HEXRUN_LOADER_H
#define HEXRUN_LOADER_H

#include "config.h"
#include "qnn_abi.h"
#include "status.h"

struct libraries {
    const struct qnn_interface *backend;
    const struct qnn_system_interface *system;
    const char *build; /* the backend's QAIRT build id, or "unknown" */
};

/* Sets the DSP search path first, because the backend reads it while it loads. */
enum status libraries_load(const struct config *config, struct libraries *out, struct fault *fault);

#endif
