/* Where a program for QNX begins, as QNX's own start code does it. From public descriptions; never run on QNX. */
#include <stdlib.h>

int main(int count, char **arguments, char **environment);

/* Prepares the C library; the last argument, an act for the end, may be NULL. */
void _init_libc(int count, char **arguments, char **environment, void *auxiliary, void (*at_end)(void));

/* The kernel's words: a count, that many arguments, NULL, the environment, NULL, and the auxiliary vector. */
__attribute__((used)) _Noreturn static void start(long *words)
{
    int count = (int)words[0];
    char **arguments = (char **)(words + 1);
    char **environment = arguments + count + 1;
    char **end = environment;
    while (*end)
        end++;
    _init_libc(count, arguments, environment, end + 1, NULL);
    exit(main(count, arguments, environment));
}

__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, sp\n"
        "    bl start\n"
        ".size _start, .-_start\n");
