/* The package's files as real files: assets are copied once, libraries are linked to where Android put them. */
#ifndef HEXRUN_APP_TREE_H
#define HEXRUN_APP_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "android_abi.h"

enum { TREE_PATH = 512, TREE_SAID = 2048 };

/* Makes or completes the tree in `folder`, out of the assets below `source`, an index of which lies there. `said`, of
 * TREE_SAID bytes, gets a sentence when it fails. A tree counts as complete when its own index is that of the assets,
 * and that is written last. */
bool tree_prepare(struct android_assets *assets, const char *source, const char *folder, const char *libraries,
                  char *said);

#endif
