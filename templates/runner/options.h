/* The command line. */
#ifndef HEXRUN_OPTIONS_H
#define HEXRUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "status.h"

enum { OPTIONS_INPUTS = 256, ITERATIONS_LIMIT = 1000000 };

struct input_option {
    const char *name; /* NULL: the graph's only input */
    const char *path;
};

struct options {
    const char *config, *soc, *graph, *output, *power;
    struct input_option inputs[OPTIONS_INPUTS];
    size_t input_count;
    uint32_t iterations, warmup;
    bool json, native, describe, doctor, version, help;
};

/* Cuts `name=path` arguments in place. `json` is set even where another argument is wrong. */
enum status options_parse(int count, char **arguments, struct options *out, struct fault *fault);
void options_help(FILE *out);

#endif
