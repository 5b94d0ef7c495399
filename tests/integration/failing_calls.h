/* Put before every unit of a runner that is built to fail: the call number FAIL_AT of the kind FAIL_KIND does
 * (memory, read, write), and with FAIL_ON all calls after it too. The file FAIL_WITNESS appears when one did. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>

void *failing_malloc(size_t size);
void *failing_calloc(size_t count, size_t size);
void *failing_realloc(void *old, size_t size);
char *failing_realpath(const char *path, char *out);
int failing_setenv(const char *name, const char *value, int replace);
DIR *failing_opendir(const char *path);
FILE *failing_fopen(const char *path, const char *mode);
FILE *failing_fdopen(int descriptor, const char *mode);
void *failing_mmap(void *at, size_t size, int protection, int flags, int descriptor, off_t offset);
size_t failing_fread(void *out, size_t size, size_t count, FILE *file);
char *failing_fgets(char *out, int size, FILE *file);
int failing_ferror(FILE *file);
size_t failing_fwrite(const void *data, size_t size, size_t count, FILE *file);
int failing_fclose(FILE *file);

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#define realpath failing_realpath
#define setenv failing_setenv
#define opendir failing_opendir
#define fopen failing_fopen
#define fdopen failing_fdopen
#define mmap failing_mmap
#define fread failing_fread
#define fgets failing_fgets
#define ferror failing_ferror
#define fwrite failing_fwrite
#define fclose failing_fclose
