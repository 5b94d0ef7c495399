/* Clock votes for the DSP, held while a model runs. */
#ifndef HEXRUN_POWER_H
#define HEXRUN_POWER_H

#include "loader.h"
#include "tables.h"

struct power {
    const struct power_profile *profile;
    const struct qnn_htp_infrastructure *infrastructure;
    uint32_t id;
    bool held;        /* an id is to be given back */
    bool applied;     /* the backend took the clock vote */
    bool rpc_applied; /* and the RPC latency and polling votes */
    uint32_t rpc_latency_us, rpc_polling_us;
    char reason[256]; /* why something was not applied, or empty */
};

/* The profile of that name, or a refusal that lists them all. */
enum status power_find(const char *name, const struct power_profile **out, struct fault *fault);

/* A vote that is not taken is no error of the run; `reason` says it, for the log and the report. */
void power_vote(struct power *power, const struct libraries *libraries);

/* The values that were voted, or why none were, in one line for the person who watches. */
void power_say(const struct power *power);

const char *power_corner_name(uint32_t corner);
const char *power_mode_name(uint32_t mode);

/* Back to the lowest corner. Safe to call when nothing is held. */
void power_release(struct power *power);

/* For a program that holds one vote at a time: from now on power_release_last gives it back wherever main is, in
 * another thread, and nobody votes or gives back after that. False when memory is short. */
bool power_guard(void);
void power_release_last(void);

#endif
