/* Outputs against references: whether a run is good enough, and how far off it is. */
#ifndef HEXRUN_COMPARE_H
#define HEXRUN_COMPARE_H

#include "outputs.h"

/* How alike an output and its reference are, over all elements; the worst of all runs. */
struct likeness {
    bool compared;
    double cosine;          /* not a number where either side holds one */
    double max_abs_error;   /* infinite where one side alone is, or where there is no number */
    size_t error_element;   /* that it is at */
    size_t cosine_run, error_run;
};

struct reference {
    const char *path;      /* a file for this output; NULL: none, or the folder's */
    struct source source;  /* of `path`, or of FOLDER/NAME.npy when there are no samples */
    char file[PATH_CAPACITY];
    struct likeness worst;
};

struct compare {
    const struct outputs *outputs;
    const char *folder; /* of references for every output */
    double min_cosine;
    struct reference *items; /* one for each output; NULL: nothing is compared */
    size_t failed;           /* comparisons */
    struct fault failures;   /* the first of them */
};

/* Opens every reference once to check it. */
enum status compare_open(const struct outputs *outputs, const struct options *options, struct compare *out,
                         struct fault *fault);
void compare_close(struct compare *compare);

/* Compares what the buffers hold after a run; runs come in order, from 0. */
enum status compare_take(struct compare *compare, size_t run, struct fault *fault);

/* RUN_REFUSED with the outputs that are below, else RUN_OK. */
enum status compare_verdict(const struct compare *compare, struct fault *fault);

#endif
