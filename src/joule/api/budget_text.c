/* joule/api/budget_text.c - see budget_text.h.
 *
 * Note: to parse an item, the text before it is overwritten with spaces and the text behind it is cut off. So
 * the columns in messages of joule_parse count from the start of the whole text.
 */
#include "joule/api/budget_text.h"

#include <joule/quantity.h>
#include <math.h>
#include <string.h>
#include "base/error.h"
#include "base/nearest.h"
#include "base/string.h"

#define SPACE "\t\n\v\f\r "
#define ALLOWED                                                                                              \
    "max_joules=50uJ, max_watts=12W, max_temp_delta=2K, sustained and per_call, separated by commas"

enum key { MAX_JOULES, MAX_WATTS, MAX_TEMP_DELTA, SUSTAINED, PER_CALL, KEYS };

static const struct {
    const char *name;
    joule_dimension dimension; /* 0: a keyword without a value */
    const char *example;
} keys[KEYS] = {
    [MAX_JOULES] = {"max_joules", JOULE_DIMENSION_ENERGY, "50uJ"},
    [MAX_WATTS] = {"max_watts", JOULE_DIMENSION_POWER, "12W"},
    [MAX_TEMP_DELTA] = {"max_temp_delta", JOULE_DIMENSION_TEMPERATURE, "2K"},
    [SUSTAINED] = {"sustained", 0, ""},
    [PER_CALL] = {"per_call", 0, ""},
};

/* State of parsing. `work`: a copy of the text that contains only the item being parsed, at its original
 * position. */
struct reading {
    char work[BUDGET_TEXT_SIZE];
    double limits[KEYS]; /* NaN: not given */
    bool is_given[KEYS];
    size_t *column;
    joule_error *error;
};

/* Returns the column of work[at], counted from 1, and stores it in the caller's out_column. */
static unsigned place(const struct reading *r, size_t at)
{
    if (r->column)
        *r->column = at + 1;
    return (unsigned)at + 1;
}

/* Returns the name of key `index`, for nearest_word. */
static const char *key_name_at(size_t index, const void *context)
{
    (void)context;
    return keys[index].name;
}

/* Copies a word to `buffer` for messages, truncated and with '?' for each byte that is not printable ASCII.
 * Returns `buffer`. */
static const char *shown(const char *word, char buffer[static NEAREST_MAX_LENGTH + 1])
{
    string_copy(buffer, NEAREST_MAX_LENGTH + 1, word);
    for (char *c = buffer; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return buffer;
}

/* Returns JOULE_INVALID, with a message for an unknown or missing key at work[at]. */
static joule_status refuse_key(const struct reading *r, size_t at, const char *word)
{
    char buffer[NEAREST_MAX_LENGTH + 1];
    const char *near = nearest_word(word, KEYS, key_name_at, NULL);
    unsigned column = place(r, at);
    if (near)
        return error_set(r->error, JOULE_INVALID, "unknown \"%s\" at column %u; did you mean %s?",
                         shown(word, buffer), column, near);
    if (!*word)
        return error_set(r->error, JOULE_INVALID, "item missing at column %u; allowed are " ALLOWED, column);
    return error_set(r->error, JOULE_INVALID, "unknown \"%s\" at column %u; allowed are " ALLOWED,
                     shown(word, buffer), column);
}

/* Returns the index in `work` of the byte that joule_parse rejected. If the number at work[at] is valid, this
 * is the first byte of the unit, otherwise the first byte of the number. */
static size_t wrong_place(const struct reading *r, size_t at)
{
    double value;
    const char *rest = r->work[at] == '-' ? NULL : string_scan_double(r->work + at, &value);
    return rest ? (size_t)(rest - r->work) + strspn(rest, SPACE) : at;
}

/* Parses the value of a key at work[at..] into r->limits. Returns JOULE_INVALID, with a message, if it is
 * missing or wrong. */
static joule_status read_value(struct reading *r, enum key key, size_t at)
{
    at += strspn(r->work + at, SPACE);
    if (!r->work[at])
        return error_set(r->error, JOULE_INVALID, "%s has no value at column %u, such as %s=%s",
                         keys[key].name, place(r, at), keys[key].name, keys[key].example);
    memset(r->work, ' ', at);
    double value;
    joule_status status = joule_parse(r->work, keys[key].dimension, &value, r->error);
    if (status != JOULE_OK) {
        place(r, wrong_place(r, at));
        return status;
    }
    if (!(value > 0))
        return error_set(r->error, JOULE_INVALID, "%s must be more than 0 (column %u)", keys[key].name,
                         place(r, at));
    r->limits[key] = value;
    return JOULE_OK;
}

/* Returns the key with this name; KEYS: none. */
static enum key find_key(const char *word)
{
    enum key key = 0;
    while (key < KEYS && strcmp(keys[key].name, word) != 0)
        key++;
    return key;
}

/* Finds a key inside the item work[at..] that follows white space instead of a comma. Returns its index in
 * `work`; 0: none. */
static size_t find_joined(const struct reading *r, size_t at)
{
    for (at += strcspn(r->work + at, SPACE); r->work[at]; at += strcspn(r->work + at, SPACE)) {
        at += strspn(r->work + at, SPACE);
        for (enum key key = 0; key < KEYS; key++)
            if (string_starts(r->work + at, keys[key].name))
                return at;
    }
    return 0;
}

/* Parses one item, work[at..], without spaces around it. */
static joule_status read_item(struct reading *r, size_t at)
{
    char word[BUDGET_TEXT_SIZE];
    size_t length = strcspn(r->work + at, "=");
    bool has_value = r->work[at + length] == '=';
    string_copy(word, sizeof word, r->work + at);
    word[length] = '\0';
    string_trim(word);
    size_t joined = find_joined(r, at);
    if (joined)
        return error_set(r->error, JOULE_INVALID, "a comma is missing before column %u", place(r, joined));
    enum key key = find_key(word);
    if (key == KEYS)
        return refuse_key(r, at, word);
    if (r->is_given[key])
        return error_set(r->error, JOULE_INVALID, "%s is given twice (column %u)", word, place(r, at));
    r->is_given[key] = true;
    if (keys[key].dimension)
        return read_value(r, key, at + length + has_value);
    if (has_value)
        return error_set(r->error, JOULE_INVALID, "%s takes no value (column %u)", word,
                         place(r, at + length));
    return JOULE_OK;
}

/* Isolates text[at..end) in `work` and parses it. */
static joule_status read_between(struct reading *r, const char *text, size_t at, size_t end)
{
    at += strspn(text + at, SPACE);
    at = at < end ? at : end;
    while (end > at && strchr(SPACE, text[end - 1]))
        end--;
    memset(r->work, ' ', at);
    memcpy(r->work + at, text + at, end - at);
    r->work[end] = '\0';
    return read_item(r, at);
}

joule_status budget_text_parse(const char *text, struct budget_text *out, size_t *out_column,
                               joule_error *out_error)
{
    struct reading r = {.limits = {NAN, NAN, NAN}, .column = out_column, .error = out_error};
    size_t length = text ? strnlen(text, BUDGET_TEXT_SIZE) : 0;
    if (!text || length == BUDGET_TEXT_SIZE)
        return error_set(out_error, JOULE_INVALID, "a budget must be a text of at most %d bytes (column %u)",
                         BUDGET_TEXT_SIZE - 1, place(&r, length ? length - 1 : 0));
    for (size_t at = 0, end; at <= length; at = end + 1) {
        end = at + strcspn(text + at, ",");
        joule_status status = read_between(&r, text, at, end);
        if (status != JOULE_OK)
            return status;
    }
    if (!r.is_given[MAX_JOULES] && !r.is_given[MAX_WATTS] && !r.is_given[MAX_TEMP_DELTA])
        return error_set(
            out_error, JOULE_INVALID,
            "limit missing at column %u: give max_joules=50uJ, max_watts=12W or max_temp_delta=2K",
            place(&r, length));
    *out = (struct budget_text){.max_joules = r.limits[MAX_JOULES],
                                .max_watts = r.limits[MAX_WATTS],
                                .max_temp_delta_kelvin = r.limits[MAX_TEMP_DELTA],
                                .is_sustained = r.is_given[SUSTAINED],
                                .is_per_call = r.is_given[PER_CALL]};
    return JOULE_OK;
}
