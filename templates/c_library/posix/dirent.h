#ifndef HEXRUN_DIRENT_H
#define HEXRUN_DIRENT_H

#include <sys/types.h>

typedef struct system_folder DIR;

DIR *opendir(const char *path);
struct dirent *readdir(DIR *folder);
int closedir(DIR *folder);

#endif
