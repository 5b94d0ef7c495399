/* What the files doctor_*.c share: the steps, what they hold, and the questions to the board. */
#ifndef HEXRUN_DOCTOR_STEPS_H
#define HEXRUN_DOCTOR_STEPS_H

#include "choose.h"
#include "config.h"
#include "model.h"
#include "options.h"
#include "session.h"
#include "status.h"
#include "tables.h"

enum verdict { STEP_UNKNOWN, STEP_OK, STEP_FAILED, STEP_NOT_APPLICABLE };

/* In the order in which they are told; the first failure decides about the exit code. */
enum step_id {
    STEP_PACKAGE,
    STEP_NODE,
    STEP_PERMISSION,
    STEP_DRIVER,
    STEP_DAEMON,
    STEP_PROCESSOR,
    STEP_SHELL,
    STEP_DSP_LIBRARIES,
    STEP_STUB,
    STEP_SKEL,
    STEP_CATALOGUE,
    STEP_TRANSPORT,
    STEP_BACKEND,
    STEP_DEVICE,
    STEP_SOC,
    STEP_CONTEXT,
    STEPS
};

enum { STEP_LINES = 20, STEP_TEXT = 512, SEARCH_FOLDERS = 32, MATCHES = 64, ARCHS = 16 };

struct step {
    enum verdict verdict;
    enum status status; /* of a failure */
    /* Read off files and not tried: a context that opens proves such a failure wrong. */
    bool inferred;
    size_t found_count, left_out;
    char found[STEP_LINES][STEP_TEXT];
    char wanted[STEP_TEXT], fix[FAULT_TEXT];
    bool has_code;
    uint64_t code; /* as the backend returned it */
};

/* Folders in which FastRPC looks, in its order. `own` is how many come from the package and from variables;
 * the shell is looked for in the others alone. */
struct search {
    char folders[SEARCH_FOLDERS][PATH_CAPACITY];
    size_t count, own;
    bool machine_known; /* the board has an entry in FastRPC's configuration */
    char machine[128];
};

struct doctor {
    const struct options *options;
    const char *system; /* linux, android, qnx, windows */
    struct step steps[STEPS];
    enum step_id trying; /* what may crash or hang; STEPS: nothing */
    struct config *config; /* NULL when there is none to read */
    const struct compute *unit; /* of config: the npu if it is listed */
    struct search search;
    char matches[MATCHES][PATH_CAPACITY]; /* of the last pattern looked for */
    uint32_t archs[ARCHS]; /* Hexagon architectures that the package serves here */
    size_t arch_count;
    char stubs[ARCHS][PATH_CAPACITY]; /* of each architecture; "" where there is none */
    char driver_folder[PATH_CAPACITY]; /* Windows: of the NPU driver in the driver store */
    struct libraries libraries;
    struct session session;
    struct identity identity;
    struct choice choice;
    struct model model;
};

/* ---- steps (doctor.c) ---- */

void step_note(struct step *step, const char *format, ...) HEXRUN_PRINTF(2, 3);
void step_ok(struct step *step);
void step_fail(struct step *step, enum status status, const char *fix, const char *wanted, ...) HEXRUN_PRINTF(4, 5);
void step_skip(struct step *step, enum verdict verdict, const char *why, ...) HEXRUN_PRINTF(3, 4);
void step_fault(struct step *step, const struct fault *fault);
const char *doctor_fix(const struct doctor *doctor, const char *id); /* "" when the table has none */

/* The next value of `kind` for this system, after `*at`; NULL at the end. Begin with 0. */
const char *doctor_place(const struct doctor *doctor, const char *kind, size_t *at);
const char *doctor_first(const struct doctor *doctor, const char *kind);

/* Puts HEXRUN_DOCTOR_ROOT before a path of the board. */
void doctor_rooted(const char *path, char out[PATH_CAPACITY]);

/* ---- chapters ---- */

void doctor_board(struct doctor *doctor);       /* node to shell (doctor_board.c) */
enum status doctor_dsp(struct doctor *doctor);  /* DSP libraries to catalogue; fails without memory (doctor_dsp.c) */
void doctor_transport(struct doctor *doctor);   /* (doctor_host.c) */
void doctor_backend(struct doctor *doctor);     /* backend to context (doctor_host.c) */
void doctor_report(FILE *out, const struct doctor *doctor, enum step_id first_failure); /* doctor_report.c */
extern const char *const STEP_NAMES[STEPS]; /* a contract with scripts */

/* ---- search path (doctor_search.c) ---- */

void search_open(struct doctor *doctor);
/* The file that FastRPC would find, from folder `first` on. */
bool search_find(const struct doctor *doctor, const char *name, size_t first, char out[PATH_CAPACITY]);
void search_note(const struct doctor *doctor, struct step *step, size_t first);
/* Puts the paths of the board that fit a pattern with * into doctor->matches, sorted by name; returns how many. */
size_t search_glob(struct doctor *doctor, const char *pattern);
/* Expands {arch}. */
void search_file_name(const char *pattern, uint32_t arch, char *out, size_t capacity);

/* ---- questions to the system (doctor_posix.c, doctor_windows.c) ---- */

enum access { ACCESS_ABSENT, ACCESS_HIDDEN, ACCESS_DENIED, ACCESS_GRANTED };

struct looked {
    enum access access;
    bool for_group; /* a group other than root's has it */
    char text[STEP_TEXT]; /* mode, owner and group, or why it cannot be seen */
};

const char *doctor_system(void);
/* Opens and closes it for reading when `try_it`; a device node then gets a file and no request. */
void doctor_look(const char *path, bool try_it, struct looked *out);
void doctor_identity(char *out, size_t capacity);
/* Calls `take` with each name in a folder until it returns false. False when the folder cannot be read. */
bool doctor_list(const char *folder, bool (*take)(void *with, const char *name), void *with);
/* Folder of a Windows service's driver, and the version of the device that it drives ("" when it has none). */
bool doctor_service(const char *service, char folder[PATH_CAPACITY], char *version, size_t capacity);
bool doctor_file_version(const char *path, char *out, size_t capacity);

#endif
