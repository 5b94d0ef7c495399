/* One run from command line to results. */
#ifndef HEXRUN_RUN_H
#define HEXRUN_RUN_H

#include "compare.h"
#include "handle.h"
#include "measure.h"
#include "options.h"
#include "outputs.h"
#include "profile.h"
#include "samples.h"
#include "save.h"

/* Microseconds. `first` is the first execution, warm-up or not. */
struct timings {
    uint64_t first;
    bool started; /* `first` is known */
    struct summary each;
};

/* Shared buffers against plain ones. */
struct sharing {
    struct summary plain; /* the same executions with plain buffers */
    bool same_outputs;
};

/* Everything a run holds and everything there is to report about it. */
struct run {
    const struct options *options;
    struct handle_steps steps;
    struct hexrun *handle;
    struct lane *lane; /* the handle's, of the graph that runs */
    struct sharing sharing;
    struct samples samples;
    struct outputs results;
    struct compare compare;
    struct profile profile;
    struct times times;
    struct timings timings;
    struct saved saved;
    uint64_t peak_memory; /* bytes; 0: the system does not tell */
};

/* Fills `run` as far as it gets; run_close is due in every case. */
enum status run_execute(struct run *run, const struct options *options, struct fault *fault);

/* The same up to the model's metadata. */
enum status run_describe(struct run *run, const struct options *options, struct fault *fault);

/* Composes every graph of the model and stores them as the context binary options->save_context. */
enum status run_save(struct run *run, const struct options *options, struct fault *fault);

void run_close(struct run *run);

#endif
