#include "measure.h"

#include <stdlib.h>

bool times_open(struct times *times, uint64_t expected)
{
    size_t capacity = expected && expected < TIMES_KEPT ? (size_t)expected : TIMES_KEPT;
    *times = (struct times){.capacity = capacity + capacity % 2, .step = 1, .min = UINT64_MAX};
    times->kept = calloc(times->capacity, sizeof *times->kept);
    return times->kept != NULL;
}

void times_close(struct times *times)
{
    free(times->kept);
    *times = (struct times){0};
}

void times_add(struct times *times, uint64_t microseconds)
{
    times->sum += microseconds;
    times->min = microseconds < times->min ? microseconds : times->min;
    times->max = microseconds > times->max ? microseconds : times->max;
    if (times->count++ % times->step)
        return;
    if (times->held == times->capacity) {
        /* An even capacity keeps this time's turn a multiple of the new step. */
        times->held /= 2;
        times->step *= 2;
        for (size_t i = 0; i < times->held; i++)
            times->kept[i] = times->kept[2 * i];
    }
    times->kept[times->held++] = microseconds;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that `percent` of all times do not exceed. */
static uint64_t percentile(const struct times *times, size_t percent)
{
    return times->kept[(times->held * percent + 99) / 100 - 1];
}

struct summary times_summary(struct times *times)
{
    if (!times->held)
        return (struct summary){0};
    qsort(times->kept, times->held, sizeof *times->kept, ascending);
    return (struct summary){
        .count = times->count,
        .min = times->min,
        .median = percentile(times, 50),
        .p90 = percentile(times, 90),
        .p99 = percentile(times, 99),
        .max = times->max,
        .mean = (double)times->sum / (double)times->count,
    };
}
