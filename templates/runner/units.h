/* The compute units of runner.conf, tried in its order: which one runs, and why another does not. */
#ifndef HEXRUN_UNITS_H
#define HEXRUN_UNITS_H

#include "config.h"
#include "status.h"

struct hexrun;

/* Units that could not be used, in the order in which they were tried. */
struct passed_over {
    struct {
        enum unit unit;
        char reason[FAULT_TEXT];
    } items[UNITS];
    size_t count;
};

/* Brings handle->unit as far as it is to come. `units_own` says whether a fault is the unit's own, so that
 * another unit may do better. */
typedef enum status (*unit_attempt)(struct hexrun *handle, bool *units_own, struct fault *fault);

/* The first unit that succeeds stays in handle->unit; every other one is said to be passed over, with its fault. */
enum status units_try(struct hexrun *handle, unit_attempt attempt, struct fault *fault);

#endif
