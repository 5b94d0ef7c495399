/* The lines of runner.conf. */
#ifndef HEXRUN_CONFIG_LINES_H
#define HEXRUN_CONFIG_LINES_H

#include "config.h"

/* Reads the whole text into a zeroed `config` whose path is set; that is the file's name in errors. */
enum status config_read(const char *text, size_t size, struct config *config, struct fault *fault);

#endif
