/* What the real HTP backend of a bundle says, call by call, until one fails: probe BUNDLE.
 *
 * The bundle has lib/libQnnHtp.so, lib/libQnnSystem.so and share/models/model.bin. One JSON document tells the step
 * that failed, its code, and the backend's last words; step "accepted" means that nothing failed. It is no hexrun:
 * no check of ours stands before the library's own. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend_log.h"
#include "json.h"
#include "qnn_abi.h"

enum { PATH = 4096 };

struct verdict {
    const char *step;
    qnn_error code;
    const char *reason; /* of the dynamic loader; NULL where the backend spoke */
};

struct bytes {
    void *data;
    uint64_t size;
};

static struct verdict tell(FILE *out, struct verdict verdict, const char *build)
{
    static char lines[LOG_LINES][LOG_LINE];
    struct json json = {.out = out};
    size_t count = backend_log_lines(lines);
    json_open_object(&json, NULL);
    json_string(&json, "step", verdict.step);
    json_number(&json, "code", verdict.code);
    json_string(&json, "reason", verdict.reason);
    json_string(&json, "build", build);
    json_open_array(&json, "log");
    for (size_t i = 0; i < count; i++)
        json_string(&json, NULL, lines[i]);
    json_close_array(&json);
    json_close_object(&json);
    fputc('\n', out);
    return verdict;
}

static void *entry(const char *bundle, const char *name, const char *symbol)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", bundle, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library ? dlsym(library, symbol) : NULL;
}

static const struct qnn_interface *htp(void *get)
{
    const struct qnn_interface **list = NULL;
    uint32_t count = 0;
    if (((qnn_get_providers)(uintptr_t)get)(&list, &count))
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (list[i]->backend_id == QNN_BACKEND_HTP)
            return list[i];
    return NULL;
}

static const struct qnn_system_interface *reader(void *get)
{
    const struct qnn_system_interface **list = NULL;
    uint32_t count = 0;
    return ((qnn_system_get_providers)(uintptr_t)get)(&list, &count) == 0 && count ? list[0] : NULL;
}

static struct bytes read_all(const char *bundle)
{
    char path[PATH];
    struct bytes all = {0};
    snprintf(path, sizeof path, "%s/share/models/model.bin", bundle);
    FILE *file = fopen(path, "rb");
    if (!file)
        return all;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    all.data = malloc(size > 0 ? (size_t)size : 1);
    if (all.data && size >= 0)
        all.size = fread(all.data, 1, (size_t)size, file);
    fclose(file);
    return all;
}

/* The first graph's name; the tables of versions 1 and 3 hold it at different places. */
static const char *first_graph(const struct qnn_binary_info *info)
{
    if (!info || info->version < 1 || info->version > 3)
        return NULL;
    const struct qnn_graph_info *graphs = info->version == 3 ? info->u.v3.graphs : info->u.v1.graphs;
    return graphs ? graphs->v1.name : NULL;
}

static struct verdict use_graph(const struct qnn_functions *call, const struct qnn_system_functions *system,
                                qnn_handle context, struct bytes binary)
{
    qnn_handle description = NULL, graph = NULL;
    const struct qnn_binary_info *info = NULL;
    qnn_error code = system->context_create(&description);
    if (!code)
        code = system->context_get_metadata(description, binary.data, binary.size, &info);
    const char *name = code ? NULL : first_graph(info);
    if (!name)
        return (struct verdict){"systemContextGetMetadata", code, code ? NULL : "it tells no graph"};
    code = call->graph_retrieve(context, name, &graph);
    system->context_free(description);
    return (struct verdict){code ? "graphRetrieve" : "accepted", code, NULL};
}

static struct verdict judge(const struct qnn_functions *call, const struct qnn_system_functions *system,
                            struct bytes binary)
{
    qnn_handle log = NULL, backend = NULL, device = NULL, context = NULL;
    qnn_error code = call->log_create(backend_log_callback, QNN_LOG_ERROR, &log);
    if (code)
        return (struct verdict){"logCreate", code, NULL};
    code = call->backend_create(log, NULL, &backend);
    if (code)
        return (struct verdict){"backendCreate", code, NULL};
    code = call->device_create(log, NULL, &device);
    if (code)
        return (struct verdict){"deviceCreate", code, NULL};
    code = call->context_create_from_binary(backend, device, NULL, binary.data, binary.size, &context, NULL);
    if (code)
        return (struct verdict){"contextCreateFromBinary", code, NULL};
    struct verdict verdict = use_graph(call, system, context, binary);
    call->context_free(context, NULL);
    call->device_free(device);
    call->backend_free(backend);
    call->log_free(log);
    return verdict;
}

int main(int count, char **arguments)
{
    const char *build = NULL;
    if (count != 2)
        return 2;
    /* The vendor's libraries print to standard output too. */
    FILE *out = fdopen(dup(STDOUT_FILENO), "w");
    if (!out || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 3;
    const char *bundle = arguments[1];
    struct verdict verdict = {"load libQnnHtp.so", 0, NULL};
    void *get = entry(bundle, "lib/libQnnHtp.so", "QnnInterface_getProviders");
    const struct qnn_interface *backend = get ? htp(get) : NULL;
    const struct qnn_system_interface *system = NULL;
    if (backend) {
        verdict.step = "load libQnnSystem.so";
        get = entry(bundle, "lib/libQnnSystem.so", "QnnSystemInterface_getProviders");
        system = get ? reader(get) : NULL;
    }
    struct bytes binary = read_all(bundle);
    if (!system) {
        const char *reason = dlerror();
        verdict.reason = reason ? reason : "it offers no interface for this use";
    } else if (!binary.data) {
        verdict = (struct verdict){"read the model", 0, "there is no share/models/model.bin"};
    } else {
        backend->call.backend_get_build_id(&build);
        verdict = judge(&backend->call, &system->call, binary);
    }
    tell(out, verdict, build);
    /* What the backend has started stays mapped: unloading it has crashed processes at their end. */
    fflush(out);
    _exit(0);
}
