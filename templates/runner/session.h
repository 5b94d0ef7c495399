/* The life of a backend: log, backend, device, context, graph, and down again in reverse. */
#ifndef HEXRUN_SESSION_H
#define HEXRUN_SESSION_H

#include "choose.h"
#include "loader.h"
#include "model.h"

struct session {
    const struct libraries *libraries;
    qnn_handle log, backend, device, context;
    qnn_handle profile; /* that opening the graph reports to, or NULL */
};

/* Log and backend. */
enum status session_start(const struct libraries *libraries, struct session *out, struct fault *fault);

/* What the backend and the kernel say about the SoC; silence is no error. */
void session_identify(const struct session *session, struct identity *out);

/* `simulated_soc` is the soc_model to simulate, 0 on a device. The CPU and GPU backends have no device to
 * open; one that is open stays. */
enum status session_create_device(struct session *session, uint32_t simulated_soc, struct fault *fault);

/* An empty context, for graphs that are composed in it. */
enum status session_create_context(struct session *session, struct fault *fault);

enum status session_finalize(struct session *session, const struct graph *graph, struct fault *fault);

/* The context of a context binary; what is composed has its own already. */
enum status session_open_context(struct session *session, const struct model *model, struct fault *fault);

/* The graph, ready to execute: out of the context binary, or by finalizing what is composed. */
enum status session_open_graph(struct session *session, const struct model *model, const struct graph *graph,
                               qnn_handle *out, struct fault *fault);

void session_stop(struct session *session);

#endif
