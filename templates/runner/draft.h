/* A file that appears whole or not at all, also where two programs write it at once: it is written under a name that
 * nothing else has, and then given the one it is for. */
#ifndef HEXRUN_DRAFT_H
#define HEXRUN_DRAFT_H

#include "platform.h"

struct draft {
    FILE *file; /* NULL: closed */
    char path[PATH_CAPACITY]; /* of the draft; empty: there is none */
};

/* What fails fills `problem` (size FAULT_TEXT), and leaves no file. */
bool draft_open(struct draft *draft, const char *path, char *problem);
bool draft_write(struct draft *draft, const void *data, size_t bytes, char *problem);
/* Nothing more is written; the draft can be read. */
bool draft_close(struct draft *draft, char *problem);
/* Gives the draft its name. `durable`: also where the power fails in the next moment, which takes time. */
bool draft_keep(struct draft *draft, const char *path, bool durable, char *problem);
/* Removes what is not kept. Safe to call when there is none. */
void draft_drop(struct draft *draft);

#endif
