/* What several reports share. */
#ifndef HEXRUN_REPORT_PARTS_H
#define HEXRUN_REPORT_PARTS_H

#include "backend_log.h"
#include "json.h"
#include "run.h"

/* The document, open, with its version. */
struct json report_begin(FILE *out);
void report_variant(struct json *json, const struct run *run);
void report_backend(struct json *json, const struct libraries *libraries);
/* The first dimension `times` as long. */
void report_shape(struct json *json, const struct tensor *tensor, size_t times);

/* The backend's log for a person: its lines, and what the codes in them mean. */
void report_log(FILE *out, const char *indent, char log[LOG_LINES][LOG_LINE], size_t count);

/* A line, or a part of one, with names that come from outside: what only a terminal would obey is left out. */
void text_out(FILE *out, const char *format, ...) HEXRUN_PRINTF(2, 3);

#endif
