int MODEL_in(MODEL_memory *memory, const double *x, double *y);
int MODEL(const double *x, double *y);

/* The outputs for one input, in memory of the caller: threads may call it at the same time, each with its own. */
int MODEL_in(MODEL_memory *memory, const double *x, double *y)
{
    int status = MODEL_begin(memory, x);
    volatile double large = DBL_MAX;
    size_t segment, output;
    for (segment = 0; segment != MODEL_DEPTH && status == MODEL_OK; segment++)
        status = MODEL_advance(memory, segment, MODEL_duration[segment]);
    if (status == MODEL_OK)
        status = MODEL_read(memory, y);
    for (output = 0; output < MODEL_OUTPUTS && status != MODEL_OK; output++)
        y[output] = large * large - large * large; /* NaN */
    return status;
}

/* The same in memory of its own: one call at a time. */
int MODEL(const double *x, double *y)
{
    static MODEL_memory memory;
    return MODEL_in(&memory, x, y);
}

#ifdef INTEGRAPH_MAIN
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    static MODEL_memory MODEL_own;
    double MODEL_x[MODEL_INPUTS + 1], MODEL_y[MODEL_OUTPUTS];
    int n, status;
    if (count != MODEL_INPUTS + 1) {
        fprintf(stderr, "%d numbers are needed, the inputs\n", (int)MODEL_INPUTS);
        return MODEL_INPUT;
    }
    for (n = 0; n != MODEL_INPUTS; n++) {
        char *end;
        MODEL_x[n] = strtod(words[n + 1], &end);
        if (end == words[n + 1] || *end != '\0') {
            fprintf(stderr, "not a number: input %d\n", n + 1);
            return MODEL_INPUT;
        }
    }
    status = MODEL_in(&MODEL_own, MODEL_x, MODEL_y); /* whatever the model is called, this is no name of a variable */
    for (n = 0; n < MODEL_OUTPUTS; n++)
        printf("%.17g\n", MODEL_y[n]);
    return status;
}
#endif
