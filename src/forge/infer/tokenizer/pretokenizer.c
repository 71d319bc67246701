/* infer/tokenizer/pretokenizer.c - see pretokenizer.h. */
#include "forge/infer/tokenizer/pretokenizer.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "base/string.h"
#ifdef FORGE_HAS_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#endif

enum { MAX_STAGES = 2 };

/* The characters with Unicode's property White_Space, for use inside [...]. PCRE2's \s differs: it also
 * contains U+180E. */
#define WHITE                                                                                                \
    "\\x{9}-\\x{d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"     \
    "\\x{3000}"
#define GPT2_PATTERN                                                                                         \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" WHITE "\\p{L}\\p{N}]+|[" WHITE "]+(?![^" WHITE "])|"  \
    "[" WHITE "]+"
#define LLAMA3_PATTERN(digits)                                                                               \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^" WHITE                       \
    "\\p{L}\\p{N}]+[\\r\\n]*|[" WHITE "]*[\\r\\n]+|[" WHITE "]+(?![^" WHITE "])|[" WHITE "]+"

/* The patterns of a pre-tokenizer. The first pattern splits the text; each further pattern splits the pieces
 * of the pattern before it. */
struct family {
    const char *stages[MAX_STAGES];
    /* The pattern in a tokenizer.json of Hugging Face; NULL: there is no single pattern. */
    const char *pattern;
};
enum { GPT2, LLAMA3, QWEN2, STARCODER };
static const struct family families[] = {
    [GPT2] = {{GPT2_PATTERN},
              "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"},
    [LLAMA3] = {{LLAMA3_PATTERN("\\p{N}{1,3}")},
                "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|"
                " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    [QWEN2] = {{LLAMA3_PATTERN("\\p{N}")},
               "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
               " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
    [STARCODER] = {{"\\p{N}", GPT2_PATTERN}, NULL},
};

static const struct name {
    const char *name;
    int family;
    bool ignores_merges;
} names[] = {
    {"gpt-2", GPT2, false},          {"llama-bpe", LLAMA3, true},     {"qwen2", QWEN2, false},
    {"starcoder", STARCODER, false}, {"smollm", STARCODER, false},    {"refact", STARCODER, false},
    {"llama3", LLAMA3, true},        {"llama-v3", LLAMA3, true},      {"dbrx", LLAMA3, false},
    {"smaug-bpe", LLAMA3, false},    {"stablelm2", QWEN2, false},     {"deepseek-r1-qwen", QWEN2, false},
    {"phi-2", GPT2, false},          {"olmo", GPT2, false},           {"mpt", GPT2, false},
    {"command-r", STARCODER, false}, {"codeshell", STARCODER, false},
};
enum { NAMES = sizeof names / sizeof *names };

static const struct name *find_name(const char *name)
{
    for (size_t i = 0; i < NAMES; i++)
        if (strcmp(names[i].name, name ? name : "gpt-2") == 0)
            return &names[i];
    return NULL;
}

bool pretokenizer_ignores_merges(const char *name)
{
    const struct name *found = find_name(name);
    return found && found->ignores_merges;
}

const char *pretokenizer_of_pattern(const char *pattern, bool ignores_merges)
{
    for (size_t i = 0; i < NAMES; i++) {
        const char *own = families[names[i].family].pattern;
        if (own && strcmp(own, pattern) == 0 && names[i].ignores_merges == ignores_merges)
            return names[i].name;
    }
    return NULL;
}

static joule_status refuse_name(const char *name, joule_error *error)
{
    char list[400];
    struct text text;
    text_init(&text, list, sizeof list);
    for (size_t i = 0; i < NAMES; i++)
        text_printf(&text, "%s%s", i ? ", " : "", names[i].name);
    return error_set(error, JOULE_UNSUPPORTED,
                     "cannot open a tokenizer: unknown pre-tokenizer '%.60s'; known are %s", name, list);
}

#ifdef FORGE_HAS_PCRE2

struct pretokenizer {
    pcre2_code *stages[MAX_STAGES];
    size_t stage_count;
};

/* --- patterns ------------------------------------------------------------------------------------------- */

joule_status pretokenizer_new(const char *name, struct pretokenizer **out_pretokenizer,
                              joule_error *out_error)
{
    const struct name *found = find_name(name);
    if (!found)
        return refuse_name(name, out_error);
    struct pretokenizer *new = calloc(1, sizeof *new);
    if (!new)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot open a tokenizer: out of memory");
    const char *const *stages = families[found->family].stages;
    for (; new->stage_count < MAX_STAGES &&stages[new->stage_count]; new->stage_count++) {
        int code;
        PCRE2_SIZE at;
        PCRE2_SPTR pattern = (PCRE2_SPTR)stages[new->stage_count];
        pcre2_code *stage =
            pcre2_compile(pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP, &code, &at, NULL);
        if (!stage) {
            pretokenizer_free(new);
            return error_set(out_error, JOULE_FAILED,
                             "cannot open a tokenizer: PCRE2 refuses the pattern of '%s' (error %d)",
                             found->name, code);
        }
        /* The result is ignored: without a just-in-time compiler, PCRE2 interprets the pattern. */
        pcre2_jit_compile(stage, PCRE2_JIT_COMPLETE);
        new->stages[new->stage_count] = stage;
    }
    *out_pretokenizer = new;
    return JOULE_OK;
}

void pretokenizer_free(struct pretokenizer *pretokenizer)
{
    for (size_t i = 0; pretokenizer && i < pretokenizer->stage_count; i++)
        pcre2_code_free(pretokenizer->stages[i]);
    free(pretokenizer);
}

struct pretokenizer_work *pretokenizer_work_new(const struct pretokenizer *pretokenizer)
{
    (void)pretokenizer;
    return (struct pretokenizer_work *)pcre2_match_data_create(1, NULL);
}

void pretokenizer_work_free(struct pretokenizer_work *work)
{
    pcre2_match_data_free((pcre2_match_data *)work);
}

/* --- splitting ------------------------------------------------------------------------------------------ */

/* The arguments that all stages of splitting a text share. */
struct split {
    const struct pretokenizer *pretokenizer;
    pcre2_match_data *match;
    piece_fn *each;
    void *context;
    joule_error *error;
};

/* Finds the next match of a stage in valid UTF-8, from `at` on. Without a match, sets *out_begin and
 * *out_end to `size`. */
static joule_status find_match(const struct split *split, size_t stage, const char *text, size_t at,
                               size_t size, size_t *out_begin, size_t *out_end)
{
    int code = pcre2_match(split->pretokenizer->stages[stage], (PCRE2_SPTR)text, size, at, PCRE2_NO_UTF_CHECK,
                           split->match, NULL);
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(split->match);
    *out_begin = *out_end = size;
    if (code == PCRE2_ERROR_NOMATCH)
        return JOULE_OK;
    if (code < 0 || ends[1] <= ends[0])
        return error_set(split->error, code == PCRE2_ERROR_NOMEMORY ? JOULE_NO_MEMORY : JOULE_FAILED,
                         "cannot split a text of %zu bytes into pieces: PCRE2's error %d", size, code);
    *out_begin = ends[0];
    *out_end = ends[1];
    return JOULE_OK;
}

static joule_status split_stage(const struct split *split, size_t stage, const char *text, size_t size);

static joule_status add_piece(const struct split *split, size_t stage, const char *text, size_t size)
{
    if (size == 0)
        return JOULE_OK;
    if (stage + 1 < split->pretokenizer->stage_count)
        return split_stage(split, stage + 1, text, size);
    return split->each(split->context, text, size);
}

/* Splits valid UTF-8. Both the matches of the stage and the text between matches are pieces. The recursion is
 * at most MAX_STAGES deep. */
static joule_status split_stage(const struct split *split, size_t stage, const char *text, size_t size)
{
    joule_status status = JOULE_OK;
    for (size_t at = 0, begin, end; at < size && status == JOULE_OK; at = end) {
        status = find_match(split, stage, text, at, size, &begin, &end);
        if (status == JOULE_OK)
            status = add_piece(split, stage, text + at, begin - at);
        if (status == JOULE_OK)
            status = add_piece(split, stage, text + begin, end - begin);
    }
    return status;
}

joule_status pretokenizer_split(const struct pretokenizer *pretokenizer, struct pretokenizer_work *work,
                                const char *text, size_t size, piece_fn *each, void *context,
                                joule_error *out_error)
{
    const struct split split = {pretokenizer, (pcre2_match_data *)work, each, context, out_error};
    joule_status status = JOULE_OK;
    for (size_t at = 0; at < size && status == JOULE_OK;) {
        size_t begin = at, length;
        while (at < size && (length = string_utf8_length(text + at, size - at)) > 0)
            at += length;
        if (at > begin)
            status = split_stage(&split, 0, text + begin, at - begin);
        begin = at;
        while (at < size && string_utf8_length(text + at, size - at) == 0)
            at++;
        if (at > begin && status == JOULE_OK)
            status = each(context, text + begin, at - begin);
    }
    return status;
}

#else

joule_status pretokenizer_new(const char *name, struct pretokenizer **out_pretokenizer,
                              joule_error *out_error)
{
    (void)out_pretokenizer;
    if (!find_name(name))
        return refuse_name(name, out_error);
    return error_set(out_error, JOULE_UNSUPPORTED,
                     "cannot open a tokenizer: byte-level BPE needs PCRE2, and this build has none; install "
                     "libpcre2-dev and build again");
}

void pretokenizer_free(struct pretokenizer *pretokenizer)
{
    (void)pretokenizer;
}

struct pretokenizer_work *pretokenizer_work_new(const struct pretokenizer *pretokenizer)
{
    (void)pretokenizer;
    return NULL;
}

void pretokenizer_work_free(struct pretokenizer_work *work)
{
    (void)work;
}

joule_status pretokenizer_split(const struct pretokenizer *pretokenizer, struct pretokenizer_work *work,
                                const char *text, size_t size, piece_fn *each, void *context,
                                joule_error *out_error)
{
    (void)pretokenizer, (void)work, (void)out_error;
    return each(context, text, size);
}

#endif
