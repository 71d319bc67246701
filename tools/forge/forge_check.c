/* tools/forge/forge_check.c - `forge check`: compares every operation on a device with the reference, or
 * measures its speed.
 *
 * Note: case i of an operation has the seed S + i, so --seed S+i --cases 1 repeats a failed case alone.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/nearest.h"
#include "base/string.h"
#include "check_value.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "prediction.h"
#include "files.h"
#include "timing.h"

#define SCHEMA         "forge-check-1"
#define METER_PERIOD_S 0.02
#define TIME_S         0.2
#define JOULES_S       1.0
#define KERNELS_TEXT   200

enum mode { MODE_VALUE, MODE_GRAD, MODE_TIME, MODE_JOULES, MODES };
static const char *const modes[MODES] = {"value", "grad", "time", "joules"};

struct options {
    const char *op, *device, *isa, *type, *json;
    forge_dtype dtype; /* of floats; FORGE_DTYPE_NONE: not given */
    enum mode mode;
    unsigned cases;
    uint64_t seed;
};

/* The result for one operation. */
struct row {
    unsigned subject; /* number for case_name */
    unsigned cases, failed;
    double worst; /* greatest error divided by the allowed error */
    uint64_t worst_seed;
    char kernels[KERNELS_TEXT]; /* names of the kernels that computed the operation */
    struct timing timing;
};

struct report {
    struct options options;
    char isa[16]; /* instruction set of the CPU's kernels; empty: the device has none */
    unsigned threads;
    struct row rows[CASE_SUBJECTS];
    size_t count;
};

static volatile sig_atomic_t interrupted_by;

static void on_interrupt(int signal_number)
{
    interrupted_by = signal_number;
}

/* --- one operation -------------------------------------------------------------------------------------- */

/* Returns true if `op` is the operation `name` or the gradient of the composite `name`. */
static bool is_of(const char *op, const char *name)
{
    size_t length = strlen(name);
    return strncmp(op, name, length) == 0 && (!op[length] || strcmp(op + length, ".gradient") == 0);
}

/* Returns true if `words`, separated by spaces, contain `word`. */
static bool contains_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static void note_kernels(struct row *row, const forge_instance *instance)
{
    forge_launch_facts launch = {.struct_size = sizeof launch};
    size_t used = strlen(row->kernels);
    for (size_t i = 0; forge_instance_launch(instance, i, &launch) == JOULE_OK; i++) {
        if (!is_of(launch.op, case_name(row->subject)) || contains_word(row->kernels, launch.kernel))
            continue;
        string_print(row->kernels + used, sizeof row->kernels - used, "%s%s", used ? " " : "", launch.kernel);
        used = strlen(row->kernels);
    }
}

static void print_failure(const struct report *r, const struct row *row, const struct check_case *c,
                          const struct verdict *v, const joule_error *error)
{
    const struct options *o = &r->options;
    char *text = NULL;
    const char *name = case_name(row->subject);
    if (*error->message)
        complain("check", "%s, seed %" PRIu64 ": %s", name, c->seed, error->message);
    else
        complain("check", "%s, seed %" PRIu64 ": element %zu is %.9g, not %.9g; allowed error %.3g", name,
                 c->seed, v->element, v->got, v->wanted, v->allowed);
    if (c->graph && forge_graph_print(c->graph, &text, NULL) == JOULE_OK)
        fputs(text, stderr);
    free(text);
    fprintf(stderr,
            "hint: repeat this case with: forge check --op %s --device %s%s%s%s%s --mode %s --seed %" PRIu64
            " --cases 1\n",
            name, o->device, *r->isa ? " --isa " : "", r->isa, o->type ? " --type " : "",
            o->type ? o->type : "", modes[o->mode], c->seed);
}

/* Runs one case and adds its result to `row`. Returns UNSUPPORTED if the operation has no case for this
 * mode. */
static joule_status check_case(struct report *r, struct row *row, forge_device *device, uint64_t seed)
{
    const struct options *o = &r->options;
    struct check_case c;
    struct verdict verdict = {.worst = NAN};
    struct loaded_case loaded = {0};
    joule_error error = {0};
    joule_status status =
        case_make(row->subject, o->mode == MODE_GRAD ? CASE_GRAD : CASE_VALUE, o->dtype, seed, &c, &error);
    if (status == JOULE_OK && loaded_case_open(&loaded, device, &c, &error) == JOULE_OK)
        note_kernels(row, loaded.instance);
    loaded_case_close(&loaded);
    if (status == JOULE_OK)
        status = o->mode == MODE_GRAD ? check_grad(device, &c, &verdict, &error)
                                      : check_value(device, &c, &verdict, &error);
    bool has_case = status != JOULE_UNSUPPORTED || *error.message;
    if (has_case) {
        bool is_wrong = status != JOULE_OK || !(verdict.worst <= 1);
        row->cases++;
        if (is_wrong && row->failed++ == 0)
            print_failure(r, row, &c, &verdict, &error);
        if (!(verdict.worst <= row->worst)) {
            row->worst = verdict.worst;
            row->worst_seed = seed;
        }
    }
    case_free(&c);
    return has_case ? JOULE_OK : JOULE_UNSUPPORTED;
}

static void check_cases(struct report *r, struct row *row, forge_device *device)
{
    row->worst = 0;
    for (unsigned i = 0; i < r->options.cases && !interrupted_by; i++)
        check_case(r, row, device, r->options.seed + i);
}

static void time_case(struct report *r, struct row *row, forge_device *device, joule_meter *meter)
{
    struct check_case c;
    struct loaded_case loaded = {0};
    joule_error error = {0};
    row->timing.seconds = NAN;
    timing_limits(&row->timing, *r->isa ? r->isa : NULL, r->threads);
    joule_status status = case_make(row->subject, CASE_TIME, r->options.dtype, r->options.seed, &c, &error);
    if (status == JOULE_OK)
        status = loaded_case_open(&loaded, device, &c, &error);
    for (size_t i = 0; status == JOULE_OK && i < c.input_count; i++)
        status = forge_instance_set(loaded.instance, c.inputs[i].name, &c.inputs[i].tensor, &error);
    if (status == JOULE_OK) {
        note_kernels(row, loaded.instance);
        status = timing_measure(loaded.instance, meter, meter ? JOULES_S : TIME_S, &interrupted_by,
                                &row->timing, &error);
    }
    row->cases = 1;
    row->failed = status != JOULE_OK;
    if (row->failed)
        print_failure(r, row, &c, &(struct verdict){0}, &error);
    loaded_case_close(&loaded);
    case_free(&c);
}

/* --- table ---------------------------------------------------------------------------------------------- */

static void print_value(const struct row *row)
{
    char worst[48] = "";
    if (row->cases)
        snprintf(worst, sizeof worst, "%.3f (seed %" PRIu64 ")", row->worst, row->worst_seed);
    printf("%-19s %5u %7s  %-22s %s\n", case_name(row->subject), row->cases,
           row->failed  ? "FAILED"
           : row->cases ? "passed"
                        : "-",
           worst,
           !row->cases     ? "has no gradient"
           : *row->kernels ? row->kernels
                           : "computed by its body");
}

static void print_time(const struct report *r, const struct row *row)
{
    char timing[TIMING_TEXT], energy[QUANTITY_TEXT] = "";
    if (r->options.mode == MODE_JOULES)
        quantity_text(row->timing.joules, JOULE_DIMENSION_ENERGY, energy);
    printf("%-19s %s  %-22s %s%s%s\n", case_name(row->subject), timing_text(&row->timing, timing),
           row->kernels, energy, *energy ? ", " : "",
           *energy ? joule_class_name(row->timing.joules.cls) : "");
}

static void print_row(const struct report *r, const struct row *row)
{
    if (r->options.mode < MODE_TIME)
        print_value(row);
    else
        print_time(r, row);
    fflush(stdout);
}

static void print_head(const struct report *r)
{
    if (r->options.mode < MODE_TIME) {
        printf("%-19s %5s %7s  %-22s %s\n", "operation", "cases", "", "max error / allowed", "kernels");
        return;
    }
    printf("%-19s %s  %-22s %s\n", "operation", timing_head, "kernels",
           r->options.mode == MODE_JOULES ? "energy of a run" : "");
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void add_row(struct json *json, const struct report *r, const struct row *row)
{
    json_open(json, NULL, '{');
    json_string(json, "operation", case_name(row->subject));
    json_integer(json, "cases", row->cases);
    json_integer(json, "failed", row->failed);
    json_string(json, "kernels", row->kernels);
    if (r->options.mode < MODE_TIME) {
        json_double(json, "worst", row->cases && isfinite(row->worst) ? row->worst : NAN);
        json_integer(json, "worst_seed", (int64_t)row->worst_seed);
    } else {
        timing_json(json, &row->timing);
    }
    json_close(json, '}');
}

static void print_json(const void *context, struct text *out)
{
    const struct report *r = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_string(&json, "device", r->options.device);
    json_string(&json, "isa", *r->isa ? r->isa : NULL);
    json_string(&json, "mode", modes[r->options.mode]);
    json_integer(&json, "seed", (int64_t)r->options.seed);
    if (r->threads)
        json_integer(&json, "threads", r->threads);
    else
        json_null(&json, "threads");
    json_open(&json, "operations", '[');
    for (size_t i = 0; i < r->count; i++)
        add_row(&json, r, &r->rows[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

/* --- all operations ------------------------------------------------------------------------------------- */

static void query_device(struct report *r, forge_device *device)
{
    forge_device_facts facts = {.struct_size = sizeof facts};
    forge_device_query(device, &facts);
    for (const forge_instruction_set *set = facts.instruction_sets; set->name; set++)
        if (set->is_in_use)
            string_copy(r->isa, sizeof r->isa, set->name);
    r->threads = facts.threads;
}

static joule_status check_all(struct report *r, forge_device *device, bool is_quiet, joule_error *error)
{
    joule_meter *meter = NULL;
    const joule_options how = {.struct_size = sizeof how, .period_s = METER_PERIOD_S};
    joule_status status = r->options.mode == MODE_JOULES ? joule_open(&how, &meter, error) : JOULE_OK;
    if (status == JOULE_OK && !is_quiet)
        print_head(r);
    for (unsigned i = 0; status == JOULE_OK && case_name(i) && !interrupted_by; i++) {
        if (!case_exists(i) || (r->options.op && strcmp(r->options.op, case_name(i)) != 0))
            continue;
        struct row *row = &r->rows[r->count++];
        row->subject = i;
        if (r->options.mode < MODE_TIME)
            check_cases(r, row, device);
        else
            time_case(r, row, device, meter);
        if (!is_quiet)
            print_row(r, row);
    }
    joule_close(meter);
    return status;
}

static bool has_passed(const struct report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->rows[i].failed)
            return false;
    return true;
}

static int end(const struct report *r)
{
    const struct options *o = &r->options;
    joule_error error = {0};
    size_t length;
    char *page = o->json ? page_make("check", print_json, r, &length) : NULL;
    bool is_reported = !o->json || page;
    if (page && output_write(o->json, page, length, &error) != JOULE_OK) {
        complain("check", "%s", error.message);
        is_reported = false;
    }
    free(page);
    return !is_reported ? EXIT_OWN_FAILURE : interrupted_by ? 128 + interrupted_by : has_passed(r) ? 0 : 1;
}

static int check(struct report *r)
{
    forge_device *device = NULL;
    joule_error error = {0};
    bool is_quiet = r->options.json && strcmp(r->options.json, "-") == 0;
    if (r->options.isa)
        setenv("FORGE_ISA", r->options.isa, 1);
    joule_status status = forge_device_open(r->options.device, &device, &error);
    if (status == JOULE_OK && device_is_estimate_only(device) && r->options.mode < MODE_TIME) {
        complain("check", "cannot check values: the device %s only estimates", r->options.device);
        forge_device_close(device);
        return EXIT_OWN_FAILURE;
    }
    if (status == JOULE_OK) {
        query_device(r, device);
        status = check_all(r, device, is_quiet, &error);
    }
    forge_device_close(device);
    if (status == JOULE_OK)
        return end(r);
    complain("check", "%s", error.message);
    return EXIT_OWN_FAILURE;
}

/* --- options -------------------------------------------------------------------------------------------- */

static const char *op_at(size_t i, const void *context)
{
    (void)context;
    return case_name((unsigned)i);
}

static bool is_known_op(const char *name)
{
    unsigned count = 0;
    for (; case_name(count); count++)
        if (name && strcmp(case_name(count), name) == 0 && case_exists(count))
            return true;
    if (!name)
        return true;
    const char *near = nearest_word(name, count, op_at, NULL);
    complain("check",
             near ? "no check for operation '%s'; did you mean %s?"
                  : "no check for operation '%s'; without --op all operations are checked",
             name, near);
    return false;
}

static bool parse_mode(const char *name, enum mode *out_mode)
{
    for (int i = 0; i < MODES; i++)
        if (strcmp(modes[i], name) == 0) {
            *out_mode = (enum mode)i;
            return true;
        }
    complain("check", "unknown mode '%s'; expected value, grad, time or joules", name);
    return false;
}

static bool parse_type(struct options *o)
{
    if (!o->type)
        return true;
    o->dtype = forge_dtype_from_name(o->type);
    if (o->dtype == FORGE_F32 || o->dtype == FORGE_F64 || o->dtype == FORGE_F16 || o->dtype == FORGE_BF16)
        return true;
    complain("check", "unknown type '%s'; expected f32, f64, f16 or bf16", o->type);
    return false;
}

int check_main(int argc, char **argv)
{
    static struct report report; /* too large for the stack */
    struct options *o = &report.options;
    *o = (struct options){.device = "cpu", .cases = 20};
    const char *seed = "1", *mode = "value";
    const struct option table[] = {
        {"op", 0, OPTION_TEXT, &o->op, "NAME", "check only this operation, such as matmul (default: all)"},
        {"device", 'd', OPTION_TEXT, &o->device, "NAME", "device to run on (default: cpu)"},
        {"isa", 0, OPTION_TEXT, &o->isa, "NAME",
         "instruction set of the CPU's kernels: plain, avx2, avx512 or neon (default: the best)"},
        {"type", 't', OPTION_TEXT, &o->type, "NAME",
         "type of floats: f32, f64, f16 or bf16 (default: random; f32 in the modes time and joules)"},
        {"mode", 'm', OPTION_TEXT, &mode, "NAME",
         "value: compare with the reference (default); grad: with finite differences; time; joules"},
        {"cases", 'n', OPTION_COUNT, &o->cases, "N", "random cases of each operation (default: 20)"},
        {"seed", 's', OPTION_TEXT, &seed, "N",
         "seed of the first case; each next case has the next seed (default: 1)"},
        {"json", 'j', OPTION_TEXT, &o->json, "FILE",
         "write the report as JSON; -: to standard output, without the table"},
        {NULL},
    };
    const struct command_text text = {
        "forge check [OPTIONS]",
        "Checks the kernels of a device on random cases, or measures their speed and energy.", NULL};
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc || !string_to_u64(seed, 10, &o->seed)) {
        complain("check",
                 first < argc ? "unexpected argument '%s'; see forge check --help"
                              : "--seed takes a whole number, not '%s'",
                 first < argc ? argv[first] : seed);
        return EXIT_USAGE;
    }
    joule_error error = {0};
    if (!parse_mode(mode, &o->mode) || !parse_type(o) || !is_known_op(o->op))
        return EXIT_USAGE;
    if (o->json && output_check(o->json, &error) != JOULE_OK) {
        complain("check", "%s", error.message);
        return EXIT_USAGE;
    }
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return check(&report);
}
