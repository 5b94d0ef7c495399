#ifndef HEXRUN_STRING_H
#define HEXRUN_STRING_H

#include <stddef.h>

void *memchr(const void *data, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *out, int byte, size_t size);
char *strchr(const char *text, int letter);
int strcmp(const char *one, const char *other);
char *strcpy(char *restrict to, const char *restrict from);
size_t strcspn(const char *text, const char *letters);
char *strdup(const char *text);
char *strerror(int number);
size_t strlen(const char *text);
char *strncpy(char *restrict to, const char *restrict from, size_t size);
char *strtok_r(char *restrict text, const char *restrict letters, char **restrict state);
int strncmp(const char *one, const char *other, size_t size);
char *strpbrk(const char *text, const char *letters);
char *strrchr(const char *text, int letter);
size_t strspn(const char *text, const char *letters);
char *strstr(const char *text, const char *part);

#endif
