#ifndef HEXRUN_DLFCN_H
#define HEXRUN_DLFCN_H

#include "system_abi.h"

void *dlopen(const char *path, int mode);
void *dlsym(void *library, const char *name);
char *dlerror(void);
int dlclose(void *library);

#endif
