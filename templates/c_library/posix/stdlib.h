#ifndef HEXRUN_STDLIB_H
#define HEXRUN_STDLIB_H

#include <stddef.h>

enum { EXIT_SUCCESS = 0, EXIT_FAILURE = 1 };

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);
_Noreturn void abort(void);
_Noreturn void exit(int status);
_Noreturn void _Exit(int status);
int atexit(void (*act)(void));
char *getenv(const char *name);
int mkstemp(char *path);
int unsetenv(const char *name);
int setenv(const char *name, const char *value, int replace);
double strtod(const char *text, char **end);
float strtof(const char *text, char **end);
long strtol(const char *text, char **end, int base);
long long strtoll(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
void qsort(void *rows, size_t count, size_t size, int (*compare)(const void *, const void *));
char *realpath(const char *path, char *out);

#endif
