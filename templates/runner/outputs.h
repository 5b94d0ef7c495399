/* What becomes of the outputs: files, digests, comparison with references. */
#ifndef HEXRUN_OUTPUTS_H
#define HEXRUN_OUTPUTS_H

#include "digest.h"
#include "draft.h"
#include "samples.h"

struct output {
    const char *descr;         /* of what is written and digested */
    bool converted;            /* to float32 from what is stored */
    char stem[136];            /* the tensor's name as a file name */
    char file[PATH_CAPACITY];  /* empty: not written; with samples, "{sample}" stands for each one's name */
    struct draft draft;        /* open while a batch is written */
    struct digest running;
    char sha256[DIGEST_HEX];   /* over the elements of all runs, in order */
};

struct outputs {
    const struct feed *feed;
    const struct samples *samples;
    const char *folder; /* NULL: nothing is written */
    bool native;
    struct output *items;    /* one for each of the graph's */
    char sha256[DIGEST_HEX]; /* over the outputs' digests, in the graph's order */
};

/* Makes the folder. */
enum status outputs_open(const struct feed *feed, const struct samples *samples, const struct options *options,
                         struct outputs *out, struct fault *fault);
/* Takes what the buffers hold after a run; runs come in order, from 0. */
enum status outputs_take(struct outputs *outputs, size_t run, struct fault *fault);
void outputs_finish(struct outputs *outputs);
void outputs_close(struct outputs *outputs);

#endif
