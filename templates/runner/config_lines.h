/* The lines of runner.conf, read from any stream. */
#ifndef HEXRUN_CONFIG_LINES_H
#define HEXRUN_CONFIG_LINES_H

#include <stdio.h>

#include "config.h"

/* Fills a zeroed `config` whose path is set; that is the file's name in errors. */
enum status config_read(FILE *file, struct config *config, struct fault *fault);

#endif
