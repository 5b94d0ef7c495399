#include "power.h"

#include <stdio.h>
#include <string.h>

#include "decode.h"
#include "platform.h"

enum status power_find(const char *name, const struct power_profile **out, struct fault *fault)
{
    char known[FAULT_TEXT] = "";
    size_t used = 0;
    for (size_t i = 0; i < POWER_PROFILE_COUNT; i++) {
        if (strcmp(POWER_PROFILES[i].name, name) == 0) {
            *out = &POWER_PROFILES[i];
            return RUN_OK;
        }
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "",
                                     POWER_PROFILES[i].name);
    }
    fault_set(fault, RUN_USAGE, "unknown power profile \"%.128s\"", name);
    fault_evidence(fault, "known are %s", known);
    return RUN_USAGE;
}

static struct qnn_power_config dcvs(uint32_t id, const struct power_profile *row)
{
    return (struct qnn_power_config){
        .option = QNN_POWER_DCVS_V3,
        .u.dcvs = {.context_id = id,
                   .set_dcvs_enable = 1,
                   .dcvs_enable = row->dcvs_enable,
                   .power_mode = row->power_mode,
                   .set_sleep_latency = 1,
                   .sleep_latency_us = row->sleep_latency_us,
                   .set_bus = 1,
                   .bus_min = row->corner,
                   .bus_target = row->corner,
                   .bus_max = row->corner,
                   .set_core = 1,
                   .core_min = row->corner,
                   .core_target = row->corner,
                   .core_max = row->corner},
    };
}

static void explain(struct power *power, const char *what, qnn_error code)
{
    uint32_t masked = decode_mask(code);
    snprintf(power->reason, sizeof power->reason, "%s: error %u (0x%x) %s", what, masked, masked, decode_name(masked));
}

static bool get_infrastructure(struct power *power, const struct libraries *libraries)
{
    const struct qnn_htp_infrastructure *found = NULL;
    qnn_error code = libraries->backend->call.device_get_infrastructure(&found);
    bool offered = code == 0 && found && found->type == QNN_INFRASTRUCTURE_PERF && found->create_power_config_id &&
                   found->set_power_config && found->destroy_power_config_id;
    if (offered)
        power->infrastructure = found;
    else
        snprintf(power->reason, sizeof power->reason, "not offered by this backend");
    return offered;
}

static void vote_rpc(struct power *power)
{
    if (!platform_has_rpc_votes()) {
        snprintf(power->reason, sizeof power->reason, "RPC votes are not offered on this system");
        return;
    }
    struct qnn_power_config latency = {.option = QNN_POWER_RPC_LATENCY, .u.microseconds = power->rpc_latency_us};
    struct qnn_power_config polling = {.option = QNN_POWER_RPC_POLLING, .u.microseconds = power->rpc_polling_us};
    const struct qnn_power_config *votes[] = {&latency, &polling, NULL};
    qnn_error code = power->infrastructure->set_power_config(power->id, votes);
    power->rpc_applied = code == 0;
    if (code)
        explain(power, "the RPC votes were refused", code);
}

static void vote(struct power *power, const struct libraries *libraries)
{
    if (!power->profile->votes) {
        snprintf(power->reason, sizeof power->reason, "this profile leaves the clocks to the system");
        return;
    }
    if (!get_infrastructure(power, libraries))
        return;
    qnn_error code = power->infrastructure->create_power_config_id(0, 0, &power->id);
    if (code) {
        explain(power, "the backend gives no power id", code);
        return;
    }
    power->held = true;
    struct qnn_power_config clocks = dcvs(power->id, power->profile);
    const struct qnn_power_config *votes[] = {&clocks, NULL};
    code = power->infrastructure->set_power_config(power->id, votes);
    power->applied = code == 0;
    if (code)
        explain(power, "the clock vote was refused", code);
    else
        vote_rpc(power);
}

static void release(struct power *power)
{
    if (!power->held)
        return;
    struct qnn_power_config clocks = dcvs(power->id, &POWER_RELEASE);
    const struct qnn_power_config *votes[] = {&clocks, NULL};
    qnn_error code = power->infrastructure->set_power_config(power->id, votes);
    qnn_error destroyed = power->infrastructure->destroy_power_config_id(power->id);
    power->held = false;
    if (code || destroyed)
        say("the power vote could not be given back: error %u", decode_mask(code ? code : destroyed));
}

/* ---- votes that another thread may have to give back ---- */

static struct {
    struct platform_lock *lock;
    struct power *holder;
} guard;

/* Who holds the lock for so long hangs in the backend. */
enum { PATIENCE_MS = 1000 };

bool power_guard(void)
{
    guard.lock = platform_lock_make();
    return guard.lock != NULL;
}

void power_vote(struct power *power, const struct libraries *libraries)
{
    platform_lock_enter(guard.lock);
    if (guard.lock)
        guard.holder = power;
    vote(power, libraries);
    platform_lock_leave(guard.lock);
}

void power_release(struct power *power)
{
    platform_lock_enter(guard.lock);
    release(power);
    if (guard.lock)
        guard.holder = NULL;
    platform_lock_leave(guard.lock);
}

void power_release_last(void)
{
    platform_lock_enter_within(guard.lock, PATIENCE_MS);
    if (guard.holder)
        release(guard.holder);
}

static const char *word_of(const struct power_word *words, size_t count, uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].value == value)
            return words[i].name;
    return "unknown";
}

const char *power_corner_name(uint32_t corner)
{
    return word_of(POWER_CORNERS, POWER_CORNER_COUNT, corner);
}

const char *power_mode_name(uint32_t mode)
{
    return word_of(POWER_MODES, POWER_MODE_COUNT, mode);
}

void power_say(const struct power *power)
{
    const struct power_profile *row = power->profile;
    char values[256] = "", rpc[80] = "";
    if (power->rpc_applied)
        snprintf(rpc, sizeof rpc, ", RPC latency %u us, polling %u us", power->rpc_latency_us, power->rpc_polling_us);
    if (power->applied)
        snprintf(values, sizeof values, ": bus and core corner %s (0x%x), mode %s (0x%x), DCVS %s, sleep latency %u us%s",
                 power_corner_name(row->corner), row->corner, power_mode_name(row->power_mode), row->power_mode,
                 row->dcvs_enable ? "on" : "off", row->sleep_latency_us, rpc);
    say("power %s: %s%s%s%s", row->name, power->applied ? "applied" : "not applied", values,
        *power->reason ? "; " : "", power->reason);
}
