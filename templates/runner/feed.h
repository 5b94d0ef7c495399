/* The buffers of one graph: filled from files, handed to the backend, written to files. */
#ifndef HEXRUN_FEED_H
#define HEXRUN_FEED_H

#include "model.h"
#include "options.h"
#include "platform.h"

struct feed {
    const struct graph_io *io;
    size_t stride;
    char *raw;   /* the backend's tensor descriptions, pointing at `data` */
    void **data; /* stored form, one buffer per tensor */
};

/* What was written for one output. */
struct result {
    const char *descr;
    char file[PATH_CAPACITY]; /* empty: not written */
};

enum status feed_open(const struct model *model, const struct graph_io *io, struct feed *out, struct fault *fault);
void feed_close(struct feed *feed);
struct qnn_tensor *feed_tensors(const struct feed *feed);

/* Every input once, of the graph's shape; float32 is converted where the graph stores something else. */
enum status feed_read(struct feed *feed, const struct options *options, struct fault *fault);

/* Writes DIR/NAME.npy for every output and tells what was written; with no DIR only the latter. */
enum status feed_write(const struct feed *feed, const char *folder, bool native, struct result *results,
                       struct fault *fault);

#endif
