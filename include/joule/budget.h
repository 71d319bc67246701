/* joule/budget.h - energy, power and temperature limits, checked while a program runs or when joulec compiles
 * it.
 *
 * A joule_budget limits the joules, watts or temperature rise of the machine from joule_budget_begin to
 * joule_budget_end. The limit is checked at every reading. Budgets may overlap; each budget is judged
 * independently. The macros at the end of this file state limits of a function or block in the source.
 * libjoule checks JOULE_BUDGET_SCOPE at run time; the compiler joulec checks the other macros.
 * Note: a budget without a tag observes the machine, so energy of other programs counts too. In a process
 * that `joule run` started, a budget of a tag has the status NOT_MEASURED. The report of `joule run` judges
 * such a budget.
 */
#ifndef JOULE_BUDGET_H
#define JOULE_BUDGET_H

#include <joule/region.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct joule_budget joule_budget;

/* The state of a budget. P(within budget) is the probability that the actual use is within the limit. */
typedef enum joule_budget_status {
    JOULE_BUDGET_NOT_MEASURED = 0,     /* a limited quantity is unknown */
    JOULE_BUDGET_WITHIN = 1,           /* P(within budget) >= 0.95, less than 80 % used */
    JOULE_BUDGET_NEAR = 2,             /* P(within budget) >= 0.95, at least 80 % used */
    JOULE_BUDGET_OVER = 3,             /* P(within budget) <= 0.05 */
    JOULE_BUDGET_UNDECIDED = 4,        /* P(within budget) between 0.05 and 0.95 */
    JOULE_BUDGET_BELOW_RESOLUTION = 5, /* like UNDECIDED, and the interval of the energy includes 0 */
} joule_budget_status;

/* Called when the best estimate first reaches 80 % of a limit (status NEAR) and when it exceeds the limit
 * (status OVER). The caller is the thread whose reading showed this use: a thread of the meter, or a thread
 * in joule_sample_now, joule_region_wait or joule_budget_end. The callback may query and sample the meter. It
 * must not call joule_close or joule_budget_end, or wait for a thread that calls one of them.
 * Note: the best estimate decides, because every budget would be exceeded before the excess is certain. */
typedef void (*joule_budget_fn)(joule_budget *budget, joule_budget_status status, void *context);

/* The limits of a budget. Set the structure to zero, then set struct_size and the members needed. */
typedef struct joule_budget_options {
    uint32_t struct_size; /* sizeof(joule_budget_options) */
    uint32_t flags;       /* JOULE_BUDGET_STOP, or 0 */
    int32_t domain;       /* domain id (0 is valid) or sum (JOULE_TOTAL ...); ignored if tag is not 0 */
    uint32_t tag;         /* not 0: limits the joules of this tag instead of those of the domain */
    double max_joules;    /* limit of the energy in joules; 0: no such limit */
    /* Limit of the mean power over the last second. A budget shorter than a second is checked at its end,
     * with the mean over its whole duration. 0: no such limit. */
    double max_watts;
    /* Limit of the rise of the highest temperature gauge since the budget began. 0: no such limit. If no
     * gauge can be read, the status is NOT_MEASURED. */
    double max_temperature_rise_kelvin;
    joule_budget_fn notify; /* may be NULL */
    void *context;
} joule_budget_options;

#define JOULE_BUDGET_STOP 1u /* send SIGTERM to this process when a limit is exceeded */

/* The state of a budget, and the figures on which it is based. */
typedef struct joule_budget_result {
    uint32_t struct_size; /* set by the caller to sizeof(joule_budget_result) */
    joule_budget_status status;
    joule_quantity joules;
    double probability; /* P(within max_joules); NaN: no such limit, or unknown */
    double peak_watts;  /* highest mean over a second, or mean of a shorter budget; NaN: unknown */
    double temperature_rise_kelvin; /* NaN: unknown */
    /* Upper bound of the energy used before an exceeded limit is noticed; NaN: unknown. */
    double overshoot_bound_joules;
} joule_budget_result;

/* Begins a budget. The caller owns *out_budget until joule_budget_end or until its meter is closed. On
 * failure *out_budget is NULL. JOULE_INVALID: no limit, a negative limit, or a domain without energy.
 * JOULE_UNSUPPORTED: unknown flag or member. JOULE_NO_MEMORY: out of memory or threads. Any thread. */
JOULE_API joule_status joule_budget_begin(joule_meter *meter, const joule_budget_options *options,
                                          joule_budget **out_budget, joule_error *out_error);

/* Writes the budget's state at the last reading to *out_result. JOULE_INVALID: struct_size too small. Any
 * thread. */
JOULE_API joule_status joule_budget_now(joule_budget *budget, joule_budget_result *out_result);

/* Reads the sensors once more, judges the budget and frees it. out_result may be NULL. JOULE_INVALID:
 * struct_size is too small, and the budget continues. Any thread, but no other thread may use the budget. */
JOULE_API joule_status joule_budget_end(joule_budget *budget, joule_budget_result *out_result);

/* Returns "within_budget", "near_budget", "over_budget", "undecided", "below_resolution" or "not_measured",
 * in static storage. Any thread. */
JOULE_API const char *joule_budget_status_name(joule_budget_status status);

/* Returns the state of a budget of max_joules after a use of `joules`, by the rules of joule_budget_status.
 * Needs no meter. Any thread. */
JOULE_API joule_budget_status joule_budget_judge(joule_quantity joules, double max_joules);

/* --- scopes --------------------------------------------------------------------------------------------- */

/* A place in a program whose calls have a budget. JOULE_BUDGET_SCOPE defines a site as a static variable, so
 * that its text is parsed only once. The layout is final. */
typedef struct joule_budget_site {
    const char *budget;   /* the text of a JOULE_BUDGET; must contain max_joules */
    const char *function; /* the region's name is FUNCTION:LINE, or FUNCTION if line is 0 */
    uint32_t line;
    uint32_t flags;       /* flags of joule_begin_with */
    uint32_t private_[4]; /* used by libjoule; initially 0 */
} joule_budget_site;

/* Begins a region at a site; joule_end ends it. The first call parses the budget and creates the tag; later
 * calls cost one load more than joule_begin. Never fails. If the text is wrong, the handler is called once
 * and the region has no budget. Any thread. Allowed in a signal handler if the first call for the site was
 * outside of a signal handler. */
JOULE_API joule_region joule_budget_scope_begin(joule_budget_site *site);

/* Returns the current time of CLOCK_MONOTONIC in ns. Call it before setjmp, and pass the result to
 * joule_budget_scope_unwind after a longjmp. Any thread. */
JOULE_API uint64_t joule_budget_scope_mark(void);

/* Ends the scopes of the calling thread that began after `mark` (ns) and have not ended. Call it when setjmp
 * returns a second time, because longjmp leaves these scopes open. joulec inserts calls of
 * joule_budget_scope_mark and of this function around each setjmp. At exit, libjoule calls this function for
 * the thread that calls exit. Any thread. */
JOULE_API void joule_budget_scope_unwind(uint64_t mark);

/* A function whose calls are counted, because they are too short for timestamps. joulec creates this
 * structure for a JOULE_BUDGET. The layout is final. */
typedef struct joule_budget_counted {
    joule_budget_site site;         /* line is 0, so the tag has the function's name */
    joule_quantity joules_per_call; /* expected joules of one call: modelled or assumed, value > 0 */
} joule_budget_counted;

/* Counts a call. Reports show for the site's tag the number of calls, and this number times joules_per_call.
 * A counted call has no duration, and its energy is not subtracted from other regions. Takes some
 * nanoseconds. Never fails. Any thread. Allowed in a signal handler if the first call for the site was
 * outside of a signal handler. */
JOULE_API void joule_budget_count(joule_budget_counted *site);

/* The argument of a scope handler. All pointers are valid during the call only. */
typedef struct joule_budget_event {
    uint32_t struct_size;       /* set by libjoule to the number of bytes that it filled in */
    joule_budget_status status; /* OVER, or NOT_MEASURED if the text of the budget is wrong */
    const char *name;           /* name of the region */
    const char *budget;         /* text of the budget */
    const char *message;        /* text for a person, without a newline */
    uint64_t count;             /* number of calls in the mean */
    joule_quantity joules;      /* mean of a call; unknown if NOT_MEASURED */
} joule_budget_event;

/* Called once for a scope that exceeds its budget: P(within budget) <= 0.05 for the mean energy of its calls.
 * The caller is the thread whose reading showed the excess, as for joule_budget_fn. Also called once for a
 * scope whose text is wrong, in the thread that enters the scope first. The handler may query and sample
 * meters, but must not close a meter. */
typedef void (*joule_budget_handler_fn)(const joule_budget_event *event, void *context);

/* Sets the handler of this process. NULL restores the default handler, which writes the message to standard
 * error if the environment variable JOULE_BUDGET_WARN is 1, and is silent otherwise. Set it before scopes
 * run, from one thread. */
JOULE_API void joule_budget_set_handler(joule_budget_handler_fn handler, void *context);

#ifdef __cplusplus
}
#endif

/* --- macros --------------------------------------------------------------------------------------------- */

/* A budget is a string literal with items separated by commas, in any order, each at most once:
 *     max_joules=50uJ     energy of a call; J or Wh, with prefixes p n u m k M G
 *     max_watts=12W       mean power during a call
 *     max_temp_delta=2K   temperature rise from the function's own heat; for a short function add `sustained`
 *     sustained           max_temp_delta assumes calls back to back until the temperature is steady
 *     per_call            no effect; reminds a reader that the budget is for one call
 * At least one of the first three is required. joulec reports a wrong item with its position.
 *
 * JOULE_BUDGET_SCOPE("max_joules=50uJ"); as the first statement of a block makes the rest of the block a
 * region with the name FUNCTION:LINE. A long function name is truncated, so that the name has at most 47
 * bytes. Regions with equal names share a tag.
 * The region ends when control leaves the block: at its end, by return, break, goto, a C++ exception or exit.
 * longjmp leaves the region open, unless joule_budget_scope_unwind is called after setjmp. Do not jump into
 * the block past the macro.
 * Reports (JOULE_ENERGY_JSON=1, joule run) show the energy of all calls, the limit for all calls, and a
 * status for the mean call. Until the calls together take as long as 100 updates of the sensor, the status is
 * within_budget, not_measured or below_resolution. Only max_joules is checked at run time; joulec checks the
 * other limits.
 * The macro needs gcc or clang; it has no effect in other compilers. Without a meter the macro takes two
 * timestamps and measures nothing. In a recursive function the inner calls are counted, and their energy is
 * also part of the outer calls. Any thread. */
#if defined(__GNUC__)
#define JOULE_BUDGET_SCOPE(text)                                                                             \
    static joule_budget_site JOULE_JOIN_(joule_site_,                                                        \
                                         __LINE__) = {"" text "", __func__, __LINE__, 0, {0, 0, 0, 0}};      \
    __attribute__((__cleanup__(joule_end), __unused__)) joule_region JOULE_JOIN_(joule_scope_, __LINE__) =   \
        joule_budget_scope_begin(&JOULE_JOIN_(joule_site_, __LINE__))
#else
#define JOULE_BUDGET_SCOPE(text) ((void)sizeof("" text ""))
#endif

/* Write these macros before a function's declaration or definition, after any [[attribute]]. joulec judges
 * the function if it is defined in the same file. joulec also makes each call of the function a region with
 * the function's name, as JOULE_BUDGET_SCOPE does (see joulec(1)). Other compilers ignore the macros.
 *     JOULE_BUDGET("max_joules=50uJ")   limits of a call
 *     JOULE_DEPTH(n)                    recursion depth: at most n calls are active at once, including the
 *                                       first.
 *                                       A function that calls itself once runs at most n times; one that
 *                                       calls itself twice, 2^n - 1 times
 *     JOULE_THERMAL_AWARE               the budget also holds on a warm machine
 *     JOULE_GPU_KERNEL                  the function runs on a GPU
 *
 * Write JOULE_LOOP(min, max) directly before `for`, `while` or `do`, without a semicolon. It states that the
 * loop's body runs min to max times whenever control reaches the loop. min and max are whole numbers or
 * macros that expand to them; the operators + - * / % << >> and parentheses are allowed. Labels, attributes
 * and other pragmas may be between the macro and the loop.
 *
 * joulec defines __JOULEC__, and also __JOULEC_COUNTS__ where it compiles only to count instructions. With
 * __JOULEC__, the first four macros become annotations of the function: "joule.budget:TEXT", "joule.depth:N",
 * "joule.thermal_aware" and "joule.gpu_kernel". JOULE_LOOP becomes the pragma `joule loop(min, max)`, which
 * does not change the code. joulec finds the pragma and its line in the output of `clang -E`. */
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

/* JOULE_ASSUME(condition); promises, in any compiler, that the condition holds. If it does not, behaviour is
 * undefined. The condition is evaluated at most once, so it must have no side effect and should call no
 * function. */
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

/* Private to the macros above. joulec counts the instructions of each function separately. So the compiler
 * must not inline the function into its callers, or remove calls from its body. Normal builds are not
 * affected. */
#if defined(__JOULEC_COUNTS__)
#define JOULE_NOINLINE_   , __noinline__
#define JOULE_KEEP_CALLS_ , __noinline__, __disable_tail_calls__
/* Without this attribute, a compiler of C emits no code for a function that is only `inline`. */
#define JOULE_KEEP_BODY_ __attribute__((__gnu_inline__))
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
