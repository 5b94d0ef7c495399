#include "units.h"

#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "run.h"

static bool passes_on(enum status status)
{
    return status == RUN_REFUSED || status == RUN_UNAVAILABLE || status == RUN_BACKEND;
}

static void pass_over(struct run *run, const struct fault *fault)
{
    struct passed_over *passed = &run->passed_over;
    enum unit unit = run->unit->unit;
    passed->items[passed->count].unit = unit;
    snprintf(passed->items[passed->count].reason, FAULT_TEXT, "%s", fault->what);
    if (fault->has_code) {
        size_t used = strlen(passed->items[passed->count].reason);
        snprintf(passed->items[passed->count].reason + used, FAULT_TEXT - used, ": error %u",
                 decode_mask(fault->code));
    }
    say("the %s cannot be used: %s", UNIT_WORDS[unit], passed->items[passed->count].reason);
    passed->count++;
}

enum status units_try(struct run *run, unit_attempt attempt, struct fault *fault)
{
    const struct config *config = run->config;
    enum status status = RUN_OK;
    for (size_t i = 0; i < config->unit_count; i++) {
        bool units_own = false;
        run->unit = &config->units[i];
        status = attempt(run, &units_own, fault);
        if (!status || !units_own || !passes_on(status) || i + 1 == config->unit_count)
            break;
        pass_over(run, fault);
        run_close_unit(run);
    }
    for (size_t i = 0; status && i < run->passed_over.count; i++)
        fault_evidence(fault, "the %s was passed over: %s", UNIT_WORDS[run->passed_over.items[i].unit],
                       run->passed_over.items[i].reason);
    return status;
}
