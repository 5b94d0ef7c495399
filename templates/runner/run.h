/* One run from command line to results. */
#ifndef HEXRUN_RUN_H
#define HEXRUN_RUN_H

#include "choose.h"
#include "compare.h"
#include "config.h"
#include "feed.h"
#include "measure.h"
#include "options.h"
#include "outputs.h"
#include "power.h"
#include "profile.h"
#include "samples.h"
#include "save.h"
#include "session.h"
#include "units.h"

/* Microseconds. `create` is device, power vote and context; `first` the first execution, warm-up or not. */
struct timings {
    uint64_t load, create, first;
    bool started; /* `first` is known */
    struct summary each;
};

/* Where inputs and outputs lie. */
struct buffers {
    struct shared_memory memory;
    bool shared; /* registered with the backend */
    char reason[SHARED_REASON]; /* why they are not, or empty */
    struct summary plain; /* the same executions with plain buffers, for comparison */
    bool same_outputs;
};

/* Everything a run holds and everything there is to report about it. */
struct run {
    const struct options *options;
    struct config *config;
    const struct compute *unit; /* that the run is on */
    struct passed_over passed_over;
    struct libraries libraries;
    struct session session;
    struct choice choice;
    struct model model;
    const struct graph *graph;
    struct power power;
    struct buffers buffers;
    struct feed inputs, outputs;
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

/* Only what belongs to the unit, so that the next one can be tried. */
void run_close_unit(struct run *run);

#endif
