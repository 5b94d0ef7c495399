#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void make_visible(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at; at++)
        if (*at < 0x20 || *at == 0x7F)
            *at = ' ';
        else if (*at == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0) /* the second set of them, in UTF-8 */
            *at = at[1] = '?';
}

static void begin(struct fault *fault, enum status status, const char *format, va_list arguments)
{
    memset(fault, 0, sizeof *fault);
    fault->status = status;
    vsnprintf(fault->what, sizeof fault->what, format, arguments);
    make_visible(fault->what);
}

enum status fault_set(struct fault *fault, enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    begin(fault, status, format, arguments);
    va_end(arguments);
    return status;
}

enum status fault_from_backend(struct fault *fault, uint64_t code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    begin(fault, RUN_BACKEND, format, arguments);
    va_end(arguments);
    fault->has_code = true;
    fault->code = code;
    return RUN_BACKEND;
}

enum status fault_memory(struct fault *fault)
{
    return fault_set(fault, RUN_DEFECT, "out of memory");
}

void fault_evidence(struct fault *fault, const char *format, ...)
{
    if (fault->evidence_count == FAULT_EVIDENCE) {
        fault->evidence_left_out++;
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->evidence[fault->evidence_count], FAULT_TEXT, format, arguments);
    va_end(arguments);
    make_visible(fault->evidence[fault->evidence_count++]);
}

void fault_fix(struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->fix, sizeof fault->fix, format, arguments);
    va_end(arguments);
}

static struct {
    void (*line)(void *context, const char *text);
    void *context;
} listener;

void say_to(void (*line)(void *context, const char *text), void *context)
{
    listener.line = line;
    listener.context = context;
}

void say(const char *format, ...)
{
    char text[2 * FAULT_TEXT];
    va_list arguments;
    if (!listener.line)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    make_visible(text);
    listener.line(listener.context, text);
}
