/* Standard error without the C library's own variable; see system_abi.h. */
#include <stdio.h>
#include <unistd.h>

FILE *system_error_stream(void)
{
    static FILE *stream;
    if (!stream && (stream = fdopen(STDERR_FILENO, "w")) != NULL)
        setvbuf(stream, NULL, _IONBF, 0);
    return stream;
}
