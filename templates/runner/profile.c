#include "profile.h"

#include <stdio.h>
#include <stdlib.h>

#include "decode.h"

enum status profile_open(struct profile *profile, const struct qnn_functions *call, qnn_handle backend, uint32_t level,
                         struct fault *fault)
{
    *profile = (struct profile){.call = call};
    qnn_error code = call->profile_create(backend, level, &profile->handle);
    if (!code)
        return RUN_OK;
    profile->handle = NULL;
    return fault_from_backend(fault, code, "the backend takes no profile (profileCreate)");
}

const char *profile_unit(uint32_t unit)
{
    static const char *const NAMES[] = {
        [QNN_UNIT_MICROSECONDS] = "us", [QNN_UNIT_BYTES] = "bytes",   [QNN_UNIT_CYCLES] = "cycles",
        [QNN_UNIT_COUNT] = "count",     [QNN_UNIT_OBJECT] = "object", [QNN_UNIT_NONE] = "none",
    };
    const char *name = unit < sizeof NAMES / sizeof *NAMES ? NAMES[unit] : NULL;
    return name ? name : "unknown";
}

/* Room for one more event, or NULL with the fault set. */
static struct profile_event *grow(struct profile_tree *tree, struct fault *fault)
{
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
        struct profile_event *grown = realloc(tree->events, capacity * sizeof *grown);
        if (!grown) {
            fault_memory(fault);
            return NULL;
        }
        tree->events = grown;
        tree->capacity = capacity;
    }
    return &tree->events[tree->count++];
}

static enum status walk(const struct profile *profile, const uint64_t *ids, uint32_t count, uint32_t depth,
                        struct profile_tree *tree, struct fault *fault)
{
    enum status status = RUN_OK;
    for (uint32_t i = 0; !status && ids && i < count; i++) {
        if (tree->count == PROFILE_EVENTS || depth == PROFILE_DEPTH) {
            tree->left_out += count - i;
            return RUN_OK;
        }
        struct qnn_profile_event found = {0};
        qnn_error code = profile->call->profile_get_event_data(ids[i], &found);
        if (code)
            return fault_from_backend(fault, code, "the backend does not tell an event (profileGetEventData)");
        struct profile_event *event = grow(tree, fault);
        if (!event)
            return RUN_DEFECT;
        *event = (struct profile_event){.type = found.type, .unit = found.unit, .value = found.value, .depth = depth};
        if (found.name)
            snprintf(event->name, sizeof event->name, "%s", found.name);
        else
            snprintf(event->name, sizeof event->name, "event %u", found.type);
        const uint64_t *parts = NULL;
        uint32_t part_count = 0;
        code = profile->call->profile_get_sub_events(ids[i], &parts, &part_count);
        if (code)
            return fault_from_backend(fault, code, "the backend does not tell an event's parts (profileGetSubEvents)");
        status = walk(profile, parts, part_count, depth + 1, tree, fault);
    }
    return status;
}

enum status profile_collect(const struct profile *profile, struct profile_tree *out, struct fault *fault)
{
    const uint64_t *ids = NULL;
    uint32_t count = 0;
    if (!profile->handle)
        return RUN_OK;
    qnn_error code = profile->call->profile_get_events(profile->handle, &ids, &count);
    if (code)
        return fault_from_backend(fault, code, "the backend does not tell its events (profileGetEvents)");
    return walk(profile, ids, count, 0, out, fault);
}

void profile_stop(struct profile *profile)
{
    qnn_error code = profile->handle ? profile->call->profile_free(profile->handle) : 0;
    if (code)
        say("the profile could not be given back: error %u", decode_mask(code));
    profile->handle = NULL;
}

void profile_close(struct profile *profile)
{
    free(profile->create.events);
    free(profile->execute.events);
    *profile = (struct profile){0};
}
