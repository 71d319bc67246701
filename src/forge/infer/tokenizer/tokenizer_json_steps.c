/* infer/tokenizer/tokenizer_json_steps.c - reads the steps that a tokenizer.json applies to a text before and
 * after the model: normalizer, pre_tokenizer and post_processor. */
#include <string.h>
#include "forge/infer/tokenizer/pretokenizer.h"
#include "forge/infer/tokenizer/tokenizer_json.h"

enum { MAX_STEPS = 8 };

/* Lists the steps of a part: the steps of a "Sequence", or else the part itself. Returns their number;
 * MAX_STEPS + 1: too many. A part that is NULL or null has no steps. */
static size_t list_steps(const struct json_value *part, const char *list_name,
                         const struct json_value *out_steps[MAX_STEPS])
{
    size_t count = 0;
    if (!part || part->kind != JSON_OBJECT)
        return 0;
    if (!json_is_text(json_member(part, "type"), "Sequence")) {
        out_steps[0] = part;
        return 1;
    }
    const struct json_value *list = json_member(part, list_name);
    for (const struct json_value *step = list ? list->first : NULL; step; step = step->next) {
        if (count == MAX_STEPS)
            return MAX_STEPS + 1;
        out_steps[count++] = step;
    }
    return count;
}

static const char *type_of(const struct json_value *step)
{
    const char *type = json_text_of(json_member(step, "type"));
    return type ? type : "";
}

static joule_status refuse(struct json_tokenizer *reading, const char *part, const struct json_value *step)
{
    return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "%s '%.40s' with these settings is not supported",
                               part, type_of(step));
}

/* --- normalizer ----------------------------------------------------------------------------------------- */

/* Returns the value of a digit of base 64, or -1. */
static int base64_digit(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

/* Decodes base 64 into the arena. */
static joule_status read_charsmap(struct json_tokenizer *reading, const char *text)
{
    size_t length = text ? strlen(text) : 0, size = 0;
    char *bytes = arena_alloc(reading->arena, length / 4 * 3 + 3);
    uint32_t bits = 0;
    if (!bytes)
        return json_tokenizer_fail(reading, JOULE_NO_MEMORY, "%s", "out of memory");
    while (length > 0 && text[length - 1] == '=')
        length--;
    for (size_t i = 0; i < length; i++) {
        int digit = base64_digit(text[i]);
        if (digit < 0)
            return json_tokenizer_fail(reading, JOULE_INVALID, "%s", "precompiled_charsmap is not base 64");
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 > 0)
            bytes[size++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    reading->vocabulary->charsmap = (struct bytes){bytes, size};
    return JOULE_OK;
}

static bool is_replace(const struct json_value *step, const char *kind, const char *pattern)
{
    return strcmp(type_of(step), "Replace") == 0 &&
           json_is_text(json_member(json_member(step, "pattern"), kind), pattern);
}

static joule_status read_normalizer_step(struct json_tokenizer *reading, const struct json_value *step)
{
    struct vocabulary *v = reading->vocabulary;
    const char *type = type_of(step);
    if (v->kind == VOCABULARY_BPE) /* NFC is not applied: text is expected to be in NFC */
        return strcmp(type, "NFC") == 0 ? JOULE_OK : refuse(reading, "normalizer", step);
    if (strcmp(type, "Prepend") == 0 && json_is_text(json_member(step, "prepend"), "\xe2\x96\x81")) {
        v->adds_space_prefix = true;
        return JOULE_OK;
    }
    if (is_replace(step, "String", " ") && json_is_text(json_member(step, "content"), "\xe2\x96\x81")) {
        v->normalizes_spaces = true;
        return JOULE_OK;
    }
    if (v->kind == VOCABULARY_UNIGRAM && strcmp(type, "Precompiled") == 0)
        return read_charsmap(reading, json_text_of(json_member(step, "precompiled_charsmap")));
    if (v->kind == VOCABULARY_UNIGRAM && (is_replace(step, "Regex", " {2,}") || strcmp(type, "Strip") == 0)) {
        v->removes_extra_spaces = true;
        return JOULE_OK;
    }
    return refuse(reading, "normalizer", step);
}

/* --- pre_tokenizer -------------------------------------------------------------------------------------- */

static joule_status read_metaspace(struct json_tokenizer *reading, const struct json_value *step)
{
    struct vocabulary *v = reading->vocabulary;
    const struct json_value *scheme = json_member(step, "prepend_scheme");
    const struct json_value *replacement = json_member(step, "replacement");
    if (replacement && !json_is_text(replacement, "\xe2\x96\x81"))
        return refuse(reading, "pre_tokenizer", step);
    bool adds =
        scheme ? !json_is_text(scheme, "never") : json_flag(json_member(step, "add_prefix_space"), true);
    if (!adds)
        return JOULE_OK;
    v->adds_space_prefix = v->prefix_is_conditional = true;
    v->normalizes_spaces = false;
    v->prefix_is_once = json_is_text(scheme, "first");
    return JOULE_OK;
}

/* Returns true for a step that splits at spaces. It has no effect, because the normalizer has replaced all
 * spaces. */
static bool is_split_at_spaces(const struct json_value *step)
{
    return strcmp(type_of(step), "Split") == 0 &&
           json_is_text(json_member(json_member(step, "pattern"), "String"), " ");
}

/* Reads the steps of SentencePiece, which replace spaces by U+2581. */
static joule_status read_spaces(struct json_tokenizer *reading, const struct json_value *const *steps,
                                size_t count)
{
    joule_status status = JOULE_OK;
    for (size_t i = 0; i < count && status == JOULE_OK; i++)
        if (strcmp(type_of(steps[i]), "Metaspace") == 0)
            status = read_metaspace(reading, steps[i]);
        else if (strcmp(type_of(steps[i]), "WhitespaceSplit") == 0 &&
                 reading->vocabulary->kind == VOCABULARY_UNIGRAM)
            reading->vocabulary->removes_extra_spaces = true;
        else if (!is_split_at_spaces(steps[i]))
            status = refuse(reading, "pre_tokenizer", steps[i]);
    return status;
}

/* Returns the pattern of a "Split" whose matches are pieces, or NULL. The known patterns match all text, so
 * it does not matter whether the text between matches is kept or removed. */
static const char *split_pattern(const struct json_value *step)
{
    bool is_inverted = json_flag(json_member(step, "invert"), false);
    const char *behavior = is_inverted ? "Removed" : "Isolated";
    if (strcmp(type_of(step), "Split") != 0 || !json_is_text(json_member(step, "behavior"), behavior))
        return NULL;
    return json_text_of(json_member(json_member(step, "pattern"), "Regex"));
}

/* Reads the steps of byte-level BPE. The last step is "ByteLevel". The pattern is its own, or that of a
 * "Split" before it. */
static joule_status read_pieces(struct json_tokenizer *reading, const struct json_value *const *steps,
                                size_t count)
{
    struct vocabulary *v = reading->vocabulary;
    if (count == 0)
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "%s",
                                   "BPE without byte_fallback needs the pre_tokenizer ByteLevel");
    const struct json_value *last = steps[count - 1];
    if (strcmp(type_of(last), "ByteLevel") != 0 || json_flag(json_member(last, "add_prefix_space"), true) ||
        count > 2)
        return refuse(reading, "pre_tokenizer", last);
    bool has_pattern = json_flag(json_member(last, "use_regex"), true);
    const char *pattern = count == 2 ? split_pattern(steps[0]) : NULL;
    if (count == 1 && has_pattern)
        v->pre = "gpt-2";
    else if (count == 2 && has_pattern && strcmp(type_of(steps[0]), "Digits") == 0 &&
             json_flag(json_member(steps[0], "individual_digits"), false))
        v->pre = "starcoder";
    else if (pattern && !has_pattern)
        v->pre = pretokenizer_of_pattern(pattern, reading->ignores_merges);
    if (v->pre)
        return JOULE_OK;
    if (pattern)
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "pre_tokenizer: unknown pattern '%.200s'",
                                   pattern);
    return refuse(reading, "pre_tokenizer", steps[0]);
}

joule_status json_read_steps(struct json_tokenizer *reading)
{
    const struct json_value *steps[MAX_STEPS];
    struct vocabulary *v = reading->vocabulary;
    joule_status status = JOULE_OK;
    size_t count = list_steps(json_member(reading->root, "normalizer"), "normalizers", steps);
    if (count > MAX_STEPS)
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "normalizer has more than %d steps",
                                   MAX_STEPS);
    for (size_t i = 0; i < count && status == JOULE_OK; i++)
        status = read_normalizer_step(reading, steps[i]);
    if (status != JOULE_OK)
        return status;
    count = list_steps(json_member(reading->root, "pre_tokenizer"), "pretokenizers", steps);
    if (count > MAX_STEPS)
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "pre_tokenizer has more than %d steps",
                                   MAX_STEPS);
    v->ignores_merges = reading->ignores_merges;
    return v->kind == VOCABULARY_BPE ? read_pieces(reading, steps, count)
                                     : read_spaces(reading, steps, count);
}

/* --- post_processor ------------------------------------------------------------------------------------- */

static joule_status read_template(struct json_tokenizer *reading, const struct json_value *step)
{
    struct vocabulary *v = reading->vocabulary;
    const struct json_value *single = json_member(step, "single");
    bool is_after = false;
    for (const struct json_value *item = single ? single->first : NULL; item; item = item->next) {
        const struct json_value *special = json_member(item, "SpecialToken");
        const char *name = json_text_of(json_member(special, "id"));
        int32_t token = json_tokenizer_find(reading, name);
        if (!special) {
            is_after = true;
            continue;
        }
        if (token < 0 || (is_after ? v->adds_eos : v->adds_bos))
            return json_tokenizer_fail(reading, JOULE_UNSUPPORTED,
                                       "post_processor adds '%.60s', which is not a token, or not the only "
                                       "token at its end of the text",
                                       name ? name : "");
        *(is_after ? &v->adds_eos : &v->adds_bos) = true;
        *(is_after ? &v->eos : &v->bos) = token;
    }
    return JOULE_OK;
}

joule_status json_read_ends(struct json_tokenizer *reading)
{
    const struct json_value *steps[MAX_STEPS];
    joule_status status = JOULE_OK;
    size_t count = list_steps(json_member(reading->root, "post_processor"), "processors", steps);
    if (count > MAX_STEPS)
        return json_tokenizer_fail(reading, JOULE_UNSUPPORTED, "post_processor has more than %d steps",
                                   MAX_STEPS);
    for (size_t i = 0; i < count && status == JOULE_OK; i++)
        if (strcmp(type_of(steps[i]), "TemplateProcessing") == 0)
            status = read_template(reading, steps[i]);
        else if (strcmp(type_of(steps[i]), "ByteLevel") != 0) /* "ByteLevel" does not change tokens */
            status = refuse(reading, "post_processor", steps[i]);
    return status;
}
