/* The last lines that the backend logged at level ERROR. The reason for a bare error code is often only
 * there. The one piece of global state in hexrun: the backend's callback carries no pointer of ours. */
#ifndef HEXRUN_BACKEND_LOG_H
#define HEXRUN_BACKEND_LOG_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINES = 16, LOG_LINE = 512 };

void backend_log_callback(const char *format, uint32_t level, uint64_t timestamp, va_list arguments);

/* Copies the lines, oldest first, and returns how many there are. */
size_t backend_log_lines(char out[LOG_LINES][LOG_LINE]);

#endif
