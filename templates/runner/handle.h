/* What is behind hexrun.h: the one way from runner.conf to a model that runs. The program goes through it too, and
 * looks inside for its report. */
#ifndef HEXRUN_HANDLE_H
#define HEXRUN_HANDLE_H

#include "choose.h"
#include "config.h"
#include "hexrun.h"
#include "lane.h"
#include "power.h"
#include "session.h"
#include "units.h"

/* What the program does while a model is opened; every function may be NULL. `context` is handed to each. */
struct handle_steps {
    void *context;
    /* The metadata is known; of a context binary, no device is open yet. `units_own` is false, for a fault that
     * another unit would have too. NULL prepares the graph that the options name, or the only one. */
    enum status (*described)(void *context, struct hexrun *handle, bool *units_own, struct fault *fault);
    /* The device is open and the clocks voted for; the context is next. */
    enum status (*opening)(void *context, struct hexrun *handle, struct fault *fault);
    /* The unit is given up: what `described` and `opening` made is to go, before the backend does. */
    void (*undo)(void *context);
    bool (*interrupted)(void);
};

struct hexrun {
    struct hexrun_options options; /* its strings are gone after opening */
    const struct handle_steps *steps;
    enum buffer_kind buffers;
    struct config *config;
    const struct compute *unit; /* that the model is on */
    struct passed_over passed_over;
    struct libraries libraries;
    struct session session;
    struct choice choice;
    struct model model;
    struct power power;
    struct lane *lanes; /* one for each of the model's graphs */
    uint64_t load_us, create_us; /* `create` is device, power vote and context */
    struct platform_lock *lock;
    bool running; /* graphs can be executed */
    struct fault fault; /* the last one */
};

/* hexrun_open with the program's steps; on failure the fault is in the handle. NULL when memory is short. */
enum status handle_open(const char *folder, const struct hexrun_options *options, const struct handle_steps *steps,
                        struct hexrun **out);

/* The lane of that graph, NULL for the only one, prepared. */
enum status handle_lane(struct hexrun *handle, const char *graph, struct lane **out, struct fault *fault);

/* RUN_INTERRUPTED where the program is asked to end. */
enum status handle_check_interrupt(const struct hexrun *handle, struct fault *fault);

void handle_close(struct hexrun *handle);
/* Only what belongs to the unit, so that the next one can be tried. */
void handle_close_unit(struct hexrun *handle);

#endif
