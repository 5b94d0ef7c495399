#include "draft.h"

#include <errno.h>
#include <string.h>

#include "status.h"

static bool failed(struct draft *draft, char *problem)
{
    snprintf(problem, FAULT_TEXT, "%s", errno ? strerror(errno) : "it was not written whole");
    draft_drop(draft);
    return false;
}

bool draft_open(struct draft *draft, const char *path, char *problem)
{
    /* The clock tells apart processes that see each other only through the file system. */
    int length = snprintf(draft->path, sizeof draft->path, "%s.%lx-%llx.part", path, platform_process_id(),
                          (unsigned long long)platform_now_us());
    draft->file = NULL;
    if (length > 0 && (size_t)length < sizeof draft->path)
        draft->file = platform_open(draft->path, "wb", problem);
    else
        snprintf(problem, FAULT_TEXT, "the path is too long");
    if (!draft->file)
        *draft->path = '\0';
    return draft->file != NULL;
}

bool draft_write(struct draft *draft, const void *data, size_t bytes, char *problem)
{
    errno = 0;
    return fwrite(data, 1, bytes, draft->file) == bytes || failed(draft, problem);
}

bool draft_close(struct draft *draft, char *problem)
{
    FILE *file = draft->file;
    draft->file = NULL;
    errno = 0;
    bool whole = !ferror(file);
    whole = fclose(file) == 0 && whole;
    return whole || failed(draft, problem);
}

bool draft_keep(struct draft *draft, const char *path, bool durable, char *problem)
{
    bool kept = platform_replace(draft->path, path, durable, problem);
    if (kept)
        *draft->path = '\0';
    else
        draft_drop(draft);
    return kept;
}

void draft_drop(struct draft *draft)
{
    if (draft->file)
        fclose(draft->file);
    if (*draft->path)
        platform_remove(draft->path);
    draft->file = NULL;
    *draft->path = '\0';
}
