#include "backend_log.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "qnn_abi.h"
#include "status.h"

static struct {
    atomic_flag busy; /* the backend logs from its own threads too */
    size_t count;
    char lines[LOG_LINES][LOG_LINE];
} ring = {.busy = ATOMIC_FLAG_INIT};

static void enter(void)
{
    while (atomic_flag_test_and_set_explicit(&ring.busy, memory_order_acquire))
        ;
}

static void leave(void)
{
    atomic_flag_clear_explicit(&ring.busy, memory_order_release);
}

void backend_log_callback(const char *format, uint32_t level, uint64_t timestamp, va_list arguments)
{
    (void)timestamp;
    if (level != QNN_LOG_ERROR || !format)
        return;
    char text[LOG_LINE];
    vsnprintf(text, sizeof text, format, arguments);
    for (size_t length = strlen(text); length && strchr(" \r\n", text[length - 1]);)
        text[--length] = '\0';
    make_visible(text);
    enter();
    memcpy(ring.lines[ring.count++ % LOG_LINES], text, sizeof text);
    leave();
}

size_t backend_log_lines(char out[LOG_LINES][LOG_LINE])
{
    enter();
    size_t kept = ring.count < LOG_LINES ? ring.count : LOG_LINES;
    for (size_t i = 0; i < kept; i++)
        memcpy(out[i], ring.lines[(ring.count - kept + i) % LOG_LINES], LOG_LINE);
    leave();
    return kept;
}
