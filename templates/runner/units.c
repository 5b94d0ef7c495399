#include "units.h"

#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "handle.h"

static bool passes_on(enum status status)
{
    return status == RUN_REFUSED || status == RUN_UNAVAILABLE || status == RUN_BACKEND;
}

static void pass_over(struct hexrun *handle, const struct fault *fault)
{
    struct passed_over *passed = &handle->passed_over;
    enum unit unit = handle->unit->unit;
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

enum status units_try(struct hexrun *handle, unit_attempt attempt, struct fault *fault)
{
    const struct config *config = handle->config;
    enum status status = RUN_OK;
    for (size_t i = 0; i < config->unit_count; i++) {
        bool units_own = false;
        handle->unit = &config->units[i];
        status = attempt(handle, &units_own, fault);
        if (!status || !units_own || !passes_on(status) || i + 1 == config->unit_count)
            break;
        pass_over(handle, fault);
        handle_close_unit(handle);
    }
    for (size_t i = 0; status && i < handle->passed_over.count; i++)
        fault_evidence(fault, "the %s was passed over: %s", UNIT_WORDS[handle->passed_over.items[i].unit],
                       handle->passed_over.items[i].reason);
    return status;
}
