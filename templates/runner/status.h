/* How a run ends, and the message about it: what, evidence, error code, next step. */
#ifndef HEXRUN_STATUS_H
#define HEXRUN_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HEXRUN_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HEXRUN_PRINTF(text, first)
#endif

/* The values are exit codes, a contract with scripts. */
enum status {
    RUN_OK = 0,
    RUN_REFUSED = 1,     /* no model of this package fits this device, or an input does not fit the model */
    RUN_USAGE = 2,       /* command line or runner.conf */
    RUN_UNAVAILABLE = 3, /* a file or library could not be read, or a result not written */
    RUN_BACKEND = 4,     /* the QNN backend answered with an error code */
    RUN_DEFECT = 70,     /* out of memory, or a fault of hexrun */
    RUN_INTERRUPTED = 130
};

enum { FAULT_TEXT = 1024, FAULT_EVIDENCE = 12 };

struct fault {
    enum status status;
    char what[FAULT_TEXT];
    char evidence[FAULT_EVIDENCE][FAULT_TEXT];
    size_t evidence_count, evidence_left_out;
    char fix[FAULT_TEXT];
    bool has_code;
    uint64_t code; /* as the backend returned it, unmasked */
};

/* Each returns `status`, so that a function can end with it. */
enum status fault_set(struct fault *fault, enum status status, const char *format, ...) HEXRUN_PRINTF(3, 4);
enum status fault_from_backend(struct fault *fault, uint64_t code, const char *format, ...) HEXRUN_PRINTF(3, 4);
enum status fault_memory(struct fault *fault);

void fault_evidence(struct fault *fault, const char *format, ...) HEXRUN_PRINTF(2, 3);
void fault_fix(struct fault *fault, const char *format, ...) HEXRUN_PRINTF(2, 3);

/* Text from a model, a file or a library, made fit for a terminal in its place: no control characters. */
void make_visible(char *text);

/* Where `say` goes, for the whole process; NULL, as at the beginning: nowhere. */
void say_to(void (*line)(void *context, const char *text), void *context);

/* A line for the person who watches; never part of a result. */
void say(const char *format, ...) HEXRUN_PRINTF(1, 2);

#endif
