/* Which inputs the graph gets, run after run: one file each, the parts of a batch, or a folder's samples. */
#ifndef HEXRUN_SAMPLES_H
#define HEXRUN_SAMPLES_H

#include "feed.h"
#include "options.h"
#include "source.h"

enum { SAMPLES_LIMIT = 65536 };

enum samples_kind { SAMPLES_ONE, SAMPLES_BATCH, SAMPLES_FOLDER };

/* File names in a folder, in byte order. */
struct listing {
    char **names;
    size_t count;
};

struct sample_input {
    const char *path;
    struct listing files; /* when `path` is a folder: one for each sample */
    struct source source; /* when it is a file */
};

struct samples {
    const struct graph_io *io;
    enum samples_kind kind;
    size_t count;                /* runs, at least one */
    struct sample_input *inputs; /* one for each of the graph's */
    char **names;                /* of a folder's samples: file names without their ending */
};

/* Opens every file once to check it. A file beside folders or batches serves every run. */
enum status samples_open(const struct graph_io *io, const struct options *options, struct samples *out,
                         struct fault *fault);
void samples_close(struct samples *samples);

/* Fills the input buffers for a run; runs come in order, from 0. */
enum status samples_load(struct samples *samples, size_t index, const struct feed *feed, struct fault *fault);

/* The path of a sample's file below `folder`; false when it is too long. */
bool join_path(const char *folder, const char *name, char out[PATH_CAPACITY]);

#endif
