/* tools/forge/forge_tokenize.c - `forge tokenize`: converts text to tokens, and tokens to text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/json_writer.h"
#include "common/page.h"
#include "forge_commands.h"
#include "language_model.h"
#include "visible_text.h"

#define SCHEMA "forge-tokenize-1"

struct tokenize_options {
    struct language_options language;
    const char *text; /* NULL: standard input */
    bool is_json, decodes, is_raw, reads_control;
};

struct tokenization {
    const struct tokenize_options *options;
    const forge_tokenizer *tokenizer;
    int32_t *tokens; /* [count] */
    size_t count;
    char *text; /* [size]: the text of all tokens */
    size_t size;
};

/* Writes the text of a token, even of a control token, to `piece`, which has room for the longest text.
 * Returns its size in bytes. */
static size_t piece_of(const struct tokenization *t, int32_t token, char *piece)
{
    return forge_detokenize(t->tokenizer, &token, 1, FORGE_DETOKENIZE_CONTROL | FORGE_DETOKENIZE_CONTINUE,
                            piece, forge_tokenizer_max_text(t->tokenizer));
}

/* --- output --------------------------------------------------------------------------------------------- */

static void print_json(const void *context, struct text *out)
{
    const struct tokenization *t = context;
    struct json json = {.out = out};
    char *piece = malloc(forge_tokenizer_max_text(t->tokenizer));
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_integer(&json, "vocabulary", (int64_t)forge_tokenizer_count(t->tokenizer));
    json_span(&json, "text", t->text, t->size);
    json_open(&json, "tokens", '[');
    for (size_t i = 0; i < t->count; i++)
        json_integer(&json, NULL, t->tokens[i]);
    json_close(&json, ']');
    json_open(&json, "pieces", '[');
    for (size_t i = 0; piece && i < t->count; i++)
        json_span(&json, NULL, piece, piece_of(t, t->tokens[i], piece));
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
    free(piece);
}

/* Prints one line for each token: its number, and its text in quotes as in JSON. */
static void print_tokens(const void *context, struct text *out)
{
    const struct tokenization *t = context;
    char *piece = malloc(forge_tokenizer_max_text(t->tokenizer));
    for (size_t i = 0; piece && i < t->count; i++) {
        text_printf(out, "%7d  ", (int)t->tokens[i]);
        json_quote(out, piece, piece_of(t, t->tokens[i], piece));
        text_add(out, "\n");
    }
    free(piece);
}

static int print(const struct tokenization *t)
{
    if (t->options->is_json)
        return page_print("tokenize", print_json, t);
    if (!t->options->decodes)
        return page_print("tokenize", print_tokens, t);
    visible_text_print(t->text, t->size);
    visible_text_print("\n", 1);
    return 0;
}

/* --- conversion ----------------------------------------------------------------------------------------- */

/* Parses numbers of tokens, separated by white space or commas. */
static joule_status read_ids(struct tokenization *t, char *text, size_t size, joule_error *error)
{
    t->tokens = malloc((size / 2 + 1) * sizeof *t->tokens);
    if (!t->tokens)
        return error_set(error, JOULE_NO_MEMORY, "cannot read %zu bytes of tokens: out of memory", size);
    char *rest = NULL;
    for (char *word = strtok_r(text, " \t\r\n,", &rest); word; word = strtok_r(NULL, " \t\r\n,", &rest)) {
        uint64_t number;
        if (!string_to_u64(word, 10, &number) || number >= forge_tokenizer_count(t->tokenizer))
            return error_set(error, JOULE_INVALID, "token %zu is '%s', which is not a number from 0 to %zu",
                             t->count, word, forge_tokenizer_count(t->tokenizer) - 1);
        t->tokens[t->count++] = (int32_t)number;
    }
    return JOULE_OK;
}

static joule_status convert(struct tokenization *t, joule_error *error)
{
    const struct tokenize_options *o = t->options;
    char *input = NULL;
    size_t size = 0;
    uint32_t flags = (o->is_raw ? 0 : (uint32_t)FORGE_TOKENIZE_ADD_ENDS) |
                     (o->reads_control ? (uint32_t)FORGE_TOKENIZE_READ_CONTROL : 0);
    joule_status status = JOULE_OK;
    if (!o->text)
        status = input_read(NULL, &input, &size, error);
    else if (!(input = strdup(o->text)))
        status = error_set(error, JOULE_NO_MEMORY, "cannot copy the text: out of memory");
    else
        size = strlen(input);
    if (status == JOULE_OK)
        status = o->decodes ? read_ids(t, input, size, error)
                            : text_to_tokens(t->tokenizer, input, size, flags, &t->tokens, &t->count, error);
    free(input);
    if (status != JOULE_OK)
        return status;
    t->size = forge_detokenize(t->tokenizer, t->tokens, t->count, 0, NULL, 0);
    t->text = malloc(t->size + 1);
    if (!t->text)
        return error_set(error, JOULE_NO_MEMORY, "cannot write %zu bytes of text: out of memory", t->size);
    forge_detokenize(t->tokenizer, t->tokens, t->count, 0, t->text, t->size);
    return JOULE_OK;
}

/* Opens a model with its tokenizer, or a file that contains only a tokenizer. If the result is JOULE_OK,
 * exactly one of the two outputs is set. */
static joule_status open_tokenizer(const struct language_options *o, struct language_model *out_model,
                                   forge_tokenizer **out_tokenizer, joule_error *error)
{
    joule_error reason = {0};
    joule_status status = language_model_open(out_model, o, error);
    if (status == JOULE_OK)
        return language_model_need_tokenizer(out_model, error);
    if (!o->tokenizer && forge_tokenizer_open(o->model, out_tokenizer, &reason) == JOULE_OK)
        return JOULE_OK;
    return status;
}

static int tokenize(const struct tokenize_options *o)
{
    joule_error error = {0};
    struct language_model model = {0};
    forge_tokenizer *own = NULL;
    struct tokenization t = {.options = o};
    joule_status status = open_tokenizer(&o->language, &model, &own, &error);
    t.tokenizer = own ? own : model.tokenizer;
    if (status == JOULE_OK)
        status = convert(&t, &error);
    int code = status == JOULE_OK ? print(&t) : EXIT_OWN_FAILURE;
    if (status != JOULE_OK)
        complain("tokenize", "%s", error.message);
    free(t.tokens);
    free(t.text);
    forge_tokenizer_free(own);
    language_model_close(&model);
    return code;
}

int tokenize_main(int argc, char **argv)
{
    struct tokenize_options o = {0};
    const struct option table[] = {
        {"decode", 'd', OPTION_FLAG, &o.decodes, NULL, "TEXT contains numbers of tokens; print their text"},
        {"raw", 0, OPTION_FLAG, &o.is_raw, NULL, "add no BOS and EOS tokens"},
        {"control", 0, OPTION_FLAG, &o.reads_control, NULL,
         "read control tokens in the text, such as <|im_end|>, as tokens"},
        {"tokenizer", 0, OPTION_TEXT, &o.language.tokenizer, "FILE",
         "file with the vocabulary, for models whose file has none"},
        {"json", 'j', OPTION_FLAG, &o.is_json, NULL, "print JSON"},
        {NULL},
    };
    const struct command_text text = {
        "forge tokenize MODEL [TEXT] [OPTIONS]",
        "Converts text to the tokens of a language model, and prints their numbers and texts.",
        "Without TEXT, the text is read from standard input. MODEL may be a file with a tokenizer only.\n"};
    const struct program_operand operands[] = {{"MODEL", &o.language.model, false}, {"TEXT", &o.text, true}};
    int read = options_read_operands(table, &text, operands, 2, argc, argv);
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    return tokenize(&o);
}
