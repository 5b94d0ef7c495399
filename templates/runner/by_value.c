#include "by_value.h"

#include <string.h>

#include "backend_log.h"

/* Where a large structure is copied into the argument area, what follows it moves with its size, so the
 * size must be the callee's own. Elsewhere the callee gets a pointer to a copy, which may be longer. */
#if defined(__x86_64__) && !defined(_WIN32)
#define EXACT_SIZE 1
#else
#define EXACT_SIZE 0
#endif

enum {
    HEAD_WORDS = offsetof(struct qnn_interface, call) / 8,
    LONGEST_TABLE = 160 /* functions; as many again as any release has had */
};

struct dlc_call {
    void *entry;
    const struct qnn_interface *interface;
    size_t known; /* bytes of the interface that are its own */
    qnn_handle dlc, backend, context;
    const struct qnn_graph_info **graphs;
    uint32_t *count;
};

struct library_call {
    void *entry;
    const struct qnn_interface *interface;
    size_t known;
    qnn_handle backend, context;
    struct qnn_model_graph ***graphs;
    uint32_t *count;
};

enum { GRAPH_INFO_VERSION = 1 };

#define CALLS_WITH(length)                                                                                           \
    struct interface_##length {                                                                                      \
        uint64_t words[HEAD_WORDS + (length)];                                                                       \
    };                                                                                                               \
    struct table_##length {                                                                                          \
        uint64_t words[length];                                                                                      \
    };                                                                                                               \
    static qnn_error dlc_with_##length(const struct dlc_call *call)                                                  \
    {                                                                                                                \
        struct interface_##length interface = {{0}};                                                                 \
        qnn_error (*entry)(qnn_handle, const void **, uint32_t, qnn_handle, qnn_handle, struct interface_##length,   \
                           uint32_t, const struct qnn_graph_info **, uint32_t *);                                    \
        memcpy(&entry, &call->entry, sizeof entry);                                                                  \
        memcpy(&interface, call->interface, call->known);                                                            \
        return entry(call->dlc, NULL, 0, call->backend, call->context, interface, GRAPH_INFO_VERSION, call->graphs,  \
                     call->count);                                                                                   \
    }                                                                                                                \
    static int library_with_##length(const struct library_call *call)                                                \
    {                                                                                                                \
        struct table_##length table = {{0}};                                                                         \
        int (*entry)(qnn_handle, struct table_##length, qnn_handle, const void **, uint32_t,                         \
                     struct qnn_model_graph ***, uint32_t *, bool, qnn_log_callback, uint32_t);                      \
        memcpy(&entry, &call->entry, sizeof entry);                                                                  \
        memcpy(&table, &call->interface->call, call->known - 8 * HEAD_WORDS);                                        \
        return entry(call->backend, table, call->context, NULL, 0, call->graphs, call->count, false,                 \
                     backend_log_callback, QNN_LOG_ERROR);                                                           \
    }

struct calls {
    uint32_t first, last, length;
    qnn_error (*dlc)(const struct dlc_call *call);
    int (*library)(const struct library_call *call);
};

#if EXACT_SIZE
#define CALLS(first, last, length) CALLS_WITH(length)
#define ROW(first, last, length) {first, last, length, dlc_with_##length, library_with_##length},
QNN_TABLE_LENGTHS(CALLS)
#else
CALLS_WITH(160)
_Static_assert(LONGEST_TABLE == 160, "the name of the calls is their length");
#define ROW(first, last, length) {first, last, length, dlc_with_160, library_with_160},
#endif

static const struct calls KNOWN[] = {QNN_TABLE_LENGTHS(ROW)};

/* The row of the backend's release, or of the last one before it where a prefix of its table is enough. */
static enum status find_calls(const struct libraries *libraries, const struct calls **out, size_t *known,
                              struct fault *fault)
{
    uint32_t minor = libraries->backend->api.core.minor;
    *out = NULL;
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        if (KNOWN[i].first <= minor && (!EXACT_SIZE || minor <= KNOWN[i].last))
            *out = &KNOWN[i];
    if (*out) {
        *known = 8 * (HEAD_WORDS + (size_t)(*out)->length);
        return RUN_OK;
    }
    fault_set(fault, RUN_REFUSED, "hexrun cannot compose graphs with this release of QAIRT on this processor");
    fault_evidence(fault, "found core API 2.%u, whose interface is of a size that hexrun does not know", minor);
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++)
        fault_evidence(fault, "wanted core API 2.%u to 2.%u", KNOWN[i].first, KNOWN[i].last);
    fault_fix(fault, "use a context binary, or the libraries of one of these releases");
    return RUN_REFUSED;
}

enum status by_value_compose_dlc(const struct libraries *libraries, qnn_handle dlc, qnn_handle backend,
                                 qnn_handle context, const struct qnn_graph_info **graphs, uint32_t *count,
                                 qnn_error *code, struct fault *fault)
{
    const struct calls *calls;
    struct dlc_call call = {.interface = libraries->backend,
                            .dlc = dlc,
                            .backend = backend,
                            .context = context,
                            .graphs = graphs,
                            .count = count};
    enum status status = find_calls(libraries, &calls, &call.known, fault);
    if (status)
        return status;
    memcpy(&call.entry, &libraries->system->call.dlc_compose_graphs, sizeof call.entry);
    *code = calls->dlc(&call);
    return RUN_OK;
}

enum status by_value_compose_library(const struct libraries *libraries, void *entry, qnn_handle backend,
                                     qnn_handle context, struct qnn_model_graph ***graphs, uint32_t *count, int *code,
                                     struct fault *fault)
{
    const struct calls *calls;
    struct library_call call = {.entry = entry,
                                .interface = libraries->backend,
                                .backend = backend,
                                .context = context,
                                .graphs = graphs,
                                .count = count};
    enum status status = find_calls(libraries, &calls, &call.known, fault);
    if (!status)
        *code = calls->library(&call);
    return status;
}
