/* Times of executions and what is said about them. Memory is bounded, however long a run takes. */
#ifndef HEXRUN_MEASURE_H
#define HEXRUN_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Up to so many times the percentiles are exact. Beyond, every second, fourth, ... time is kept, so that
 * they rest on at least half as many, spread evenly over the run; the others stay exact. */
enum { TIMES_KEPT = 131072 };

struct times {
    uint64_t *kept;
    size_t capacity, held;
    uint64_t step;  /* one time in `step` is kept */
    uint64_t count; /* of all times */
    uint64_t min, max, sum;
};

/* Microseconds; percentiles by nearest rank. */
struct summary {
    uint64_t count, min, median, p90, p99, max;
    double mean;
};

/* `expected` times, 0 when that is not known. Returns false when memory is short. */
bool times_open(struct times *times, uint64_t expected);
void times_close(struct times *times);
void times_add(struct times *times, uint64_t microseconds);
/* Puts what is kept in order; the last call of a series. All zeros when there is no time. */
struct summary times_summary(struct times *times);

#endif
