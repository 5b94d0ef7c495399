/* One run from command line to results. */
#ifndef HEXRUN_RUN_H
#define HEXRUN_RUN_H

#include "choose.h"
#include "config.h"
#include "feed.h"
#include "options.h"
#include "power.h"
#include "save.h"
#include "session.h"
#include "units.h"

/* Microseconds. */
struct timings {
    uint64_t load, create, min, median, p90, p99;
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
    struct feed inputs, outputs;
    struct result *results;
    struct saved saved;
    struct timings timings;
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
