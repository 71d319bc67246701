/* joule/budget.h - limits: watched while a program runs, or written beside its code.
 *
 * A budget bounds the joules, watts or temperature rise of the machine from its begin to its end. It is checked
 * at every reading; budgets nest, and each is judged for itself. The macros at the end say in the source what a function
 * or a block may use: JOULE_BUDGET_SCOPE is judged in any program, the others by the compiler joulec.
 * Newcomers: a budget is an observation of the meter's cover, so other programs' energy counts too unless the
 * budget is tied to a tag. Below `joule run` a tag's budget is judged in the parent's report, and NOT_MEASURED here.
 */
#ifndef JOULE_BUDGET_H
#define JOULE_BUDGET_H

#include <joule/region.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_budget joule_budget;

/* How a budget stands. The names in reports are the lower-case words. */
typedef enum joule_budget_status {
    JOULE_BUDGET_NOT_MEASURED = 0,     /* nothing is known of its energy */
    JOULE_BUDGET_WITHIN = 1,           /* P(within budget) >= 0.95 and under 80 % of it */
    JOULE_BUDGET_NEAR = 2,             /* P(within budget) >= 0.95, at least 80 % used */
    JOULE_BUDGET_OVER = 3,             /* P(within budget) <= 0.05 */
    JOULE_BUDGET_UNDECIDED = 4,        /* in between: the figures are not sure enough */
    JOULE_BUDGET_BELOW_RESOLUTION = 5, /* in between, because the sensor cannot even tell the energy from 0 */
} joule_budget_status;

/* Called when a limit is first seen to be near (80 %, status NEAR) and when it is passed (status OVER), in the thread
 * whose reading showed it: the meter's, or one in joule_sample_now, joule_region_wait or joule_budget_end. The best
 * estimate decides, because to wait for certainty would overrun every budget. It may end the budget's work and ask or
 * sample the meter, but must not call joule_close or joule_budget_end, nor wait for a thread that does. */
typedef void (*joule_budget_fn)(joule_budget *budget, joule_budget_status status, void *context);

typedef struct joule_budget_options {
    uint32_t struct_size; /* sizeof(joule_budget_options) */
    uint32_t flags;       /* JOULE_BUDGET_STOP, or 0 */
    int32_t domain;       /* JOULE_TOTAL ... or a domain id, of which 0 is one; ignored where tag is not 0 */
    uint32_t tag;         /* bound the attributed joules of this tag instead of the domain; 0: none */
    double max_joules;    /* > 0; 0: no such limit */
    /* mean over the last second; of a shorter budget, at its end, over all of it; 0: no such limit */
    double max_watts;
    /* over the hottest gauge at begin; 0: no such limit; NOT_MEASURED where there is no gauge */
    double max_temperature_rise_kelvin;
    joule_budget_fn notify; /* may be NULL */
    void *context;
} joule_budget_options;

#define JOULE_BUDGET_STOP 1u /* send SIGTERM to this process when the budget is passed */

typedef struct joule_budget_result {
    uint32_t struct_size; /* set by the caller to sizeof(joule_budget_result) */
    joule_budget_status status;
    joule_quantity joules;
    double probability; /* P(within the joule budget); NaN: no such limit, or unknown */
    double peak_watts;  /* highest mean over a second, or over all of a shorter budget; NaN: unknown */
    double temperature_rise_kelvin; /* NaN: unknown */
    /* most that could be used before a passed budget is noticed; NaN: unknown */
    double overshoot_bound_joules;
} joule_budget_result;

/* Starts to watch. The budget is owned by the caller until joule_budget_end, or until its meter is closed. On failure it
 * is NULL. JOULE_INVALID: no limit set, a negative one, or a domain without energy. JOULE_UNSUPPORTED: a flag or member
 * that this library does not know. JOULE_NO_MEMORY: no memory or no thread. Any thread. */
JOULE_API joule_status joule_budget_begin(joule_meter *meter, const joule_budget_options *options,
                                          joule_budget **out_budget, joule_error *out_error);

/* How it stands at the last reading. JOULE_INVALID: struct_size too small. Any thread. */
JOULE_API joule_status joule_budget_now(joule_budget *budget, joule_budget_result *out_result);

/* Takes a last reading, judges, frees the budget. out_result may be NULL. JOULE_INVALID: struct_size too small, and the
 * budget goes on. Any thread, when no other uses the budget. */
JOULE_API joule_status joule_budget_end(joule_budget *budget, joule_budget_result *out_result);

/* "within_budget", "near_budget", "over_budget", "undecided", "below_resolution", "not_measured". */
JOULE_API const char *joule_budget_status_name(joule_budget_status status);

/* Judges a quantity against a limit by the rule of joule_budget_status, without a meter. Any thread. */
JOULE_API joule_budget_status joule_budget_judge(joule_quantity joules, double max_joules);

/* --- scopes ------------------------------------------------------------------------------------------------- */

/* A place in a program whose calls have a budget: what JOULE_BUDGET_SCOPE keeps. Static, so that it is read once. Its
 * layout is final. */
typedef struct joule_budget_site {
    const char *budget;   /* as in JOULE_BUDGET; must say max_joules */
    const char *function; /* the region is called FUNCTION:LINE, or FUNCTION where line is 0 */
    uint32_t line;
    uint32_t flags;       /* as for joule_begin_with */
    uint32_t private_[4]; /* libjoule's; 0 at first */
} joule_budget_site;

/* Begins a region at a site; joule_end ends it. The first time it reads the budget and makes the tag, from then on it
 * costs one load more than joule_begin. Never fails: where the budget cannot be read, the handler hears of it once, and the
 * region has none. Any thread; in a signal handler only once the site was entered outside of one. */
JOULE_API joule_region joule_budget_scope_begin(joule_budget_site *site);

/* Where longjmp may lead: the time now, to be taken before setjmp is called. Any thread. */
JOULE_API uint64_t joule_budget_scope_mark(void);

/* Ends the scopes of this thread that began after `mark` and still run: after setjmp returned again, they were left by longjmp.
 * joulec puts both calls around each setjmp. Also at exit for the thread that calls it. Any thread; it touches no other's. */
JOULE_API void joule_budget_scope_unwind(uint64_t mark);

/* A function that is too short for time stamps, as joulec makes it of a JOULE_BUDGET. Its layout is final. */
typedef struct joule_budget_counted {
    joule_budget_site site;   /* line 0: the tag is called as the function is */
    joule_quantity of_a_call; /* joules that a call is expected to take: modelled or assumed, value > 0 */
} joule_budget_counted;

/* Counts a call. Its tag then has a count, and as many times the joules of one call, in reports; no duration, and nothing of it
 * is taken from other regions. Costs some nanoseconds. Never fails. Any thread; in a signal handler only once the site was
 * entered outside of one. */
JOULE_API void joule_budget_count(joule_budget_counted *site);

/* What the handler of scopes is told. All that it points to is valid during the call. */
typedef struct joule_budget_news {
    uint32_t struct_size;       /* set by libjoule to what it filled in */
    joule_budget_status status; /* OVER; or NOT_MEASURED: the budget is not a right one */
    const char *name;           /* of the region */
    const char *budget;         /* as it was written */
    const char *message;   /* all of this for a person, or where the budget is wrong; without a newline */
    uint64_t count;        /* calls that the mean is of */
    joule_quantity joules; /* of a call, in the mean; unknown where not measured */
} joule_budget_news;

/* Called once for a scope that is over its budget (P(within) <= 0.05 for the mean of its calls so far), in the thread whose
 * reading showed it, as joule_budget_fn is; and once for a scope whose text is wrong, in the thread that enters it first. It
 * may ask and sample meters, but not close one. */
typedef void (*joule_budget_handler_fn)(const joule_budget_news *news, void *context);

/* Sets the handler of this process; NULL: the first one again, which writes the message to standard error where the
 * environment has JOULE_BUDGET_WARN=1, and is silent otherwise. Set it before scopes run, from one thread. */
JOULE_API void joule_budget_set_handler(joule_budget_handler_fn handler, void *context);

#ifdef __cplusplus
}
#endif

/* --- in the source ------------------------------------------------------------------------------------------ */

/* A budget is a string literal with commas between its items, in any order, each at most once:
 *     max_joules=50uJ     energy of a call; J or Wh, with p n u m k M G
 *     max_watts=12W       mean power while it runs
 *     max_temp_delta=2K   what its heat adds; says little of a short function without
 *     sustained           called back to back for as long as it takes to get warm
 *     per_call            for the reader: every budget is one for a call
 * At least one of the first three. joulec says where a wrong one is wrong.
 *
 * JOULE_BUDGET_SCOPE("max_joules=50uJ"); as the first statement of a block makes the rest of it a region (joule_begin)
 * called FUNCTION:LINE. It ends wherever the block is left: at its end, by return, break, goto, a C++ exception or exit.
 * longjmp over it leaves the region open, unless joule_budget_scope_unwind stands where it lands, and nothing may jump into
 * the block past it. A long function's name is cut, and regions with equal names are one.
 * Reports (JOULE_ENERGY_JSON=1, joule run) show what all calls used, what they may use together, and a status that is that
 * of the mean call: below_resolution until all of them span 100 of the sensor's ticks, unless they surely keep it. Other
 * limits than max_joules are left to joulec.
 * In gcc and clang; elsewhere it does nothing. Without a meter nothing is measured, and it costs two time stamps. Any
 * thread. Of a function that calls itself the inner calls count, and are part of the outer ones, too. */
#if defined(__GNUC__)
#define JOULE_BUDGET_SCOPE(text)                                                                             \
    static joule_budget_site JOULE_JOIN_(joule_site_,                                                        \
                                         __LINE__) = {"" text "", __func__, __LINE__, 0, {0, 0, 0, 0}};      \
    __attribute__((__cleanup__(joule_end), __unused__)) joule_region JOULE_JOIN_(joule_scope_, __LINE__) =   \
        joule_budget_scope_begin(&JOULE_JOIN_(joule_site_, __LINE__))
#else
#define JOULE_BUDGET_SCOPE(text) ((void)sizeof("" text ""))
#endif

/* Before a function's declaration or definition, behind any [[attribute]]; joulec judges the function that is defined in
 * the same file, and has its calls watched at run time as those of a JOULE_BUDGET_SCOPE, in a region called as the function
 * (joulec(1)). Nothing is left of them in other compilers.
 *     JOULE_BUDGET("max_joules=50uJ")   what a call may use
 *     JOULE_DEPTH(n)                    at most n of its calls are open at once, the first counted; so a function with one
 *                                       call of itself is called n times at most, with two 2^n - 1 times
 *     JOULE_THERMAL_AWARE               its budget holds for a warm machine, too
 *     JOULE_GPU_KERNEL                  it runs on a GPU
 * JOULE_LOOP(min, max) right before `for`, `while` or `do`, without a semicolon: the body of that loop runs min to max times
 * whenever the loop is reached. Both are whole numbers, or macros that are; + - * / % << >> and parentheses are allowed.
 * For joulec, which defines __JOULEC__ (and __JOULEC_COUNTS__ where it only counts), the first four are clang's annotations
 * "joule.budget:TEXT", "joule.depth:N", "joule.thermal_aware" and "joule.gpu_kernel" of the function. JOULE_LOOP is the pragma `joule loop(min, max)`: it changes
 * nothing in the code, and joulec finds it in what `clang -E` writes, with its line. Labels, attributes and other pragmas may
 * stand between it and its loop. */
#if defined(__JOULEC__)
#define JOULE_BUDGET(text)                                                                                   \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic error \"-Wignored-attributes\"")              \
        __attribute__((__annotate__("joule.budget:" text))) _Pragma("clang diagnostic pop") JOULE_KEEP_BODY_
#define JOULE_DEPTH(n)      __attribute__((__annotate__("joule.depth:" JOULE_TEXT_(n)) JOULE_KEEP_CALLS_))
#define JOULE_THERMAL_AWARE __attribute__((__annotate__("joule.thermal_aware")))
#define JOULE_GPU_KERNEL    __attribute__((__annotate__("joule.gpu_kernel") JOULE_NOINLINE_))
#define JOULE_LOOP(min, max)                                                                                 \
    _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wunknown-pragmas\"")               \
        JOULE_PRAGMA_(joule loop(min, max)) _Pragma("clang diagnostic pop")
#else
#define JOULE_BUDGET(text)
#define JOULE_DEPTH(n)
#define JOULE_THERMAL_AWARE
#define JOULE_GPU_KERNEL
#define JOULE_LOOP(min, max)
#endif

/* JOULE_ASSUME(condition); promises in any compiler that the condition holds here, and what follows if it does not is
 * undefined. It is evaluated once or not at all, so it must have no effect of its own, and should call no function. */
#if defined(__clang__)
#define JOULE_ASSUME(condition) __builtin_assume(condition)
#elif defined(__GNUC__) && __GNUC__ >= 13
#define JOULE_ASSUME(condition) __attribute__((__assume__(condition)))
#elif defined(__GNUC__)
#define JOULE_ASSUME(condition) ((condition) ? (void)0 : __builtin_unreachable())
#elif defined(_MSC_VER)
#define JOULE_ASSUME(condition) __assume(condition)
#else
#define JOULE_ASSUME(condition) ((void)0)
#endif

/* Only for the macros above. What joulec counts it must find in one piece, and with its calls; what it builds is as without. */
#if defined(__JOULEC_COUNTS__)
#define JOULE_NOINLINE_   , __noinline__
#define JOULE_KEEP_CALLS_ , __noinline__, __disable_tail_calls__
#define JOULE_KEEP_BODY_  __attribute__((__gnu_inline__)) /* C's `inline` alone makes no function of its own */
#else
#define JOULE_NOINLINE_
#define JOULE_KEEP_CALLS_
#define JOULE_KEEP_BODY_
#endif
#define JOULE_JOIN2_(a, b) a##b
#define JOULE_JOIN_(a, b)  JOULE_JOIN2_(a, b)
#define JOULE_TEXT2_(x)    #x
#define JOULE_TEXT_(x)     JOULE_TEXT2_(x)
#define JOULE_PRAGMA_(x)   _Pragma(#x)

#endif
