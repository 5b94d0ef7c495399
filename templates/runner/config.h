/* runner.conf: which libraries, which models, how much power. Written by hexpack, read once. */
#ifndef HEXRUN_CONFIG_H
#define HEXRUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"
#include "status.h"

enum { CONFIG_LINE = 4096, CONFIG_VARIANTS = 64, CONFIG_LIST = 32, CONFIG_WORD = 128 };

struct number_list {
    uint32_t items[CONFIG_LIST];
    size_t count;
};

/* One context binary and the SoC it was compiled for. */
struct variant {
    char soc[CONFIG_WORD];
    uint32_t soc_model, hexagon, vtcm_mb;
    struct number_list accepts, linux_soc_ids;
    char context[CONFIG_LINE];
};

struct config {
    char path[PATH_CAPACITY];   /* of runner.conf, absolute */
    char folder[PATH_CAPACITY]; /* that it is in; every relative path starts here */
    char package[CONFIG_WORD], version[CONFIG_WORD];
    char backend[CONFIG_LINE], system[CONFIG_LINE], dsp[CONFIG_LINE];
    bool simulator;
    char compute[CONFIG_WORD], power[CONFIG_WORD];
    uint32_t rpc_latency_us, rpc_polling_us;
    bool has_rpc_polling; /* absent: the profile's own value */
    struct variant variants[CONFIG_VARIANTS];
    size_t variant_count;
};

/* Finds runner.conf (`named`, else beside the executable, else in ../share) and reads it. Errors carry
 * file:line. The caller frees *out with free(). */
enum status config_load(const char *named, struct config **out, struct fault *fault);

/* A path from runner.conf, made absolute; what it names must exist. `role` is for messages. */
enum status config_resolve(const struct config *config, const char *path, const char *role, char *out,
                           size_t capacity, struct fault *fault);

bool list_contains(const struct number_list *list, uint32_t number);
/* A whole decimal number of 32 bits. */
bool parse_number(const char *text, uint32_t *out);

#endif
