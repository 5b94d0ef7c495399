/* FastRPC without a DSP: a libcdsprpc.so for the vendor's real HTP backend on Linux on Arm.
 *
 * It has the functions of the public FastRPC interface and answers as a DSP would that does everything
 * successfully and computes nothing: outputs are zeros. Two things it does genuinely, because the backend
 * judges by them: it opens the skel along the DSP search path, and it tells the build id that stands in that
 * skel. So what the backend says about files, versions and contexts is its own verdict; numbers mean nothing.
 *
 * LAB_DSP_ARCH     what the DSP calls its architecture, 0x73 for v73
 * LAB_DSP_JOURNAL  a file that gets a line for each skel that was opened or not found, and for each vote
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, NO_SUCH_FILE = (int)0x80000406, EXPIRED = 0x2e, WOULD_BLOCK = 0x204 };

static void note(const char *what, const char *value)
{
    const char *path = getenv("LAB_DSP_JOURNAL");
    FILE *journal = path ? fopen(path, "a") : NULL;
    if (!journal)
        return;
    fprintf(journal, "%s %s\n", what, value);
    fclose(journal);
}

/* ---- capabilities ---- */

enum { ASK_CAPABILITY = 2, ARCHITECTURE = 6 };

struct capability {
    uint32_t domain, attribute, value;
};

static uint32_t value_of(uint32_t attribute)
{
    /* Is there a DSP, unsigned PDs, HVX units, VTCM in bytes and its pages, the architecture, async, mailbox. */
    static const uint32_t values[] = {1, 1, 4, 0, 0x40000, 16, 0x73, 1, 0, 1};
    const char *arch = getenv("LAB_DSP_ARCH");
    if (attribute == ARCHITECTURE && arch)
        return (uint32_t)strtoul(arch, NULL, 0);
    return attribute < sizeof values / sizeof *values ? values[attribute] : 0;
}

EXPORT int remote_handle_control(uint32_t request, void *data, uint32_t size)
{
    struct capability *asked = data;
    if (request == ASK_CAPABILITY && size >= sizeof *asked)
        asked->value = value_of(asked->attribute);
    return OK;
}

enum { SET_LATENCY = 1, BY_QOS = 1, BY_POLLING = 3 };

struct latency {
    uint32_t kind, microseconds;
};

EXPORT int remote_handle64_control(uint64_t handle, uint32_t request, void *data, uint32_t size)
{
    const struct latency *asked = data;
    char text[32];
    (void)handle;
    if (request != SET_LATENCY || size < sizeof *asked)
        return OK;
    snprintf(text, sizeof text, "%u us", asked->microseconds);
    if (asked->kind == BY_QOS || asked->kind == BY_POLLING)
        note(asked->kind == BY_QOS ? "latency" : "polling", text);
    return OK;
}

EXPORT int remote_session_control(uint32_t request, void *data, uint32_t size)
{
    (void)request, (void)data, (void)size;
    return OK;
}

EXPORT int remote_system_request(void *request)
{
    (void)request;
    return OK;
}

/* ---- the skel ---- */

enum { ID_SIZE = 128, SHORTEST_ID = 16 };
static char skel_id[ID_SIZE];

/* The length of a build id such as v2.51.0.260929181845 that stands at `at`, or 0. */
static size_t id_length(const char *at, const char *end)
{
    const char *here = at + 1;
    int dots = 0;
    if (here == end || !isdigit((unsigned char)*here))
        return 0;
    for (; here < end && (isdigit((unsigned char)*here) || *here == '.' || *here == '_'); here++)
        dots += *here == '.';
    size_t length = (size_t)(here - at);
    return here < end && *here == '\0' && dots == 3 && length >= SHORTEST_ID && length < ID_SIZE ? length : 0;
}

static bool starts_word(const char *at, const char *begin)
{
    return at == begin || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
}

static void remember_id(const char *begin, size_t size)
{
    const char *end = begin + size;
    *skel_id = '\0';
    for (const char *at = begin; (at = memchr(at, 'v', (size_t)(end - at))); at++) {
        size_t length = starts_word(at, begin) ? id_length(at, end) : 0;
        if (!length)
            continue;
        memcpy(skel_id, at, length);
        skel_id[length] = '\0';
        return;
    }
}

/* A DSP loads nothing but ELF files for the Hexagon, and of those none for a later one than itself. */
static bool loadable(const unsigned char *bytes, size_t size)
{
    enum { MACHINE = 18, FLAGS = 36, HEXAGON = 164, HEADER = 52, ARCH_MASK = 0x3ff };
    if (size < HEADER || memcmp(bytes, "\177ELF", 4) != 0 || bytes[MACHINE] != HEXAGON)
        return false;
    uint32_t arch = ((uint32_t)bytes[FLAGS] | (uint32_t)bytes[FLAGS + 1] << 8) & ARCH_MASK;
    return arch <= value_of(ARCHITECTURE);
}

static bool opened_skel(const char *path)
{
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    bool usable = fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
    void *bytes = usable ? mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool opened = loadable(bytes, (size_t)about.st_size);
    if (opened)
        remember_id(bytes, (size_t)about.st_size);
    munmap(bytes, (size_t)about.st_size);
    if (opened)
        note("skel", path);
    return opened;
}

/* Tries `name` in every folder of a variable; they stand between semicolons. */
static bool found_along(const char *variable, const char *name)
{
    const char *folders = getenv(variable);
    while (folders && *folders) {
        size_t length = strcspn(folders, ";");
        char path[4096];
        snprintf(path, sizeof path, "%.*s/%s", (int)length, folders, name);
        if (length && opened_skel(path))
            return true;
        folders += length + (folders[length] == ';');
    }
    return false;
}

/* A module is asked for as file:///libQnnHtpV73Skel.so?entry&_modver=1.0. */
static bool found_module(const char *uri)
{
    static const char scheme[] = "file:///";
    char name[256];
    if (strncmp(uri, scheme, sizeof scheme - 1) != 0)
        return true; /* a part of the DSP itself */
    snprintf(name, sizeof name, "%s", uri + sizeof scheme - 1);
    name[strcspn(name, "?")] = '\0';
    /* Where DSP_LIBRARY_PATH is set, FastRPC does not look at the other. */
    return found_along(getenv("DSP_LIBRARY_PATH") ? "DSP_LIBRARY_PATH" : "ADSP_LIBRARY_PATH", name);
}

EXPORT int remote_handle64_open(const char *uri, uint64_t *handle)
{
    static uint64_t last = 0x100;
    if (!found_module(uri)) {
        note("no skel", uri);
        return NO_SUCH_FILE;
    }
    *handle = ++last;
    return OK;
}

EXPORT int remote_handle64_close(uint64_t handle)
{
    (void)handle;
    return OK;
}

EXPORT int remote_handle_open(const char *uri, uint32_t *handle)
{
    *handle = 1;
    return found_module(uri) ? OK : NO_SUCH_FILE;
}

EXPORT int remote_handle_close(uint32_t handle)
{
    (void)handle;
    return OK;
}

/* ---- calls ---- */

union argument {
    struct {
        void *data;
        size_t size;
    } buffer;
    uint64_t handle[2];
};

/* A call's scalars word says how many buffers go in and come out; the inputs stand first. */
struct call {
    union argument *in, *out;
    unsigned method, in_count, out_count;
};

static uint32_t crc32_of(uint32_t crc, const void *data, size_t size)
{
    const uint8_t *byte = data;
    crc = ~crc;
    while (size--) {
        crc ^= *byte++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

static void clear_outputs(const struct call *call)
{
    enum { LARGEST_CLEARED = 1 << 20 };
    for (unsigned i = 0; i < call->out_count; i++) {
        void *data = call->out[i].buffer.data;
        bool also_input = false;
        for (unsigned j = 0; j < call->in_count; j++)
            also_input |= call->in[j].buffer.data == data;
        if (data && !also_input && call->out[i].buffer.size < LARGEST_CLEARED)
            memset(data, 0, call->out[i].buffer.size);
    }
}

/* The record in which the skel tells its build id: capacity, then blanks where the text goes. */
struct id_record {
    uint32_t length, reserved;
    char text[ID_SIZE];
};

/* A command for the skel. Behind its head a vote stands as the backend's interface takes it: DCVS v3. */
struct command {
    uint32_t size, kind, reserved[6];
    uint32_t id, set_dcvs, dcvs, mode, set_sleep, sleep_us, set_sleep_off, sleep_off;
    uint32_t set_bus, bus[3], set_core, core[3];
};
_Static_assert(sizeof(struct command) == 96, "as the backends of 2.48 and 2.51 send it");

enum { RUN_COMMAND = 4, MAP_MEMORY = 9, VOTE = 0x17, GIVE_BACK = 0x18 };

static void note_vote(const union argument *argument)
{
    const struct command *command = argument->buffer.data;
    char text[128];
    if (!command || argument->buffer.size != sizeof *command)
        return;
    snprintf(text, sizeof text, "dcvs %u mode 0x%x sleep %u us bus 0x%x core 0x%x", command->dcvs, command->mode,
             command->sleep_us, command->bus[1], command->core[1]);
    if (command->kind == VOTE)
        note("vote", text);
    else if (command->kind == GIVE_BACK)
        note("vote", "given back");
}

static void run_command(const struct call *call)
{
    if (call->in_count < 4 || call->out_count < 3)
        return;
    note_vote(&call->in[1]);
    void *to = call->out[2].buffer.data, *from = call->in[3].buffer.data;
    size_t size = call->out[2].buffer.size;
    if (size > call->in[3].buffer.size)
        size = call->in[3].buffer.size;
    if (!to || !from)
        return;
    if (to != from)
        memcpy(to, from, size);
    struct id_record *record = to;
    if (call->out[2].buffer.size == sizeof *record && record->length == ID_SIZE && record->text[0] == ' ') {
        memset(record->text, 0, sizeof record->text);
        memcpy(record->text, skel_id, strlen(skel_id));
        record->length = (uint32_t)strlen(skel_id);
    }
}

static void map_memory(const struct call *call)
{
    static uint64_t next = 0x20000000;
    if (call->out_count < 1 || call->out[0].buffer.size != 16)
        return;
    memcpy(call->out[0].buffer.data, &next, sizeof next);
    next += 0x100000;
}

/* The first output ends with a checksum of the other outputs and of itself. */
static void seal(const struct call *call)
{
    if (!call->out_count || call->out[0].buffer.size < 8)
        return;
    uint8_t *head = call->out[0].buffer.data;
    size_t size = call->out[0].buffer.size - sizeof(uint32_t);
    uint32_t crc = 0;
    for (unsigned i = 1; i < call->out_count; i++)
        if (call->out[i].buffer.data)
            crc = crc32_of(crc, call->out[i].buffer.data, call->out[i].buffer.size);
    crc = crc32_of(crc, head, size);
    memcpy(head + size, &crc, sizeof crc);
}

EXPORT int remote_handle64_invoke(uint64_t handle, uint32_t scalars, union argument *arguments)
{
    (void)handle;
    struct call call = {
        .method = (scalars >> 24) & 0x1f,
        .in_count = (scalars >> 16) & 0xff,
        .out_count = (scalars >> 8) & 0xff,
        .in = arguments,
    };
    call.out = arguments + call.in_count;
    clear_outputs(&call);
    if (call.method == RUN_COMMAND)
        run_command(&call);
    else if (call.method == MAP_MEMORY)
        map_memory(&call);
    seal(&call);
    return OK;
}

EXPORT int remote_handle_invoke(uint32_t handle, uint32_t scalars, union argument *arguments)
{
    return remote_handle64_invoke(handle, scalars, arguments);
}

/* ---- memory ---- */

enum { LIMIT = 4096, PAGE = 4096 };

static struct {
    void *data;
    size_t size;
    int descriptor;
} held[LIMIT];

static int slot_of(const void *data)
{
    int slot = 0;
    while (slot < LIMIT && held[slot].data != data)
        slot++;
    return slot;
}

EXPORT void *rpcmem_alloc2(int heap, uint32_t flags, size_t size)
{
    (void)heap, (void)flags;
    int slot = slot_of(NULL);
    int descriptor = slot < LIMIT ? memfd_create("rpcmem", MFD_CLOEXEC) : -1;
    size = (size + PAGE - 1) / PAGE * PAGE;
    if (descriptor < 0 || ftruncate(descriptor, (off_t)size) != 0)
        return NULL;
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED)
        return NULL;
    held[slot].data = data;
    held[slot].size = size;
    held[slot].descriptor = descriptor;
    return data;
}

EXPORT void *rpcmem_alloc(int heap, uint32_t flags, int size)
{
    return size > 0 ? rpcmem_alloc2(heap, flags, (size_t)size) : NULL;
}

EXPORT void rpcmem_free(void *data)
{
    int slot = data ? slot_of(data) : LIMIT;
    if (slot == LIMIT)
        return;
    munmap(data, held[slot].size);
    close(held[slot].descriptor);
    held[slot].data = NULL;
}

EXPORT int rpcmem_to_fd(void *data)
{
    int slot = data ? slot_of(data) : LIMIT;
    return slot < LIMIT ? held[slot].descriptor : -1;
}

EXPORT void rpcmem_init(void) {}
EXPORT void rpcmem_deinit(void) {}

EXPORT void remote_register_buf(void *data, int size, int descriptor)
{
    (void)data, (void)size, (void)descriptor;
}

EXPORT void remote_register_buf_attr(void *data, size_t size, int descriptor, int attributes)
{
    (void)data, (void)size, (void)descriptor, (void)attributes;
}

EXPORT int remote_register_dma_handle(int descriptor, uint32_t size)
{
    (void)descriptor, (void)size;
    return OK;
}

EXPORT int remote_register_dma_handle_attr(int descriptor, uint32_t size, uint32_t attributes)
{
    (void)descriptor, (void)size, (void)attributes;
    return OK;
}

EXPORT int fastrpc_mmap(int domain, int descriptor, void *data, int offset, size_t size, int flags)
{
    (void)domain, (void)descriptor, (void)data, (void)offset, (void)size, (void)flags;
    return OK;
}

EXPORT int fastrpc_munmap(int domain, int descriptor, void *data, size_t size)
{
    (void)domain, (void)descriptor, (void)data, (void)size;
    return OK;
}

/* ---- queues: there is one, and nothing ever comes out of it ---- */

EXPORT int dspqueue_create(int domain, uint32_t flags, uint32_t request_size, uint32_t response_size,
                           void *on_packet, void *on_error, void *context, void **queue)
{
    static int only;
    (void)domain, (void)flags, (void)request_size, (void)response_size;
    (void)on_packet, (void)on_error, (void)context;
    *queue = &only;
    return OK;
}

EXPORT int dspqueue_close(void *queue)
{
    (void)queue;
    return OK;
}

EXPORT int dspqueue_export(void *queue, uint64_t *id)
{
    (void)queue;
    *id = 1;
    return OK;
}

EXPORT int dspqueue_read(void *queue, uint32_t *flags, uint32_t limit, uint32_t *count, void *buffers,
                         uint32_t message_limit, uint32_t *size, void *message, uint32_t timeout_us)
{
    (void)queue, (void)flags, (void)limit, (void)count, (void)buffers;
    (void)message_limit, (void)size, (void)message, (void)timeout_us;
    return EXPIRED;
}

EXPORT int dspqueue_read_noblock(void *queue, uint32_t *flags, uint32_t limit, uint32_t *count, void *buffers,
                                 uint32_t message_limit, uint32_t *size, void *message)
{
    (void)queue, (void)flags, (void)limit, (void)count, (void)buffers;
    (void)message_limit, (void)size, (void)message;
    return WOULD_BLOCK;
}

EXPORT int dspqueue_write(void *queue, uint32_t flags, uint32_t count, void *buffers, uint32_t size,
                          const void *message, uint32_t timeout_us)
{
    (void)queue, (void)flags, (void)count, (void)buffers, (void)size, (void)message, (void)timeout_us;
    return OK;
}

EXPORT int dspqueue_write_noblock(void *queue, uint32_t flags, uint32_t count, void *buffers, uint32_t size,
                                  const void *message)
{
    (void)queue, (void)flags, (void)count, (void)buffers, (void)size, (void)message;
    return OK;
}
