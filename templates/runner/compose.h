/* Graphs that are composed on the device, from a DLC or by a model library, instead of read from a context binary. */
#ifndef HEXRUN_COMPOSE_H
#define HEXRUN_COMPOSE_H

#include "model.h"
#include "session.h"

/* Makes the session's device and context, and composes all graphs in it; none is finalized yet. `path` is
 * absolute. What the model holds must outlive the session. */
enum status model_compose(struct session *session, enum asset asset, const char *path, struct model *out,
                          struct fault *fault);

#endif
