/* runner.conf: which libraries, which models, how much power. Written by hexpack, read once. */
#ifndef HEXRUN_CONFIG_H
#define HEXRUN_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"
#include "status.h"

enum { CONFIG_LINE = 4096, CONFIG_VARIANTS = 64, CONFIG_LIST = 32, CONFIG_WORD = 128 };

enum unit { UNIT_NPU, UNIT_GPU, UNIT_CPU, UNITS };
/* In the order in which hexrun prefers them. */
enum asset { ASSET_CONTEXT, ASSET_DLC, ASSET_LIBRARY, ASSETS };

/* Their words in runner.conf and in reports. */
extern const char *const UNIT_WORDS[UNITS];
extern const char *const ASSET_WORDS[ASSETS];
/* What a person calls the file. */
extern const char *const ASSET_NAMES[ASSETS];

struct number_list {
    uint32_t items[CONFIG_LIST];
    size_t count;
};

/* A processor and the QNN backend library that drives it. */
struct compute {
    enum unit unit;
    char backend[CONFIG_LINE];
};

/* The model for one SoC: a context binary compiled for it, or what can be composed on the device. */
struct variant {
    char soc[CONFIG_WORD];
    uint32_t soc_model, hexagon, vtcm_mb;
    struct number_list accepts, linux_soc_ids;
    char assets[ASSETS][CONFIG_LINE]; /* paths; empty: the package has none */
};

/* How the NPU prepares a graph that is composed on the device. 0: the backend's own choice. */
struct preparation {
    uint32_t optimization, vtcm_mb, hvx_threads;
    bool fp16; /* float32 graphs are computed in half precision */
};

struct config {
    char path[PATH_CAPACITY];   /* of runner.conf, absolute */
    char folder[PATH_CAPACITY]; /* that it is in; every relative path starts here */
    char package[CONFIG_WORD], version[CONFIG_WORD];
    char system[CONFIG_LINE], dsp[CONFIG_LINE];
    bool simulator;
    struct compute units[UNITS]; /* in order of preference */
    size_t unit_count;
    char power[CONFIG_WORD];
    uint32_t rpc_latency_us, rpc_polling_us;
    bool has_rpc_polling; /* absent: the profile's own value */
    bool has_priority, has_compatibility; /* absent: the backend's own choice */
    uint32_t priority;                    /* as QNN counts */
    bool strict; /* refuse a context binary that is not made for exactly this device */
    struct preparation preparation;
    struct variant variants[CONFIG_VARIANTS];
    size_t variant_count;
};

/* Finds runner.conf and reads it. `named` is the file, or a folder that has it in it or in share; NULL: beside
 * the executable, else in ../share. Errors carry file:line. The caller frees *out with free(). */
enum status config_load(const char *named, struct config **out, struct fault *fault);

/* The same from `lines` instead of a file; relative paths start at `folder`. */
enum status config_parse(const char *folder, const char *lines, struct config **out, struct fault *fault);

/* A path from runner.conf, made absolute; what it names must exist. `role` is for messages. */
enum status config_resolve(const struct config *config, const char *path, const char *role, char *out,
                           size_t capacity, struct fault *fault);

/* NULL where runner.conf does not list the unit. */
const struct compute *config_unit(const struct config *config, enum unit unit);

bool list_contains(const struct number_list *list, uint32_t number);
/* A whole decimal number of 32 bits. */
bool parse_number(const char *text, uint32_t *out);

#endif
