#include "choose.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tables.h"

static bool same_word(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return !*a && !*b;
}

static bool runs_on(const struct variant *variant, uint32_t soc_model)
{
    return variant->soc_model == soc_model || list_contains(&variant->accepts, soc_model);
}

static void list_variants(const struct config *config, struct fault *fault)
{
    for (size_t i = 0; i < config->variant_count; i++)
        fault_evidence(fault, "wanted %s (soc_model %u, Hexagon v%u)", config->variants[i].soc,
                       config->variants[i].soc_model, config->variants[i].hexagon);
}

static const struct variant *find_named(const struct config *config, const char *wanted)
{
    uint32_t number;
    bool numeric = parse_number(wanted, &number);
    for (size_t i = 0; i < config->variant_count; i++)
        if (same_word(config->variants[i].soc, wanted) || (numeric && config->variants[i].soc_model == number))
            return &config->variants[i];
    for (size_t i = 0; numeric && i < config->variant_count; i++)
        if (list_contains(&config->variants[i].accepts, number))
            return &config->variants[i];
    return NULL;
}

static enum status choose_named(const struct config *config, const char *wanted, const struct identity *identity,
                                struct choice *out, struct fault *fault)
{
    out->variant = find_named(config, wanted);
    if (!out->variant) {
        fault_set(fault, RUN_USAGE, "this package has no model for --soc %.128s", wanted);
        list_variants(config, fault);
        return RUN_USAGE;
    }
    if (identity->hexagon && out->variant->hexagon > identity->hexagon) {
        fault_set(fault, RUN_REFUSED, "the model for %s needs a newer Hexagon than this device has", out->variant->soc);
        fault_evidence(fault, "found Hexagon v%u, wanted v%u", identity->hexagon, out->variant->hexagon);
        return RUN_REFUSED;
    }
    if (identity->from_backend && !runs_on(out->variant, identity->soc_model))
        snprintf(out->reason, sizeof out->reason, "named by --soc, although the device reports soc_model %u",
                 identity->soc_model);
    else
        snprintf(out->reason, sizeof out->reason, "named by --soc");
    return RUN_OK;
}

/* ---- names ---- */

static void cut_out(char *text, const char *what, size_t length)
{
    for (char *at; (at = strstr(text, what)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* Lower case, one blank between words, and without the marks of trade marks. */
static void plain_name(const char *name, char *out, size_t capacity)
{
    size_t length = 0;
    for (size_t i = 0; name[i] && length + 1 < capacity; i++)
        out[length++] = (char)tolower((unsigned char)name[i]);
    out[length] = '\0';
    cut_out(out, "(r)", 3);
    cut_out(out, "(tm)", 4);
    cut_out(out, "  ", 1);
}

static bool holds_words(const char *text, const char *words)
{
    size_t length = strlen(words);
    for (const char *at = text; (at = strstr(at, words)) != NULL; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

/* The longest name of the table that stands in `name` counts. */
bool soc_is_called(uint32_t soc_model, const char *name)
{
    char plain[CONFIG_WORD];
    size_t longest = 0;
    bool called = false;
    plain_name(name, plain, sizeof plain);
    for (size_t i = 0; i < SOC_NAME_COUNT; i++) {
        size_t length = strlen(SOC_NAMES[i].name);
        if (length < longest || !holds_words(plain, SOC_NAMES[i].name))
            continue;
        called = SOC_NAMES[i].soc_model == soc_model || (called && length == longest);
        longest = length;
    }
    return called;
}

/* ---- by what the device says ---- */

typedef bool (*fits)(const struct variant *variant, const struct identity *identity);

static bool fits_backend(const struct variant *variant, const struct identity *identity)
{
    return identity->from_backend && runs_on(variant, identity->soc_model);
}

static bool fits_kernel(const struct variant *variant, const struct identity *identity)
{
    return identity->from_linux && list_contains(&variant->linux_soc_ids, identity->linux_soc_id);
}

static bool fits_name(const struct variant *variant, const struct identity *identity)
{
    bool called = *identity->name && soc_is_called(variant->soc_model, identity->name);
    for (size_t i = 0; *identity->name && !called && i < variant->accepts.count; i++)
        called = soc_is_called(variant->accepts.items[i], identity->name);
    return called;
}

/* The same Hexagon with no less memory; what `compatibility permissive` lets through. */
static bool fits_hexagon(const struct variant *variant, const struct identity *identity)
{
    return identity->from_backend && identity->hexagon == variant->hexagon && variant->vtcm_mb &&
           variant->vtcm_mb <= identity->vtcm_mb;
}

static const struct variant *find_fitting(const struct config *config, const struct identity *identity, fits fit)
{
    for (size_t i = 0; i < config->variant_count; i++)
        if (fit(&config->variants[i], identity))
            return &config->variants[i];
    return NULL;
}

static bool find_for_device(const struct config *config, const struct identity *identity, struct choice *out)
{
    char *reason = out->reason;
    if ((out->variant = find_fitting(config, identity, fits_backend)))
        snprintf(reason, sizeof out->reason, "the device reports soc_model %u, Hexagon v%u", identity->soc_model,
                 identity->hexagon);
    else if ((out->variant = find_fitting(config, identity, fits_kernel)))
        snprintf(reason, sizeof out->reason, "the kernel's soc_id is %u", identity->linux_soc_id);
    else if (!identity->from_backend && (out->variant = find_fitting(config, identity, fits_name)))
        snprintf(reason, sizeof out->reason, "the system calls the processor %s", identity->name);
    else if (config->has_compatibility && !config->strict &&
             (out->variant = find_fitting(config, identity, fits_hexagon)))
        snprintf(reason, sizeof out->reason,
                 "made for another SoC of the same Hexagon v%u as soc_model %u has; runner.conf is permissive",
                 identity->hexagon, identity->soc_model);
    return out->variant != NULL;
}

static enum status no_model(const struct config *config, const struct identity *identity, struct fault *fault)
{
    fault_set(fault, RUN_REFUSED, "this package has no model for this device");
    if (identity->from_backend)
        fault_evidence(fault, "found soc_model %u, Hexagon v%u, %u MB VTCM", identity->soc_model, identity->hexagon,
                       identity->vtcm_mb);
    if (identity->from_linux)
        fault_evidence(fault, "found Linux soc_id %u", identity->linux_soc_id);
    if (*identity->name)
        fault_evidence(fault, "found the processor's name %s", identity->name);
    if (!identity->from_backend && !identity->from_linux && !*identity->name)
        fault_evidence(fault, "found neither a soc_model from the backend nor a Linux soc_id nor a processor's name");
    list_variants(config, fault);
    fault_fix(fault, "build the package for this SoC; --soc NAME runs one of its models at your own risk");
    return RUN_REFUSED;
}

/* ---- units ---- */

/* A context binary is the NPU's own; what can be composed, every unit can compose. */
static bool find_asset(const struct variant *variant, enum unit unit, enum asset *out)
{
    int asset = unit == UNIT_NPU ? ASSET_CONTEXT : ASSET_CONTEXT + 1;
    while (asset < ASSETS && !*variant->assets[asset])
        asset++;
    *out = (enum asset)asset;
    return asset < ASSETS;
}

/* The device's own variant where that is known, else the first that will do. */
static enum status choose_to_compose(const struct config *config, enum unit unit, const struct identity *identity,
                                     struct choice *out, struct fault *fault)
{
    if (find_for_device(config, identity, out) && find_asset(out->variant, unit, &out->asset))
        return RUN_OK;
    for (size_t i = 0; i < config->variant_count; i++)
        if (find_asset(&config->variants[i], unit, &out->asset)) {
            out->variant = &config->variants[i];
            snprintf(out->reason, sizeof out->reason, "the first in runner.conf that the %s can compose",
                     UNIT_WORDS[unit]);
            return RUN_OK;
        }
    fault_set(fault, RUN_REFUSED, "this package has no model that the %s can compose", UNIT_WORDS[unit]);
    fault_evidence(fault, "found only context binaries, which are compiled for the npu");
    fault_evidence(fault, "wanted a DLC or a model library");
    return RUN_REFUSED;
}

enum status choose_variant(const struct config *config, enum unit unit, const char *wanted,
                           const struct identity *identity, struct choice *out, struct fault *fault)
{
    *out = (struct choice){0};
    if (wanted) {
        enum status status = choose_named(config, wanted, identity, out, fault);
        if (status || find_asset(out->variant, unit, &out->asset))
            return status;
        fault_set(fault, RUN_REFUSED, "the model for %s is a context binary, which the %s cannot use",
                  out->variant->soc, UNIT_WORDS[unit]);
        return RUN_REFUSED;
    }
    if (unit != UNIT_NPU)
        return choose_to_compose(config, unit, identity, out, fault);
    if (!config->simulator && !find_for_device(config, identity, out))
        return no_model(config, identity, fault);
    if (config->simulator) {
        out->variant = &config->variants[0];
        snprintf(out->reason, sizeof out->reason, "the %s in runner.conf, on the simulator",
                 config->variant_count == 1 ? "only one" : "first");
    }
    find_asset(out->variant, unit, &out->asset);
    return RUN_OK;
}
