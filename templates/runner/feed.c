#include "feed.h"

#include <stdlib.h>
#include <string.h>

#include "decode.h"

struct qnn_tensor *feed_tensors(const struct feed *feed)
{
    return (struct qnn_tensor *)(void *)feed->raw;
}

static struct qnn_tensor *tensor_at(const struct feed *feed, uint32_t index)
{
    return (struct qnn_tensor *)(void *)(feed->raw + index * feed->stride);
}

uint32_t find_tensor(const struct graph_io *io, const char *name)
{
    if (!name)
        return io->count == 1 ? 0 : io->count;
    uint32_t i = 0;
    while (i < io->count && strcmp(io->tensors[i].name, name) != 0)
        i++;
    return i;
}

void feed_point(struct feed *feed, uint32_t index, void *data)
{
    struct qnn_tensor_v1 *v1 = &tensor_at(feed, index)->v1;
    v1->memory_type = QNN_TENSOR_RAW;
    v1->memory.client.data = data ? data : feed->data[index];
    v1->memory.client.size = (uint32_t)tensor_bytes(&feed->io->tensors[index]);
}

enum status feed_begin(const struct model *model, const struct graph_io *io, const struct shared_memory *memory,
                       struct feed *out, struct fault *fault)
{
    size_t count = io->count ? io->count : 1;
    *out = (struct feed){.io = io, .stride = model->tensor_stride, .memory = memory};
    out->raw = calloc(count, out->stride);
    out->data = calloc(count, sizeof *out->data);
    if (!out->raw || !out->data)
        return fault_memory(fault);
    for (uint32_t i = 0; i < io->count; i++) {
        memcpy(tensor_at(out, i), raw_tensor(model, io, i), out->stride);
        feed_point(out, i, NULL);
    }
    return RUN_OK;
}

enum status feed_allocate(struct feed *feed, uint32_t index, struct fault *fault)
{
    size_t bytes = tensor_bytes(&feed->io->tensors[index]);
    bytes = bytes ? bytes : 1;
    if (feed->data[index])
        return RUN_OK;
    feed->data[index] = feed->memory ? shared_allocate(feed->memory, bytes) : calloc(1, bytes);
    if (!feed->data[index])
        return fault_memory(fault);
    feed_point(feed, index, NULL);
    return RUN_OK;
}

enum status feed_open(const struct model *model, const struct graph_io *io, const struct shared_memory *memory,
                      struct feed *out, struct fault *fault)
{
    enum status status = feed_begin(model, io, memory, out, fault);
    for (uint32_t i = 0; !status && i < io->count; i++)
        status = feed_allocate(out, i, fault);
    return status;
}

void feed_close(struct feed *feed)
{
    feed_unregister(feed);
    for (uint32_t i = 0; feed->data && i < feed->io->count; i++)
        if (!feed->memory)
            free(feed->data[i]);
        else if (feed->data[i])
            feed->memory->release(feed->data[i]);
    free(feed->data);
    free(feed->raw);
    *feed = (struct feed){0};
}

size_t feed_bytes(const struct feed *feed)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < feed->io->count; i++)
        bytes += tensor_bytes(&feed->io->tensors[i]);
    return bytes;
}

/* ---- registration ---- */

static bool register_one(struct feed *feed, uint32_t index, qnn_handle context, char reason[SHARED_REASON])
{
    const struct tensor *tensor = &feed->io->tensors[index];
    struct qnn_tensor_v1 *v1 = &tensor_at(feed, index)->v1;
    struct qnn_memory_descriptor descriptor = {
        .shape = {.rank = tensor->rank, .dimensions = v1->dimensions},
        .data_type = v1->data_type,
        .memory_type = QNN_MEMORY_ION,
        .u.descriptor = feed->memory->descriptor(feed->data[index]),
    };
    if (descriptor.u.descriptor < 0) {
        snprintf(reason, SHARED_REASON, "the buffer of %.128s has no file descriptor (rpcmem_to_fd)", tensor->name);
        return false;
    }
    qnn_error code = feed->call->mem_register(context, &descriptor, 1, &feed->handles[index]);
    if (code == 0 && feed->handles[index]) {
        v1->memory_type = QNN_TENSOR_MEMORY_HANDLE;
        v1->memory.handle = feed->handles[index];
        return true;
    }
    uint32_t masked = decode_mask(code);
    feed->handles[index] = NULL;
    snprintf(reason, SHARED_REASON, "the backend did not register the buffer of %.128s (memRegister): error %u %s",
             tensor->name, masked, decode_name(masked));
    return false;
}

bool feed_register(struct feed *feed, const struct qnn_functions *call, qnn_handle context,
                   char reason[SHARED_REASON])
{
    feed->call = call;
    feed->handles = calloc(feed->io->count ? feed->io->count : 1, sizeof *feed->handles);
    bool good = feed->handles != NULL && call->mem_register && call->mem_deregister;
    if (!good)
        snprintf(reason, SHARED_REASON, feed->handles ? "the backend registers no memory" : "out of memory");
    for (uint32_t i = 0; good && i < feed->io->count; i++)
        good = register_one(feed, i, context, reason);
    if (!good)
        feed_unregister(feed);
    return good;
}

void feed_unregister(struct feed *feed)
{
    for (uint32_t i = 0; feed->handles && i < feed->io->count; i++)
        if (feed->handles[i]) {
            qnn_error code = feed->call->mem_deregister(&feed->handles[i], 1);
            if (code)
                say("a shared buffer could not be deregistered: error %u", decode_mask(code));
            feed_point(feed, i, NULL);
        }
    free(feed->handles);
    feed->handles = NULL;
}
