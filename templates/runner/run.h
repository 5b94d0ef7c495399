/* One run from command line to results. */
#ifndef HEXRUN_RUN_H
#define HEXRUN_RUN_H

#include "choose.h"
#include "config.h"
#include "feed.h"
#include "options.h"
#include "power.h"
#include "session.h"

/* Microseconds. */
struct timings {
    uint64_t load, create, min, median, p90, p99;
};

/* Everything a run holds and everything there is to report about it. */
struct run {
    const struct options *options;
    struct config *config;
    struct libraries libraries;
    struct session session;
    struct choice choice;
    struct model model;
    const struct graph *graph;
    struct power power;
    struct feed inputs, outputs;
    struct result *results;
    struct timings timings;
};

/* Fills `run` as far as it gets; run_close is due in every case. */
enum status run_execute(struct run *run, const struct options *options, struct fault *fault);

/* The same up to the model's metadata. */
enum status run_describe(struct run *run, const struct options *options, struct fault *fault);

void run_close(struct run *run);

#endif
