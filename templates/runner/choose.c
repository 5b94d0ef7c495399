#include "choose.h"

#include <ctype.h>
#include <string.h>

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

static enum status choose_for_device(const struct config *config, const struct identity *identity,
                                     struct choice *out, struct fault *fault)
{
    for (size_t i = 0; identity->from_backend && i < config->variant_count; i++)
        if (runs_on(&config->variants[i], identity->soc_model)) {
            out->variant = &config->variants[i];
            snprintf(out->reason, sizeof out->reason, "the device reports soc_model %u, Hexagon v%u",
                     identity->soc_model, identity->hexagon);
            return RUN_OK;
        }
    for (size_t i = 0; identity->from_linux && i < config->variant_count; i++)
        if (list_contains(&config->variants[i].linux_soc_ids, identity->linux_soc_id)) {
            out->variant = &config->variants[i];
            snprintf(out->reason, sizeof out->reason, "the kernel's soc_id is %u", identity->linux_soc_id);
            return RUN_OK;
        }
    fault_set(fault, RUN_REFUSED, "this package has no model for this device");
    if (identity->from_backend)
        fault_evidence(fault, "found soc_model %u, Hexagon v%u, %u MB VTCM", identity->soc_model, identity->hexagon,
                       identity->vtcm_mb);
    if (identity->from_linux)
        fault_evidence(fault, "found Linux soc_id %u", identity->linux_soc_id);
    if (!identity->from_backend && !identity->from_linux)
        fault_evidence(fault, "found neither a soc_model from the backend nor a Linux soc_id");
    list_variants(config, fault);
    fault_fix(fault, "build the package for this SoC; --soc NAME runs one of its models at your own risk");
    return RUN_REFUSED;
}

enum status choose_variant(const struct config *config, const char *wanted, const struct identity *identity,
                           struct choice *out, struct fault *fault)
{
    *out = (struct choice){0};
    if (wanted)
        return choose_named(config, wanted, identity, out, fault);
    if (!config->simulator)
        return choose_for_device(config, identity, out, fault);
    out->variant = &config->variants[0];
    snprintf(out->reason, sizeof out->reason, "%s", config->variant_count == 1
                                                        ? "the only one in runner.conf, on the simulator"
                                                        : "the first in runner.conf, on the simulator");
    return RUN_OK;
}
