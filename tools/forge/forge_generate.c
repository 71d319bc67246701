/* tools/forge/forge_generate.c - `forge generate`: continues a text with a language model.
 *
 * Note: the answer goes to standard output as it is computed, and the summary to standard error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "answer.h"
#include "base/error.h"
#include "common/output.h"
#include "common/page.h"
#include "forge_commands.h"
#include "interrupt.h"
#include "sampling_options.h"
#include "visible_text.h"

#define SCHEMA "forge-generate-1"

enum { DEFAULT_MAX_TOKENS = 256 };

struct generate_options {
    struct language_options language;
    struct sampling_options sampling;
    const char *prompt, *file, *json; /* prompt NULL: it is read from `file`, or from standard input */
    struct option_list stops;
    unsigned max_tokens;
    double max_joules;
    bool is_raw, is_verbose;
};

/* The answer and the figures of a report. */
struct generation {
    const struct generate_options *options;
    struct language_model model;
    forge_sampling sampling;
    int32_t *prompt;
    size_t prompt_count;
    struct answer answer;
    const char *energy_source;
    bool is_quiet; /* prints no text, because the JSON goes to standard output */
};

/* --- prompt --------------------------------------------------------------------------------------------- */

static joule_status read_prompt(struct generation *g, joule_error *error)
{
    const struct generate_options *o = g->options;
    char *text = NULL;
    size_t size = o->prompt ? strlen(o->prompt) : 0;
    joule_status status = o->prompt ? JOULE_OK : input_read(o->file, &text, &size, error);
    if (status == JOULE_OK)
        status = (o->is_raw ? text_to_tokens : prompt_to_tokens)(
            g->model.tokenizer, text ? text : o->prompt, size, 0, &g->prompt, &g->prompt_count, error);
    free(text);
    if (status != JOULE_OK)
        return status;
    if (g->prompt_count == 0)
        return error_set(error, JOULE_INVALID, "cannot answer an empty prompt: %s",
                         o->is_raw ? "--raw adds no BOS token" : "the model has no BOS token");
    return JOULE_OK;
}

/* Returns true if the prompt has text. In this case, a leading space is part of the answer. */
static bool has_text(const struct generation *g)
{
    return forge_detokenize(g->model.tokenizer, g->prompt, g->prompt_count, 0, NULL, 0) > 0;
}

/* --- report --------------------------------------------------------------------------------------------- */

static void print_json(const void *context, struct text *out)
{
    const struct generation *g = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_string(&json, "model", g->options->language.model);
    json_span(&json, "text", g->answer.text ? g->answer.text : "", g->answer.size);
    json_open(&json, "tokens", '[');
    for (size_t i = 0; i < g->answer.token_count; i++)
        json_integer(&json, NULL, g->answer.tokens[i]);
    json_close(&json, ']');
    json_string(&json, "ended_by", answer_end_name(&g->answer));
    json_integer(&json, "seed", (int64_t)g->sampling.seed);
    answer_json(&json, &g->answer, g->energy_source);
    json_close(&json, '}');
    text_add(out, "\n");
}

static bool write_json(const struct generation *g)
{
    joule_error error = {0};
    size_t length;
    char *page = page_make("generate", print_json, g, &length);
    bool is_written = page && output_write(g->options->json, page, length, &error) == JOULE_OK;
    if (page && !is_written)
        complain("generate", "%s", error.message);
    free(page);
    return is_written;
}

static int report(struct generation *g)
{
    const struct answer *a = &g->answer;
    if (!g->is_quiet && (a->size == 0 || a->text[a->size - 1] != '\n'))
        visible_text_print("\n", 1);
    if (g->options->is_verbose)
        fprintf(stderr, "%s: %s, %lld layers, %llu weights; ended by: %s; seed %llu\n", g->model.path,
                g->model.facts.architecture, (long long)g->model.facts.layers,
                (unsigned long long)g->model.facts.parameters, answer_end_name(a),
                (unsigned long long)g->sampling.seed);
    answer_print_summary(a);
    if (g->options->json && !write_json(g))
        return EXIT_OWN_FAILURE;
    return interrupt_exit_code(a->last.end == FORGE_END_ENERGY ? EXIT_OVER_BUDGET : 0);
}

/* --- run ------------------------------------------------------------------------------------------------ */

static joule_status start(struct generation *g, joule_error *error)
{
    const struct language_options *language = &g->options->language;
    forge_engine_options engine = {.struct_size = sizeof engine, .max_batch_size = 1};
    joule_status status = language_model_open(&g->model, language, error);
    if (status == JOULE_OK)
        status = language_model_need_tokenizer(&g->model, error);
    if (status == JOULE_OK)
        status = read_prompt(g, error);
    size_t length = g->prompt_count + g->options->max_tokens, context = (size_t)g->model.facts.context;
    engine.max_length = (uint32_t)(length < context ? length : context);
    if (status == JOULE_OK)
        status = language_model_start(&g->model, language, &engine, error);
    return status;
}

static int generate(const struct generate_options *options, const forge_sampling *sampling)
{
    joule_error error = {0};
    struct generation g = {.options = options, .sampling = *sampling};
    forge_engine_facts facts = {.struct_size = sizeof facts};
    g.is_quiet = options->json && strcmp(options->json, "-") == 0;
    joule_status status = start(&g, &error);
    interrupt_handle();
    if (status == JOULE_OK) {
        const struct question question = {.prompt = g.prompt,
                                          .prompt_count = g.prompt_count,
                                          .sampling = g.sampling,
                                          .max_tokens = options->max_tokens,
                                          .max_joules = options->max_joules,
                                          .stops = &options->stops,
                                          .continues = has_text(&g),
                                          .is_quiet = g.is_quiet};
        status = answer_compute(&g.model, &question, &g.answer, &error);
        forge_engine_query(g.model.engine, &facts);
        g.energy_source = facts.energy_source;
    }
    int code = status == JOULE_OK ? report(&g) : EXIT_OWN_FAILURE;
    if (status != JOULE_OK)
        complain("generate", "%s", error.message);
    answer_free(&g.answer);
    free(g.prompt);
    language_model_close(&g.model);
    return code;
}

/* --- options -------------------------------------------------------------------------------------------- */

static bool check_options(const struct generate_options *o)
{
    joule_error error = {0};
    const char *const paths[] = {o->language.model, o->language.tokenizer, o->file, o->json};
    if (o->prompt && o->file)
        complain("generate", "PROMPT and --file are both given; only one of them can be the prompt");
    else if (o->json && (output_check_apart(paths, 3, 4, &error) != JOULE_OK ||
                         output_check(o->json, &error) != JOULE_OK))
        complain("generate", "%s", error.message);
    else
        return true;
    return false;
}

static int read_options(struct generate_options *o, int argc, char **argv)
{
    struct option table[LANGUAGE_ROWS + SAMPLING_ROWS + 8] = {
        {"file", 'f', OPTION_TEXT, &o->file, "FILE", "read the prompt from a file"},
        {"max-tokens", 'n', OPTION_COUNT, &o->max_tokens, "N", "maximum length of the answer (default: 256)"},
        {"stop", 0, OPTION_LIST, &o->stops, "TEXT", "end the answer before this text; may be repeated"},
        {"max-joules", 0, OPTION_ENERGY, &o->max_joules, "JOULES",
         "end the answer when it has used this energy, such as 5J"},
        {"raw", 0, OPTION_FLAG, &o->is_raw, NULL, "add no BOS token to the prompt"},
        {"json", 'j', OPTION_TEXT, &o->json, "FILE",
         "write answer and figures as JSON; -: to standard output, which then has only the JSON"},
        {"verbose", 'v', OPTION_FLAG, &o->is_verbose, NULL,
         "print the model, the seed and why the answer ended"},
    };
    size_t count = 7;
    count += sampling_options_add(&o->sampling, table + count);
    language_options_add(&o->language, table + count);
    const struct command_text text = {
        "forge generate MODEL [PROMPT] [OPTIONS]",
        "Continues a text with a language model, and prints speed and energy of the answer.",
        "Without PROMPT and --file, the prompt is read from standard input.\n"};
    const struct program_operand operands[] = {{"MODEL", &o->language.model, false},
                                               {"PROMPT", &o->prompt, true}};
    return options_read_operands(table, &text, operands, 2, argc, argv);
}

int generate_main(int argc, char **argv)
{
    struct generate_options options = {.max_tokens = DEFAULT_MAX_TOKENS};
    forge_sampling sampling;
    int read = read_options(&options, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (!check_options(&options) || !stops_check(&options.stops, "generate") ||
        !sampling_options_read(&options.sampling, "generate", &sampling))
        return EXIT_USAGE;
    return generate(&options, &sampling);
}
