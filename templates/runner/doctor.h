/* hexrun --doctor: why the NPU does not answer, step by step from the device node to the context. */
#ifndef HEXRUN_DOCTOR_H
#define HEXRUN_DOCTOR_H

#include <stdio.h>

#include "options.h"
#include "status.h"

/* Prints every step, as text or as one JSON document. Returns the status of the first step that failed;
 * the values are those of every other run. */
enum status doctor_run(FILE *out, const struct options *options);

#endif
