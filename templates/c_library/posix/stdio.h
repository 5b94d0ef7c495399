#ifndef HEXRUN_STDIO_H
#define HEXRUN_STDIO_H

#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#define EOF (-1)
#define BUFSIZ 1024

enum { _IONBF = 2 };
enum { SEEK_SET = 0, SEEK_CUR = 1, SEEK_END = 2 };

int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int snprintf(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *out, size_t size, const char *format, va_list values) __attribute__((format(printf, 3, 0)));
int vfprintf(FILE *file, const char *format, va_list values) __attribute__((format(printf, 2, 0)));
int sscanf(const char *text, const char *format, ...) __attribute__((format(scanf, 2, 3)));

FILE *fopen(const char *path, const char *mode);
FILE *fdopen(int descriptor, const char *mode);
int setvbuf(FILE *file, char *buffer, int mode, size_t size);
int fclose(FILE *file);
int fflush(FILE *file);
int ferror(FILE *file);
int feof(FILE *file);
int fileno(FILE *file);
size_t fread(void *out, size_t size, size_t count, FILE *file);
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);
int fseeko(FILE *file, off_t offset, int from);
off_t ftello(FILE *file);
int getc(FILE *file);
int ungetc(int letter, FILE *file);
int fgetc(FILE *file);
char *fgets(char *out, int size, FILE *file);
int fputc(int letter, FILE *file);
int putc(int letter, FILE *file);
int fputs(const char *text, FILE *file);
int fseek(FILE *file, long offset, int from);
long ftell(FILE *file);
void rewind(FILE *file);
int rename(const char *from, const char *to);
int remove(const char *path);

#endif
