/* Parts of the JSON document that several reports share. */
#ifndef HEXRUN_REPORT_PARTS_H
#define HEXRUN_REPORT_PARTS_H

#include "json.h"
#include "run.h"

/* The document, open, with its version. */
struct json report_begin(FILE *out);
void report_variant(struct json *json, const struct run *run);
void report_backend(struct json *json, const struct libraries *libraries);
/* The first dimension `times` as long. */
void report_shape(struct json *json, const struct tensor *tensor, size_t times);

#endif
