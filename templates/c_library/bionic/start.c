/* Where a program for Android begins: the linker jumps to _start, and bionic does the rest. */
#include <stddef.h>
#include <stdint.h>

int main(int count, char **arguments, char **environment);

typedef void (*structor)(void);

/* What bionic wants to know of a program's constructors and destructors; hexrun has none. Android 8 reads the first
 * three, and the counts came later. */
struct structors {
    structor *before_init, *init, *fini;
    size_t before_init_count, init_count, fini_count;
};

_Noreturn void __libc_init(void *arguments, void (*unused)(void), int (*program)(int, char **, char **),
                           const struct structors *structors);

__attribute__((used)) _Noreturn static void start(void *arguments)
{
    static const struct structors NONE = {0};
    __libc_init(arguments, NULL, main, &NONE);
}

/* The stack pointer leads to the argument count. `hint 38` is a landing place for jumps and calls (bti jc). */
__asm__(".text\n"
        ".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    hint #38\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, sp\n"
        "    b start\n"
        ".size _start, .-_start\n");

/* bionic keeps acts with an argument, for the library that they belong to; a program's own is NULL. */
int __cxa_atexit(void (*act)(void *), void *with, void *library);

static void call(void *with)
{
    void (*act)(void) = *(void (**)(void))with;
    act();
}

int atexit(void (*act)(void))
{
    static void (*acts[4])(void);
    static size_t count;
    if (count == sizeof acts / sizeof *acts)
        return -1;
    acts[count] = act;
    return __cxa_atexit(call, &acts[count++], NULL);
}

/* The oldest Android that the program is for, where the linker and `readelf -n` look for it. */
struct android_note {
    uint32_t name_size, text_size, kind;
    char name[8];
    uint32_t api;
};
__attribute__((used, section(".note.android.ident"), aligned(4))) static const struct android_note NOTE = {
    sizeof "Android", sizeof(uint32_t), 1, "Android", __ANDROID_API__};
