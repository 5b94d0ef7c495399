/* The buffers of one side of a graph, handed to the backend with every execution. */
#ifndef HEXRUN_FEED_H
#define HEXRUN_FEED_H

#include "model.h"
#include "shared.h"

struct feed {
    const struct graph_io *io;
    size_t stride;
    char *raw;   /* the backend's tensor descriptions, pointing at `data` */
    void **data; /* stored form, one buffer per tensor; NULL: not needed so far */
    const struct shared_memory *memory; /* that `data` is from; NULL: the heap */
    const struct qnn_functions *call;   /* that the handles are to be given back to */
    qnn_handle *handles;                /* of registered buffers; NULL: handed over as plain pointers */
};

/* Descriptions without buffers. `memory` is NULL for plain ones. RUN_DEFECT where memory is short, here and
 * below. */
enum status feed_begin(const struct model *model, const struct graph_io *io, const struct shared_memory *memory,
                       struct feed *out, struct fault *fault);
/* The buffer of one tensor, zeroed, unless it is there. */
enum status feed_allocate(struct feed *feed, uint32_t index, struct fault *fault);
/* Both, for all tensors. */
enum status feed_open(const struct model *model, const struct graph_io *io, const struct shared_memory *memory,
                      struct feed *out, struct fault *fault);
void feed_close(struct feed *feed);

/* Registers shared buffers with the context, all or none; false with the reason. They are ordinary memory
 * too, so a run goes on with plain pointers into them. feed_unregister is due before the context goes. */
bool feed_register(struct feed *feed, const struct qnn_functions *call, qnn_handle context,
                   char reason[SHARED_REASON]);
void feed_unregister(struct feed *feed);

/* Whose memory a tensor has in the next execution: `data`, or the feed's own with NULL. Not for registered ones. */
void feed_point(struct feed *feed, uint32_t index, void *data);

struct qnn_tensor *feed_tensors(const struct feed *feed);
size_t feed_bytes(const struct feed *feed);

/* The index of the tensor with that name; NULL names the only one. io->count when there is none. */
uint32_t find_tensor(const struct graph_io *io, const char *name);

#endif
