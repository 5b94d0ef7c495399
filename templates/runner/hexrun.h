/* hexrun as a library: open a package's model, ask what it takes, run it, close it.
 *
 *     struct hexrun *model = NULL;
 *     struct hexrun_buffer in = {.data = pixels, .bytes = sizeof pixels, .form = HEXRUN_FLOAT32};
 *     struct hexrun_buffer out = {.data = scores, .bytes = sizeof scores, .form = HEXRUN_FLOAT32};
 *     struct hexrun_call call = {.size = sizeof call, .inputs = &in, .input_count = 1,
 *                                .outputs = &out, .output_count = 1};
 *     int status = hexrun_open("/usr/share/my-package", NULL, &model);
 *     if (!status)
 *         status = hexrun_run(model, &call);
 *     if (status)
 *         complain(model, status);         // hexrun_last_error
 *     hexrun_close(&model);
 *
 * Strings and paths are UTF-8 on every system. Structs that carry `size` may grow at their end; the caller sets
 * it to the sizeof of the struct that it was compiled with, before every call. All else in them may be zero.
 *
 * Threads: any number of handles may be open. Calls on different handles do not touch each other, with one
 * exception: hexrun_open changes environment variables (where FastRPC looks for DSP libraries), so no other
 * thread may read or change the environment meanwhile, by another hexrun_open least of all. Calls on one handle
 * may come from any threads; its runs are taken one after the other. hexrun_close must be a handle's last call.
 *
 * The library ends no process, installs no signal handler and prints nothing. Its only state outside handles is
 * the log. The vendor's backend prints to standard output when it pleases, and stays in memory for good: HTP
 * backends do not survive being unloaded. An app that handles signals calls hexrun_close before it ends, and so
 * gives its clock vote back. */
#ifndef HEXRUN_H
#define HEXRUN_H

#include <stddef.h>
#include <stdint.h>

#include "hexrun_export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HEXRUN_RANK = 8 };

/* The same numbers as the program's exit codes. */
enum hexrun_status {
    HEXRUN_OK = 0,
    HEXRUN_REFUSED = 1,     /* no model of this package fits this device, or a buffer does not fit the model */
    HEXRUN_USAGE = 2,       /* an argument or runner.conf is wrong */
    HEXRUN_UNAVAILABLE = 3, /* a file or library could not be read */
    HEXRUN_BACKEND = 4,     /* the QNN backend answered with an error code */
    HEXRUN_DEFECT = 70      /* out of memory, or a fault of hexrun */
};

/* The version of hexrun, as in "0.3.0". */
HEXRUN_API const char *hexrun_version(void);

/* ---- opening ---- */

/* An open model. Its insides are hexrun's own. */
struct hexrun;

enum hexrun_memory {
    HEXRUN_MEMORY_AUTO = 0, /* shared with the DSP where that can be had, else plain */
    HEXRUN_MEMORY_PLAIN = 1,
    HEXRUN_MEMORY_SHARED = 2 /* or HEXRUN_REFUSED */
};

struct hexrun_options {
    size_t size;
    const char *conf;  /* the lines of a runner.conf, in place of the file; relative paths start at `folder` */
    const char *soc;   /* a model by its SoC's name or soc_model; NULL: by what the device says */
    const char *graph; /* opened at once; NULL: the only one. Others are opened when they first run */
    const char *power; /* profile; NULL: runner.conf's */
    uint32_t memory;   /* enum hexrun_memory */
    uint32_t describe_only; /* not 0: no device is opened, and nothing can run */
};

/* Opens the package in `folder`: runner.conf, or share/runner.conf, or the path of such a file; NULL: beside the
 * executable or in ../share. Libraries are loaded by absolute path, the variant for this device is chosen, the
 * device opened, clocks voted for, the model loaded. A model that the backend refuses is not tried again.
 * `options` may be NULL.
 *
 * *out is set even where opening fails, for hexrun_last_error; hexrun_close is due in every case. It is NULL when
 * there is not even memory for that. */
HEXRUN_API int hexrun_open(const char *folder, const struct hexrun_options *options, struct hexrun **out);

/* Gives the clock vote back, frees graphs, context and device, and sets *handle to NULL. NULL and a pointer to
 * NULL are nothing to close, so closing twice through one variable is harmless. */
HEXRUN_API void hexrun_close(struct hexrun **handle);

/* ---- what the model is ---- */

/* Strings live as long as the handle. */
struct hexrun_description {
    size_t size;
    const char *package, *version; /* of the package */
    const char *soc;               /* the variant that was chosen, and why */
    const char *chosen_because;
    const char *unit;              /* npu, gpu or cpu */
    const char *backend_build;     /* QAIRT build of the backend, and of the compiler or NULL */
    const char *compiled_by;
    uint32_t soc_model, hexagon;
    uint32_t graph_count;
    uint32_t simulated; /* not 0: by the x86-64 simulator, whose times say nothing */
};

HEXRUN_API int hexrun_describe(struct hexrun *handle, struct hexrun_description *out);

struct hexrun_graph {
    size_t size;
    const char *name;
    uint32_t input_count, output_count;
};

HEXRUN_API int hexrun_describe_graph(struct hexrun *handle, uint32_t index, struct hexrun_graph *out);

enum hexrun_side { HEXRUN_INPUT = 0, HEXRUN_OUTPUT = 1 };

struct hexrun_tensor {
    size_t size;
    const char *name;
    const char *dtype;     /* of an element as NumPy calls it: float32, uint16 … */
    const char *stored_as; /* as QNN does: ufixed_point_16 … */
    uint32_t rank;
    uint32_t dims[HEXRUN_RANK];
    uint64_t elements;
    uint64_t bytes;         /* HEXRUN_NATIVE; HEXRUN_FLOAT32 is 4 * elements */
    uint32_t takes_float32; /* not 0: HEXRUN_FLOAT32 can be had */
    uint32_t quantized;     /* not 0: real = (stored + offset) * scale */
    uint32_t bits;          /* that the numbers use; 0: all of the element */
    uint32_t channels;      /* 0: one scale for the tensor, below; else see hexrun_describe_channel */
    uint32_t axis;          /* that the channels are on */
    float scale;
    int32_t offset;
};

HEXRUN_API int hexrun_describe_tensor(struct hexrun *handle, uint32_t graph, uint32_t side, uint32_t index,
                                      struct hexrun_tensor *out);

/* The scale and offset of one index along the axis. */
HEXRUN_API int hexrun_describe_channel(struct hexrun *handle, uint32_t graph, uint32_t side, uint32_t index,
                                       uint32_t channel, float *scale, int32_t *offset);

/* ---- running ---- */

enum hexrun_form {
    HEXRUN_NATIVE = 0, /* as the graph stores it */
    HEXRUN_FLOAT32 = 1 /* converted as ONNX QuantizeLinear and DequantizeLinear do it, bit for bit */
};

/* One input or output. Its layout does not change. */
struct hexrun_buffer {
    void *data;     /* aligned as its elements; NULL: the handle's own buffer, see hexrun_own_buffer. Inputs are
                       only read */
    uint64_t bytes; /* exactly what the tensor has in this form */
    uint32_t form;  /* enum hexrun_form */
    uint32_t reserved; /* 0 */
};

/* Buffers are in the order of the graph's inputs and outputs; a count of 0 with NULL means the handle's own
 * buffers for all of them. */
struct hexrun_call {
    size_t size;
    const char *graph; /* NULL: the only one */
    const struct hexrun_buffer *inputs;
    const struct hexrun_buffer *outputs;
    uint32_t input_count, output_count;
    uint64_t took_us;      /* is set: the time inside the backend */
    uint64_t copied_bytes; /* is set: what hexrun itself copied or converted on the way in and out */
};

/* Runs a graph once, and comes back when the outputs are there. A native input of plain memory goes to the backend
 * where it lies; where memory is shared with the DSP, or float32 is converted, it is written once, into the buffer
 * that the backend reads. Outputs are the same in reverse. */
HEXRUN_API int hexrun_run(struct hexrun *handle, struct hexrun_call *call);

/* The handle's own buffer of a tensor, in native form, where the DSP sees it too if memory is shared: what is
 * written into it (or read from it) is not copied at all. It keeps its place until hexrun_close. Other threads must
 * not run the graph between writing and reading. */
HEXRUN_API int hexrun_own_buffer(struct hexrun *handle, const char *graph, uint32_t side, uint32_t index, void **data,
                                 uint64_t *bytes);

/* ---- errors and log ---- */

/* Text is cut to fit, and empty where there is none. */
struct hexrun_error {
    size_t size;
    int status;    /* enum hexrun_status */
    uint32_t code; /* of QNN, 16 bits as `hexpack explain` takes it; 0: none */
    char what[1024];
    char evidence[4096]; /* lines: file, found, wanted; then what the backend logged */
    char fix[1024];
    char code_name[128];
    char sentence[1024];   /* the likeliest cause of the code in the field */
    char look_first[1024]; /* and where to look */
};

/* The last failure of the handle, whichever thread it came to; status 0 where nothing failed yet. NULL, the handle
 * that could not be had, is out of memory. */
HEXRUN_API int hexrun_last_error(struct hexrun *handle, struct hexrun_error *out);

/* Sends the lines that the program prints to standard error (which model and why, what the power vote was) to
 * `line`, for the whole process; NULL, as at the beginning, drops them. To be called while no handle is in use. */
HEXRUN_API void hexrun_log_to(void (*line)(void *context, const char *text), void *context);

#ifdef __cplusplus
}
#endif

#endif
