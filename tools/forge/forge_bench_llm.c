/* tools/forge/forge_bench_llm.c - `forge bench-llm`: measures speed and energy of a language model.
 *
 * Note: prompts are random tokens and the prefix cache is off, so each repetition computes all tokens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"
#include "common/output.h"
#include "common/page.h"
#include "files.h"
#include "forge_commands.h"
#include "interrupt.h"
#include "llm_timing.h"
#include "random_model.h"

#define SCHEMA "forge-bench-llm-1"

enum { MAX_LIST = 16, MAX_TESTS = 2 * MAX_LIST * MAX_LIST, BATCH_TOKENS = 512 };
enum { DEFAULT_PROMPT = 512, DEFAULT_GENERATE = 128, DEFAULT_REPEATS = 5, MAX_BATCH = 512 };

struct numbers {
    unsigned items[MAX_LIST];
    size_t count;
};

struct bench_options {
    struct language_options language;
    const char *random, *write, *json, *seed;
    struct random_model random_model;
    uint64_t random_seed;
    struct numbers prompts, generated, batches;
    unsigned repeats;
};

struct bench {
    const struct bench_options *options;
    struct language_model model;
    struct llm_timing timings[MAX_TESTS];
    size_t count;
    unsigned threads;
    double step_bytes;
    const char *energy_source;
    bool is_quiet; /* prints no table, because the JSON goes to standard output */
};

/* --- reports -------------------------------------------------------------------------------------------- */

static void print_model(const struct bench *b)
{
    const forge_model_facts *facts = &b->model.facts;
    char all[BYTES_TEXT], step[BYTES_TEXT];
    printf("%s: %s, %.4g million weights, mostly %s, %s (%s in each step); %u thread%s\n\n",
           facts->name ? facts->name : b->model.path, facts->architecture, (double)facts->parameters * 1e-6,
           forge_dtype_name(facts->dtype), bytes_text((double)facts->weight_bytes, all),
           bytes_text(b->step_bytes, step), b->threads, b->threads == 1 ? "" : "s");
    llm_timing_print_head();
}

static void print_foot(const struct bench *b)
{
    printf(
        "\npp N: a prompt of N tokens is read. tg N: N tokens are generated one by one. tokens/s: sum over "
        "the\n"
        "sequences of a batch, median of %u repeat%s. ms/token: time per token of one sequence. GB/s: bytes\n"
        "of weights that are read per second. The intervals of energy are 90 %% intervals.\n",
        b->options->repeats, b->options->repeats == 1 ? "" : "s");
}

static void model_json(struct json *json, const struct bench *b)
{
    const forge_model_facts *facts = &b->model.facts;
    json_open(json, "model", '{');
    json_string(json, "path", b->options->language.model);
    json_string(json, "name", facts->name);
    json_string(json, "architecture", facts->architecture);
    json_string(json, "dtype", forge_dtype_name(facts->dtype));
    json_integer(json, "parameters", (int64_t)facts->parameters);
    json_integer(json, "weight_bytes", (int64_t)facts->weight_bytes);
    json_double(json, "step_bytes", b->step_bytes);
    json_close(json, '}');
}

static void print_json(const void *context, struct text *out)
{
    const struct bench *b = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    model_json(&json, b);
    json_integer(&json, "threads", b->threads);
    json_bool(&json, "interrupted", interrupted_by != 0);
    json_open(&json, "tests", '[');
    for (size_t i = 0; i < b->count; i++)
        llm_timing_json(&json, &b->timings[i], b->step_bytes, b->energy_source);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

static int report(const struct bench *b)
{
    joule_error error = {0};
    size_t length;
    if (!b->is_quiet && !interrupted_by)
        print_foot(b);
    char *page = b->options->json ? page_make("bench-llm", print_json, b, &length) : NULL;
    bool is_written =
        !b->options->json || (page && output_write(b->options->json, page, length, &error) == JOULE_OK);
    if (!is_written && page)
        complain("bench-llm", "%s", error.message);
    free(page);
    return is_written ? interrupt_exit_code(0) : EXIT_OWN_FAILURE;
}

/* --- model ---------------------------------------------------------------------------------------------- */

/* Creates an empty temporary file. */
static joule_status make_temporary(char *path, size_t size, joule_error *error)
{
    const char *folder = getenv("TMPDIR");
    string_print(path, size, "%s/forge-random-XXXXXX.gguf", folder && *folder ? folder : "/tmp");
    int fd = mkstemps(path, 5);
    if (fd < 0)
        return error_set(error, JOULE_FAILED, "cannot write %s: %s", path, strerror(errno));
    close(fd);
    return JOULE_OK;
}

/* Opens the model. A random model is written first; without --write, its file is removed when it is open. */
static joule_status open_model(struct bench *b, joule_error *error)
{
    const struct bench_options *o = b->options;
    struct language_options language = o->language;
    char path[4096];
    joule_status status = JOULE_OK;
    if (!o->random)
        return language_model_open(&b->model, &language, error);
    string_print(path, sizeof path, "%s", o->write ? o->write : "");
    if (!o->write)
        status = make_temporary(path, sizeof path, error);
    if (status != JOULE_OK)
        return status;
    language.model = path;
    status = random_model_write(&o->random_model, o->random_seed, path, error);
    if (status == JOULE_OK)
        status = language_model_open(&b->model, &language, error);
    if (!o->write)
        unlink(path);
    b->model.path = o->random;
    return status;
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static unsigned largest(const struct numbers *numbers)
{
    unsigned max = 0;
    for (size_t i = 0; i < numbers->count; i++)
        max = numbers->items[i] > max ? numbers->items[i] : max;
    return max;
}

static joule_status start(struct bench *b, joule_error *error)
{
    const struct bench_options *o = b->options;
    forge_device_facts device = {.struct_size = sizeof device};
    unsigned prompt = largest(&o->prompts), generated = largest(&o->generated), batch = largest(&o->batches);
    unsigned length = (prompt > generated ? prompt : generated) + 1;
    forge_engine_options engine = {.struct_size = sizeof engine,
                                   .max_batch_size = batch,
                                   .max_batch_tokens = BATCH_TOKENS,
                                   .max_length = length,
                                   .disables_prefix_cache = true};
    if (length > b->model.facts.context)
        return error_set(error, JOULE_INVALID, "a test of %u tokens is too long: the model's context is %lld",
                         length - 1, (long long)b->model.facts.context);
    joule_status status = language_model_start(&b->model, &o->language, &engine, error);
    if (status == JOULE_OK && forge_device_query(b->model.device, &device) == JOULE_OK)
        b->threads = device.threads;
    b->step_bytes = (double)llm_step_bytes(&b->model);
    return status;
}

static joule_status run_tests(struct bench *b, bool are_prompts, unsigned batch, joule_error *error)
{
    const struct numbers *numbers = are_prompts ? &b->options->prompts : &b->options->generated;
    for (size_t i = 0; i < numbers->count && !interrupted_by; i++) {
        struct llm_test test = {are_prompts, numbers->items[i], batch, b->options->repeats};
        struct llm_timing *timing = &b->timings[b->count];
        joule_status status = llm_timing_measure(&b->model, &test, timing, error);
        if (status != JOULE_OK)
            return status;
        if (timing->runs == 0)
            break; /* an interrupt arrived before the first repetition was complete */
        b->count++;
        if (!b->is_quiet)
            llm_timing_print(timing, b->step_bytes);
    }
    return JOULE_OK;
}

static joule_status run_all(struct bench *b, joule_error *error)
{
    const struct numbers *batches = &b->options->batches;
    joule_status status = JOULE_OK;
    if (!b->is_quiet)
        print_model(b);
    for (size_t i = 0; status == JOULE_OK && i < batches->count; i++) {
        status = run_tests(b, true, batches->items[i], error);
        if (status == JOULE_OK)
            status = run_tests(b, false, batches->items[i], error);
    }
    forge_engine_facts facts = {.struct_size = sizeof facts};
    forge_engine_query(b->model.engine, &facts);
    b->energy_source = facts.energy_source;
    return status;
}

static int bench(struct bench_options *options)
{
    joule_error error = {0};
    struct bench *b = calloc(1, sizeof *b);
    if (!b) {
        complain("bench-llm", "out of memory");
        return EXIT_OWN_FAILURE;
    }
    b->options = options;
    b->is_quiet = options->json && strcmp(options->json, "-") == 0;
    interrupt_handle();
    joule_status status = open_model(b, &error);
    unsigned longest = status == JOULE_OK ? (unsigned)b->model.facts.context - 1 : 0;
    if (!options->prompts.count)
        options->prompts = (struct numbers){{longest < DEFAULT_PROMPT ? longest : DEFAULT_PROMPT}, 1};
    if (!options->generated.count)
        options->generated = (struct numbers){{longest < DEFAULT_GENERATE ? longest : DEFAULT_GENERATE}, 1};
    if (status == JOULE_OK)
        status = start(b, &error);
    if (status == JOULE_OK)
        status = run_all(b, &error);
    int code = status == JOULE_OK ? report(b) : EXIT_OWN_FAILURE;
    if (status != JOULE_OK)
        complain("bench-llm", "%s", error.message);
    language_model_close(&b->model);
    free(b);
    return code;
}

/* --- options -------------------------------------------------------------------------------------------- */

/* Parses a list of numbers such as "128,512". If text is NULL, *out is unchanged. */
static bool read_numbers(const char *option, const char *text, unsigned max, struct numbers *out)
{
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char number[16];
        uint64_t value = 0;
        size_t length = strcspn(at, ",");
        if (length < sizeof number)
            string_copy(number, length + 1, at);
        if (length >= sizeof number || !string_to_u64(number, 10, &value) || value < 1 || value > max ||
            out->count == MAX_LIST) {
            complain("bench-llm", "--%s takes up to %d numbers from 1 to %u, separated by commas, not '%s'",
                     option, MAX_LIST, max, text);
            return false;
        }
        out->items[out->count++] = (unsigned)value;
    }
    return true;
}

static bool check_options(struct bench_options *o)
{
    joule_error error = {0};
    const char *const paths[] = {o->language.model, o->language.tokenizer, o->json, o->write};
    if (!o->language.model == !o->random) {
        complain("bench-llm", o->random
                                  ? "MODEL and --random are both given; only one of them can be the model"
                                  : "MODEL is missing; see forge bench-llm --help");
        return false;
    }
    if (o->write && !o->random) {
        complain("bench-llm", "--write needs --random SHAPE:TYPE");
        return false;
    }
    if (output_check_apart(paths, 2, 4, &error) != JOULE_OK ||
        (o->json && output_check(o->json, &error) != JOULE_OK) ||
        (o->write && output_check_file(o->write, &error) != JOULE_OK)) {
        complain("bench-llm", "%s", error.message);
        return false;
    }
    if (o->seed && !string_to_u64(o->seed, 10, &o->random_seed)) {
        complain("bench-llm", "--seed takes a whole number, not '%s'", o->seed);
        return false;
    }
    if (o->repeats > LLM_MAX_REPEATS) {
        complain("bench-llm", "--repeats takes a whole number from 1 to %d, not '%u'", LLM_MAX_REPEATS,
                 o->repeats);
        return false;
    }
    return !o->random || random_model_parse(o->random, "bench-llm", &o->random_model);
}

int bench_llm_main(int argc, char **argv)
{
    struct bench_options o = {.repeats = DEFAULT_REPEATS, .random_seed = 1};
    const char *prompts = NULL, *generated = NULL, *batches = "1";
    struct option table[LANGUAGE_ROWS + 9] = {
        {"prompt", 'p', OPTION_TEXT, &prompts, "N,N", "lengths of prompts, in tokens (default: 512)"},
        {"generate", 'n', OPTION_TEXT, &generated, "N,N", "numbers of tokens to generate (default: 128)"},
        {"batch", 'b', OPTION_TEXT, &batches, "N,N", "numbers of sequences at the same time (default: 1)"},
        {"repeats", 'r', OPTION_COUNT, &o.repeats, "N", "repeats of each test (default: 5)"},
        {"random", 0, OPTION_TEXT, &o.random, "MODEL",
         "random weights instead of a file; MODEL is SHAPE:TYPE, such as llama-1.1b:q8_0"},
        {"write", 0, OPTION_TEXT, &o.write, "FILE",
         "keep the model with random weights as a GGUF file (default: a temporary file)"},
        {"seed", 's', OPTION_TEXT, &o.seed, "N", "seed of random weights (default: 1)"},
        {"json", 'j', OPTION_TEXT, &o.json, "FILE",
         "write the report as JSON; -: to standard output, without the table"},
    };
    language_options_add(&o.language, table + 8);
    const struct command_text text = {
        "forge bench-llm [MODEL] [OPTIONS]",
        "Measures how fast a language model reads prompts and generates tokens, and the energy of a token.",
        "SHAPE is llama-1.1b, llama-0.5b, llama-0.1b or llama-tiny. TYPE is f32, f16, bf16, q8_0, q4_0,\n"
        "q4_k or q6_k.\n"};
    const struct program_operand operands[] = {{"MODEL", &o.language.model, true}};
    int read = options_read_operands(table, &text, operands, 1, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!read_numbers("prompt", prompts, 1000000, &o.prompts) ||
        !read_numbers("generate", generated, 1000000, &o.generated) ||
        !read_numbers("batch", batches, MAX_BATCH, &o.batches) || !check_options(&o))
        return EXIT_USAGE;
    return bench(&o);
}
