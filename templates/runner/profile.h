/* What the backend says about its own time: one tree of events for opening the graph, one for running it. */
#ifndef HEXRUN_PROFILE_H
#define HEXRUN_PROFILE_H

#include <stdbool.h>

#include "qnn_abi.h"
#include "status.h"

/* Of one tree; the backend of a large model reports an event for each operator. */
enum { PROFILE_EVENTS = 8192, PROFILE_DEPTH = 6, PROFILE_NAME = 128 };

struct profile_event {
    char name[PROFILE_NAME];
    uint32_t type, unit, depth;
    uint64_t value;
};

/* In the order of a walk through the tree: an event, then its parts, one deeper. */
struct profile_tree {
    struct profile_event *events;
    size_t count, capacity;
    size_t left_out; /* beyond the limits above */
};

struct profile {
    const struct qnn_functions *call;
    qnn_handle handle; /* NULL: no profile is taken */
    struct profile_tree create, execute;
};

enum status profile_open(struct profile *profile, const struct qnn_functions *call, qnn_handle backend, uint32_t level,
                         struct fault *fault);
/* Takes down the events that the handle holds now. */
enum status profile_collect(const struct profile *profile, struct profile_tree *out, struct fault *fault);
/* Gives the handle back to the backend, while that still is; the trees stay. */
void profile_stop(struct profile *profile);
void profile_close(struct profile *profile);

const char *profile_unit(uint32_t unit);

#endif
