/* What people and scripts see: results on `out`, faults on stderr (and on `out` too with --json). */
#ifndef HEXRUN_REPORT_H
#define HEXRUN_REPORT_H

#include <stdio.h>

#include "run.h"
#include "status.h"

void report_results(FILE *out, const struct run *run);
void report_description(FILE *out, const struct run *run);
void report_saved(FILE *out, const struct run *run);
void report_fault(FILE *out, const struct fault *fault, bool json);

#endif
