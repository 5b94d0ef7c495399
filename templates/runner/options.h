/* The command line. */
#ifndef HEXRUN_OPTIONS_H
#define HEXRUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lane.h"
#include "status.h"

enum { OPTIONS_PATHS = 256, ITERATIONS_LIMIT = 1000000, DURATION_LIMIT = 86400 };

struct named_path {
    const char *name; /* NULL: the graph's only input or output */
    const char *path;
};

struct named_paths {
    struct named_path items[OPTIONS_PATHS];
    size_t count;
};

enum profile_level { PROFILE_NONE, PROFILE_BASIC, PROFILE_DETAILED };

struct options {
    const char *config, *soc, *graph, *output, *power, *save_context;
    struct named_paths inputs, references;
    uint32_t iterations, warmup;
    double duration; /* seconds, 0: only the iterations count */
    double min_cosine;
    enum profile_level profile;
    enum buffer_kind buffers;
    bool json, native, describe, doctor, version, help;
};

/* Cuts `name=path` arguments in place. `json` is set even where another argument is wrong. */
enum status options_parse(int count, char **arguments, struct options *out, struct fault *fault);
void options_help(FILE *out);

#endif
