/* What is true of the world, compiled from hexpack's tables; tables.c is generated. */
#ifndef HEXRUN_TABLES_H
#define HEXRUN_TABLES_H

#include <stddef.h>
#include <stdint.h>

extern const char HEXRUN_VERSION[];
/* What was never tried with this build; empty for those that were. */
extern const char HEXRUN_RESERVATION[];

/* Error codes people meet: QNN codes (16 bits) and FastRPC codes (32 bits, 0x8000xxxx). For each of them three
 * strings, one behind the other: name, sentence, look_first. A table of pointers would be twice as long. */
extern const uint32_t ERROR_CODES[];
extern const size_t ERROR_CODE_COUNT;
extern const char ERROR_WORDS[];

struct error_range {
    uint32_t first, last;
    const char *name, *sentence;
};
extern const struct error_range ERROR_RANGES[];
extern const size_t ERROR_RANGE_COUNT;

/* What a corner or a power mode is called. */
struct power_word {
    uint32_t value;
    const char *name;
};
extern const struct power_word POWER_CORNERS[];
extern const size_t POWER_CORNER_COUNT;
extern const struct power_word POWER_MODES[];
extern const size_t POWER_MODE_COUNT;

/* One row votes bus and core to `corner` (min = target = max). */
struct power_profile {
    const char *name;
    uint32_t votes, dcvs_enable, power_mode, sleep_latency_us, corner, rpc_polling_us;
};
extern const struct power_profile POWER_PROFILES[];
extern const size_t POWER_PROFILE_COUNT;
extern const struct power_profile POWER_RELEASE;

/* What a system calls a SoC, in lower case: a chip, on Windows a product. Names and numbers are many to many. */
struct soc_name {
    char name[28];
    uint32_t soc_model;
};
extern const struct soc_name SOC_NAMES[];
extern const size_t SOC_NAME_COUNT;

/* ---- for hexrun --doctor; see targets/doctor.toml ---- */

/* Rows of three strings, one behind the other, and an empty one at the end. Systems are told by their first letters: l, a, w, q. */
extern const char DOCTOR_PLACES[]; /* kind, systems, value */
extern const char DOCTOR_ADVICE[]; /* id, systems, text */

struct doctor_processor {
    const char *systems, *folder, *names, *word, *state, *running; /* names: words between spaces */
};
extern const struct doctor_processor DOCTOR_PROCESSORS[];
extern const size_t DOCTOR_PROCESSOR_COUNT;

#endif
