/* The chosen model: a context binary, or graphs that are composed here from a DLC or by a model library. */
#ifndef HEXRUN_COMPOSE_H
#define HEXRUN_COMPOSE_H

#include "model.h"
#include "session.h"

/* Describes a context binary, which needs no device. Of anything else all graphs are composed, for which the
 * session gets its device and its context; none is finalized yet. What the model holds must outlive the session. */
enum status asset_open(struct session *session, const struct choice *choice, struct model *out, struct fault *fault);

/* The soc_model to simulate; 0 on a device. */
uint32_t simulated_soc(const struct config *config, const struct choice *choice);

#endif
