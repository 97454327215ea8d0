#include <float.h>
#include <stddef.h>
#include <stdint.h>

#if DBL_MANT_DIG != 53 || DBL_MAX_EXP != 1024
#error "double is not IEEE 754 binary64 on this machine: the numbers of this file do not fit"
#endif
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(_M_FP_FAST)
#error "compile without -ffast-math: it deletes the tests by which an escape is recognised"
#endif

#ifndef MODEL_MAX_STEPS
#define MODEL_MAX_STEPS 1000000L /* of one segment */
#endif

enum {
    MODEL_OK = 0,
    MODEL_ESCAPE = 1, /* the solution leaves every bound before T, or passes a pole closer than double can tell */
    MODEL_INPUT = 2,  /* an input is not finite */
    MODEL_STEPS = 3   /* more than MODEL_MAX_STEPS steps */
};

/* Term e adds value[e] * y[j[e]] * y[k[e]] to a derivative; y[MODEL_WIDTH] is the constant 1. Row r is the derivative of
   y[i[r]] in a segment, the sum of the terms row[r] to row[r + 1] - 1; segment s has the rows start[s] to
   start[s + 1] - 1, and lasts duration[s]. */
TABLES
enum { MODEL_ORDER = 20 };
static const double MODEL_DECAY = 0x1.4495b8fe2ddf1p-3;   /* 1e-16 to the power 1/20: what each order must gain */
static const double MODEL_SMALLEST = 1e-307;              /* below, a register has no relative accuracy */
static const double MODEL_GROWTH = 4.0;                   /* a step is at most so much longer than its trial */
static const double MODEL_SHORTEST = 1e-13;               /* of a segment: shorter steps near a pole mean escape */
static const double MODEL_NEAR = 3e-2;                    /* of the longest step: shorter ones mean that a pole is near */
static const double MODEL_SHRINK = 0x1p-20;               /* of a trial step whose terms overflow */
enum { MODEL_MAX_SHRINKS = 40 };

/* The working memory: registers with the terms of their Taylor series, for a trial step. */
typedef struct {
    double series[MODEL_WIDTH + 1][MODEL_ORDER + 1];
    uint8_t moves[MODEL_WIDTH + 1]; /* whether each has a row in the segment */
} MODEL_memory;

static double MODEL_size(double value)
{
    return value < 0.0 ? -value : value;
}

static double MODEL_larger(double a, double b)
{
    return a > b ? a : b;
}

static int MODEL_finite(double value)
{
    return value - value == 0.0;
}

/* What rounding took from the product of two numbers, by Dekker's rule. */
static double MODEL_error(double a, double b, double product)
{
    const double splitter = 0x1p27 + 1.0, huge = 0x1p990;
    double high, low, upper, lower;
    if (!(MODEL_size(a) < huge && MODEL_size(b) < huge))
        return 0.0;
    high = splitter * a - (splitter * a - a);
    low = a - high;
    upper = splitter * b - (splitter * b - b);
    lower = b - upper;
    return ((high * upper - product) + high * lower + low * upper) + low * lower;
}

/* Adds order n of term e to a sum and what rounding took from it. A register that does not move has only its order 0;
   rates of one sign that cancel others are common, so a product with one is added with all its digits. */
static void MODEL_add(const MODEL_memory *memory, size_t e, int n, double *sum, double *rest)
{
    const size_t j = MODEL_j[e], k = MODEL_k[e];
    const double *frozen = memory->series[memory->moves[j] ? k : j], *other = memory->series[memory->moves[j] ? j : k];
    double rate, part, total;
    if (memory->moves[j] && memory->moves[k]) {
        int m;
        part = 0.0;
        for (m = 0; m <= n; m++)
            part += frozen[m] * other[n - m];
        part *= MODEL_value[e];
    } else if (memory->moves[j] || memory->moves[k] || n == 0) {
        rate = MODEL_value[e] * frozen[0];
        part = rate * other[n];
        *rest += MODEL_error(MODEL_value[e], frozen[0], rate) * other[n] + MODEL_error(rate, other[n], part);
    } else
        return;
    total = *sum + part;
    *rest += MODEL_size(*sum) > MODEL_size(part) ? part - (total - *sum) : *sum - (total - part);
    *sum = total;
}

/* All Taylor terms for a step h; gives their order, which is less than MODEL_ORDER where the solution is a polynomial:
   if orders p + 1 to 2 p + 1 vanish, then all above p do, because products of two factors are all there is. */
static int MODEL_fill_series(MODEL_memory *memory, size_t segment, double h)
{
    int n, degree = 0;
    for (n = 0; n < MODEL_ORDER; n++) {
        size_t r, e;
        for (r = MODEL_start[segment]; r < MODEL_start[segment + 1]; r++) {
            double *term = memory->series[MODEL_i[r]], sum = 0.0, rest = 0.0;
            for (e = MODEL_row[r]; e < MODEL_row[r + 1]; e++)
                MODEL_add(memory, e, n, &sum, &rest);
            term[n + 1] = (sum + rest) * h / (n + 1);
            if (term[n + 1] != 0.0)
                degree = n + 1;
        }
        if (n + 1 >= 2 * degree + 1)
            return degree;
    }
    return MODEL_ORDER;
}

/* The step as a multiple of the trial: the largest factor up to MODEL_GROWTH by which term n of every register, from
   order `from` on, is at most MODEL_DECAY^n of the size of the register; 0 if there is none. */
static double MODEL_reach(const MODEL_memory *memory, size_t segment, int from)
{
    double largest[MODEL_ORDER + 1] = {0.0}, factor;
    size_t r;
    int n;
    for (r = MODEL_start[segment]; r < MODEL_start[segment + 1]; r++) {
        const double *term = memory->series[MODEL_i[r]];
        double size = MODEL_larger(MODEL_size(term[0]), MODEL_size(term[1]));
        for (n = 2; n <= MODEL_ORDER && MODEL_size(term[0]) + MODEL_size(term[1]) == 0.0; n++)
            size = MODEL_larger(size, MODEL_size(term[n]));
        size = MODEL_larger(size, MODEL_SMALLEST);
        for (n = from; n <= MODEL_ORDER; n++)
            if (!(MODEL_size(term[n]) / size <= largest[n]))
                largest[n] = MODEL_size(term[n]) / size;
    }
    for (factor = MODEL_GROWTH; factor > DBL_MIN; factor *= 0.875) {
        double bound = factor < 1.0 ? factor : 1.0; /* a register that starts at 0 has a size that shrinks, too */
        int fits = 1;
        for (n = 1; n <= MODEL_ORDER; n++) {
            bound *= MODEL_DECAY / factor;
            fits = fits && (n < from || largest[n] <= bound);
        }
        if (fits)
            return factor;
    }
    return 0.0;
}

/* Sums the series at a multiple of its trial step. If a register is not finite, all keep their values. */
static int MODEL_step(MODEL_memory *memory, size_t segment, int degree, double factor)
{
    size_t r;
    for (r = MODEL_start[segment]; r < MODEL_start[segment + 1]; r++) {
        double *term = memory->series[MODEL_i[r]], sum = 0.0;
        int n;
        for (n = degree; n > 0; n--)
            sum = (sum + term[n]) * factor;
        sum += term[0];
        if (!MODEL_finite(sum))
            return 0;
        term[MODEL_ORDER] = sum; /* read by nobody any more, unless the next register fails */
    }
    for (r = MODEL_start[segment]; r < MODEL_start[segment + 1]; r++) {
        double *term = memory->series[MODEL_i[r]];
        term[0] = term[MODEL_ORDER];
    }
    return 1;
}

/* Advances the registers by `span`, inside a segment. */
static int MODEL_advance(MODEL_memory *memory, size_t segment, double span)
{
    double left = span, trial = span, longest = 0.0;
    int shrinks = 0, young = 1;
    long steps;
    size_t n;
    for (n = 0; n <= MODEL_WIDTH; n++)
        memory->moves[n] = 0;
    for (n = MODEL_start[segment]; n < MODEL_start[segment + 1]; n++)
        memory->moves[MODEL_i[n]] = 1;
    for (steps = 0; left > 0.0; steps++) {
        const int degree = MODEL_fill_series(memory, segment, trial);
        double ahead = left;
        if (steps >= MODEL_MAX_STEPS)
            return MODEL_STEPS;
        if (degree == MODEL_ORDER) /* terms may vanish for a while after a start: look at more of them */
            ahead = trial * MODEL_reach(memory, segment, young ? MODEL_ORDER / 2 : MODEL_ORDER - 2);
        if (ahead > 0.0 && MODEL_step(memory, segment, degree, (ahead < left ? ahead : left) / trial)) {
            if (ahead >= left)
                return MODEL_OK;
            longest = MODEL_larger(ahead, longest);
            if (ahead < MODEL_SHORTEST * MODEL_duration[segment] && ahead < MODEL_NEAR * longest)
                return MODEL_ESCAPE;
            left -= ahead;
            trial = ahead;
            young = 0;
        } else {
            if (++shrinks > MODEL_MAX_SHRINKS)
                return MODEL_ESCAPE;
            trial *= MODEL_SHRINK;
        }
    }
    return MODEL_OK;
}

/* The registers at the start: the inputs, then zeros. */
static int MODEL_begin(MODEL_memory *memory, const double *x)
{
    size_t i;
    for (i = 0; i <= MODEL_WIDTH; i++)
        memory->series[i][0] = i < MODEL_WIDTH ? 0.0 : 1.0;
    for (i = 0; i != MODEL_INPUTS; i++) {
        if (!MODEL_finite(x[i]))
            return MODEL_INPUT;
        memory->series[i][0] = x[i];
    }
    return MODEL_OK;
}

static int MODEL_read(const MODEL_memory *memory, double *y)
{
    size_t e, output;
    int status = MODEL_OK;
    for (output = 0; output < MODEL_OUTPUTS; output++)
        y[output] = 0.0;
    for (e = 0; e != MODEL_READS; e++)
        y[MODEL_output[e]] += MODEL_weight[e] * memory->series[MODEL_register[e]][0];
    for (output = 0; output < MODEL_OUTPUTS; output++)
        if (!MODEL_finite(y[output]))
            status = MODEL_ESCAPE;
    return status;
}

