/* FMI 2.0 over the functions above: types and functions as the standard names them. Value references: the registers,
   their derivatives, the inputs (parameters), the outputs. */
#include <string.h>

#ifdef _WIN32
#define MODEL_EXPORT __declspec(dllexport)
#else
#define MODEL_EXPORT
#endif
#define MODEL_JOIN(prefix, name) MODEL_PASTE(prefix, name)
#define MODEL_PASTE(prefix, name) prefix##name
#if defined(FMI2_FUNCTION_PREFIX) && !defined(FMI2_OVERRIDE_FUNCTION_PREFIX) /* linked into a program with other FMUs */
#define MODEL_FMI(name) MODEL_EXPORT MODEL_status MODEL_JOIN(FMI2_FUNCTION_PREFIX, name)
#define MODEL_FMI_OTHER(kind, name) MODEL_EXPORT kind MODEL_JOIN(FMI2_FUNCTION_PREFIX, name)
#else
#define MODEL_FMI(name) MODEL_EXPORT MODEL_status name
#define MODEL_FMI_OTHER(kind, name) MODEL_EXPORT kind name
#endif

typedef enum { MODEL_FINE, MODEL_WARNING, MODEL_DISCARD, MODEL_ERROR, MODEL_FATAL, MODEL_PENDING } MODEL_status;
typedef enum { MODEL_EXCHANGE, MODEL_COSIMULATION } MODEL_kind;
typedef enum { MODEL_STEP_STATUS, MODEL_PENDING_STATUS, MODEL_LAST_TIME, MODEL_TERMINATED } MODEL_question;
typedef struct {
    void (*logger)(void *, const char *, MODEL_status, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*step_finished)(void *, MODEL_status);
    void *environment;
} MODEL_callbacks;
typedef struct {
    int update_needed, terminate, nominals_changed, values_changed, next_time_defined;
    double next_time;
} MODEL_event;
typedef struct {
    MODEL_memory memory;
    double x[MODEL_INPUTS + 1], edge[MODEL_DEPTH + 1]; /* the switches, from the start on */
    double start, time, elapsed;                       /* elapsed: in the segment */
    double derivative[MODEL_WIDTH], y[MODEL_OUTPUTS];  /* for whoever asks for them */
    size_t segment;
    int status; /* of the solution */
    MODEL_callbacks callbacks;
    const char *name;
} MODEL_instance;

static const double MODEL_SNAP = 1e-12; /* of a time: a switch so near is reached */
static const char *const MODEL_MESSAGES[] = {
    "", "the solution leaves every bound before the end", "an input is not finite", "too many steps"};
STARTS

static MODEL_status MODEL_failure(const MODEL_instance *instance, const char *message)
{
    if (instance->callbacks.logger)
        instance->callbacks.logger(instance->callbacks.environment, instance->name, MODEL_ERROR, "error", "%s", message);
    return MODEL_ERROR;
}

static MODEL_status MODEL_result(const MODEL_instance *instance)
{
    return instance->status == MODEL_OK ? MODEL_FINE : MODEL_failure(instance, MODEL_MESSAGES[instance->status]);
}

static void MODEL_restart(MODEL_instance *instance)
{
    instance->status = MODEL_begin(&instance->memory, instance->x);
    instance->segment = 0;
    instance->elapsed = 0.0;
}

/* The right-hand side at the current registers; after the last segment nothing moves. */
static MODEL_status MODEL_derivative(const MODEL_instance *instance, double *derivative)
{
    const MODEL_memory *memory = &instance->memory;
    MODEL_status status = MODEL_FINE;
    size_t r, e;
    for (r = 0; r < MODEL_WIDTH; r++)
        derivative[r] = 0.0;
    if (instance->segment == MODEL_DEPTH)
        return status;
    for (r = MODEL_start[instance->segment]; r < MODEL_start[instance->segment + 1]; r++) {
        double *sum = &derivative[MODEL_i[r]];
        for (e = MODEL_row[r]; e < MODEL_row[r + 1]; e++)
            *sum += MODEL_value[e] * memory->series[MODEL_j[e]][0] * memory->series[MODEL_k[e]][0];
        if (!MODEL_finite(*sum))
            status = MODEL_DISCARD; /* the solver tries a shorter step */
    }
    return status;
}

MODEL_FMI_OTHER(const char *, fmi2GetTypesPlatform)(void) { return "default"; }
MODEL_FMI_OTHER(const char *, fmi2GetVersion)(void) { return "2.0"; }
MODEL_FMI(fmi2SetDebugLogging)(void *c, int on, size_t count, const char *const *names)
{
    (void)c, (void)on, (void)count, (void)names;
    return MODEL_FINE;
}

MODEL_FMI_OTHER(void *, fmi2Instantiate)(const char *name, MODEL_kind kind, const char *guid, const char *resources,
                                         const MODEL_callbacks *callbacks, int visible, int logging)
{
    MODEL_instance *instance;
    size_t n;
    (void)kind, (void)resources, (void)visible, (void)logging;
    if (!callbacks || !callbacks->allocate || !callbacks->release || !guid || strcmp(guid, MODEL_GUID) != 0)
        return NULL;
    instance = callbacks->allocate(1, sizeof *instance);
    if (!instance)
        return NULL;
    instance->callbacks = *callbacks;
    instance->name = callbacks->allocate(strlen(name ? name : "") + 1, 1);
    if (!instance->name) {
        callbacks->release(instance);
        return NULL;
    }
    strcpy((char *)instance->name, name ? name : "");
    instance->edge[0] = instance->start = instance->time = 0.0;
    for (n = 0; n != MODEL_DEPTH; n++)
        instance->edge[n + 1] = instance->edge[n] + MODEL_duration[n];
    memcpy(instance->x, MODEL_default, sizeof MODEL_default);
    MODEL_restart(instance);
    return instance;
}

MODEL_FMI_OTHER(void, fmi2FreeInstance)(void *c)
{
    MODEL_instance *instance = c;
    if (instance) {
        void (*release)(void *) = instance->callbacks.release;
        release((char *)instance->name);
        release(instance);
    }
}

MODEL_FMI(fmi2SetupExperiment)(void *c, int limited, double tolerance, double start, int ends, double stop)
{
    MODEL_instance *instance = c;
    (void)limited, (void)tolerance, (void)ends, (void)stop; /* it is as exact as double allows */
    instance->start = instance->time = start;
    return MODEL_FINE;
}

MODEL_FMI(fmi2EnterInitializationMode)(void *c) { (void)c; return MODEL_FINE; }
MODEL_FMI(fmi2ExitInitializationMode)(void *c) { return MODEL_result(c); }
MODEL_FMI(fmi2Terminate)(void *c) { (void)c; return MODEL_FINE; }
MODEL_FMI(fmi2Reset)(void *c)
{
    MODEL_instance *instance = c;
    instance->start = instance->time = 0.0;
    memcpy(instance->x, MODEL_default, sizeof MODEL_default);
    MODEL_restart(instance);
    return MODEL_FINE;
}

MODEL_FMI(fmi2GetReal)(void *c, const unsigned int *references, size_t count, double *values)
{
    MODEL_instance *instance = c;
    const size_t inputs = 2 * (size_t)MODEL_WIDTH, outputs = inputs + MODEL_INPUTS;
    int derived = 0;
    size_t n;
    if (instance->status != MODEL_OK)
        return MODEL_result(instance);
    MODEL_read(&instance->memory, instance->y);
    for (n = 0; n < count; n++) {
        const size_t reference = references[n];
        if (reference >= outputs + MODEL_OUTPUTS)
            return MODEL_failure(instance, "no variable has this value reference");
        if (reference >= MODEL_WIDTH && reference < inputs && !derived++)
            MODEL_derivative(instance, instance->derivative);
        values[n] = reference >= outputs       ? instance->y[reference - outputs]
                    : reference >= inputs      ? instance->x[reference - inputs]
                    : reference >= MODEL_WIDTH ? instance->derivative[reference - MODEL_WIDTH]
                                               : instance->memory.series[reference][0];
    }
    return MODEL_FINE;
}

/* Only inputs can be set, before the start: the solution begins again. */
MODEL_FMI(fmi2SetReal)(void *c, const unsigned int *references, size_t count, const double *values)
{
    MODEL_instance *instance = c;
    const size_t inputs = 2 * (size_t)MODEL_WIDTH;
    size_t n;
    for (n = 0; n < count; n++) {
        if (references[n] < inputs || references[n] >= inputs + MODEL_INPUTS)
            return MODEL_failure(instance, "only the inputs can be set");
        instance->x[references[n] - inputs] = values[n];
    }
    MODEL_restart(instance);
    return MODEL_FINE;
}

#define MODEL_NO_VARIABLES(name, kind)                                                        \
    MODEL_FMI(name)(void *c, const unsigned int *references, size_t count, kind *values)      \
    {                                                                                         \
        (void)references, (void)values;                                                       \
        return count ? MODEL_failure(c, "all variables are of the type Real") : MODEL_FINE;   \
    }
MODEL_NO_VARIABLES(fmi2GetInteger, int)
MODEL_NO_VARIABLES(fmi2GetBoolean, int)
MODEL_NO_VARIABLES(fmi2GetString, const char *)
MODEL_NO_VARIABLES(fmi2SetInteger, const int)
MODEL_NO_VARIABLES(fmi2SetBoolean, const int)
MODEL_NO_VARIABLES(fmi2SetString, const char *const)

MODEL_FMI(fmi2GetFMUstate)(void *c, void **state)
{
    MODEL_instance *instance = c;
    if (!*state)
        *state = instance->callbacks.allocate(1, sizeof *instance);
    if (!*state)
        return MODEL_failure(instance, "no memory for the state");
    memcpy(*state, instance, sizeof *instance);
    return MODEL_FINE;
}
MODEL_FMI(fmi2SetFMUstate)(void *c, void *state)
{
    memcpy(c, state, sizeof(MODEL_instance));
    return MODEL_FINE;
}
MODEL_FMI(fmi2FreeFMUstate)(void *c, void **state)
{
    MODEL_instance *instance = c;
    if (*state)
        instance->callbacks.release(*state);
    *state = NULL;
    return MODEL_FINE;
}
MODEL_FMI(fmi2SerializedFMUstateSize)(void *c, void *state, size_t *size)
{
    (void)state, (void)size;
    return MODEL_failure(c, "states are not serialised");
}
MODEL_FMI(fmi2SerializeFMUstate)(void *c, void *state, char *bytes, size_t size)
{
    (void)state, (void)bytes, (void)size;
    return MODEL_failure(c, "states are not serialised");
}
MODEL_FMI(fmi2DeSerializeFMUstate)(void *c, const char *bytes, size_t size, void **state)
{
    (void)bytes, (void)size, (void)state;
    return MODEL_failure(c, "states are not serialised");
}
MODEL_FMI(fmi2GetDirectionalDerivative)(void *c, const unsigned int *unknowns, size_t rows, const unsigned int *knowns,
                                        size_t columns, const double *seed, double *result)
{
    (void)unknowns, (void)rows, (void)knowns, (void)columns, (void)seed, (void)result;
    return MODEL_failure(c, "there are no directional derivatives");
}

/* Model exchange: a time event at every switch. */
MODEL_FMI(fmi2EnterEventMode)(void *c) { (void)c; return MODEL_FINE; }
MODEL_FMI(fmi2EnterContinuousTimeMode)(void *c) { (void)c; return MODEL_FINE; }
MODEL_FMI(fmi2NewDiscreteStates)(void *c, MODEL_event *event)
{
    MODEL_instance *instance = c;
    const double now = (instance->time - instance->start) * (1.0 + MODEL_SNAP);
    while (instance->segment != MODEL_DEPTH && now >= instance->edge[instance->segment + 1])
        instance->segment++;
    event->update_needed = event->terminate = event->nominals_changed = event->values_changed = 0;
    event->next_time_defined = instance->segment != MODEL_DEPTH;
    event->next_time = event->next_time_defined ? instance->start + instance->edge[instance->segment + 1] : 0.0;
    return MODEL_FINE;
}
MODEL_FMI(fmi2CompletedIntegratorStep)(void *c, int keep, int *enter_event_mode, int *terminate)
{
    (void)c, (void)keep;
    *enter_event_mode = *terminate = 0;
    return MODEL_FINE;
}
MODEL_FMI(fmi2SetTime)(void *c, double time)
{
    ((MODEL_instance *)c)->time = time;
    return MODEL_FINE;
}
MODEL_FMI(fmi2SetContinuousStates)(void *c, const double *states, size_t count)
{
    MODEL_instance *instance = c;
    size_t n;
    for (n = 0; n < count && n < MODEL_WIDTH; n++)
        instance->memory.series[n][0] = states[n];
    return MODEL_FINE;
}
MODEL_FMI(fmi2GetContinuousStates)(void *c, double *states, size_t count)
{
    size_t n;
    for (n = 0; n < count && n < MODEL_WIDTH; n++)
        states[n] = ((MODEL_instance *)c)->memory.series[n][0];
    return MODEL_FINE;
}
MODEL_FMI(fmi2GetDerivatives)(void *c, double *derivative, size_t count)
{
    return count == MODEL_WIDTH ? MODEL_derivative(c, derivative) : MODEL_failure(c, "a derivative for each state");
}
MODEL_FMI(fmi2GetEventIndicators)(void *c, double *indicators, size_t count)
{
    (void)indicators;
    return count ? MODEL_failure(c, "there are no event indicators") : MODEL_FINE;
}
MODEL_FMI(fmi2GetNominalsOfContinuousStates)(void *c, double *nominals, size_t count)
{
    size_t n;
    (void)c;
    for (n = 0; n < count; n++)
        nominals[n] = 1.0;
    return MODEL_FINE;
}

/* Co-simulation: Taylor steps from one communication point to the next, restarted at every switch. */
MODEL_FMI(fmi2DoStep)(void *c, double current, double step, int keep)
{
    MODEL_instance *instance = c;
    const double target = current + step - instance->start;
    (void)keep;
    while (instance->segment != MODEL_DEPTH && instance->status == MODEL_OK) {
        const size_t segment = instance->segment;
        if (target >= instance->edge[segment + 1] * (1.0 - MODEL_SNAP)) {
            const double span = MODEL_duration[segment] - instance->elapsed;
            instance->status = MODEL_advance(&instance->memory, segment, span);
            instance->elapsed = 0.0;
            instance->segment++;
        } else {
            const double span = target - (instance->edge[segment] + instance->elapsed);
            if (span > 0.0) {
                instance->status = MODEL_advance(&instance->memory, segment, span);
                instance->elapsed += span;
            }
            break;
        }
    }
    instance->time = current + step;
    return MODEL_result(instance);
}
MODEL_FMI(fmi2CancelStep)(void *c) { return MODEL_failure(c, "steps are not asynchronous"); }
MODEL_FMI(fmi2SetRealInputDerivatives)(void *c, const unsigned int *references, size_t count, const int *orders,
                                       const double *values)
{
    (void)references, (void)orders, (void)values;
    return count ? MODEL_failure(c, "inputs are fixed") : MODEL_FINE;
}
MODEL_FMI(fmi2GetRealOutputDerivatives)(void *c, const unsigned int *references, size_t count, const int *orders,
                                        double *values)
{
    (void)references, (void)orders, (void)values;
    return count ? MODEL_failure(c, "there are no derivatives of outputs") : MODEL_FINE;
}
MODEL_FMI(fmi2GetStatus)(void *c, MODEL_question question, MODEL_status *value)
{
    (void)question;
    *value = ((MODEL_instance *)c)->status == MODEL_OK ? MODEL_FINE : MODEL_ERROR;
    return MODEL_FINE;
}
MODEL_FMI(fmi2GetRealStatus)(void *c, MODEL_question question, double *value)
{
    if (question != MODEL_LAST_TIME)
        return MODEL_DISCARD;
    *value = ((MODEL_instance *)c)->time;
    return MODEL_FINE;
}
MODEL_FMI(fmi2GetIntegerStatus)(void *c, MODEL_question question, int *value)
{
    (void)c, (void)question, (void)value;
    return MODEL_DISCARD;
}
MODEL_FMI(fmi2GetBooleanStatus)(void *c, MODEL_question question, int *value)
{
    if (question != MODEL_TERMINATED)
        return MODEL_DISCARD;
    *value = ((MODEL_instance *)c)->status != MODEL_OK;
    return MODEL_FINE;
}
MODEL_FMI(fmi2GetStringStatus)(void *c, MODEL_question question, const char **value)
{
    (void)question;
    *value = MODEL_MESSAGES[((MODEL_instance *)c)->status];
    return MODEL_FINE;
}
