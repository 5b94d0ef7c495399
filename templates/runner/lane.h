/* A graph that is ready to execute, with the buffers of its inputs and outputs. */
#ifndef HEXRUN_LANE_H
#define HEXRUN_LANE_H

#include "feed.h"
#include "session.h"

enum buffer_kind { BUFFERS_PLAIN, BUFFERS_SHARED, BUFFERS_AUTO };

struct lane {
    const struct graph *graph; /* NULL: never used */
    qnn_handle opened;         /* NULL: not yet */
    enum buffer_kind kind;
    struct shared_memory memory;
    bool shared;                /* registered with the backend */
    char reason[SHARED_REASON]; /* why not, or empty */
    struct feed inputs, outputs;
};

/* What needs no device. Plain buffers come into being with their first use, shared ones now. lane_close is due in
 * every case. */
enum status lane_prepare(struct lane *lane, const struct model *model, const struct graph *graph,
                         enum buffer_kind kind, struct fault *fault);

/* Retrieves or finalizes the graph in the session's context. */
enum status lane_open(struct lane *lane, struct session *session, const struct model *model, struct fault *fault);
/* Registers the buffers where they are shared. */
enum status lane_share(struct lane *lane, const struct session *session, struct fault *fault);

/* One execution with these buffers. `took` is in microseconds, of the backend alone. */
enum status lane_execute(const struct lane *lane, const struct session *session, const struct feed *inputs,
                         const struct feed *outputs, qnn_handle profile, uint64_t *took, struct fault *fault);

/* Due before the context goes; lane_close after it. */
void lane_unregister(struct lane *lane);
void lane_close(struct lane *lane);

#endif
