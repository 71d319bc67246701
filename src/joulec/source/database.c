/* joulec/source/database.c - see database.h. */
#include "joulec/source/database.h"

#include <limits.h>
#include <string.h>
#include "base/error.h"
#include "base/json.h"
#include "base/string.h"
#include "joulec/source/place.h"

/* --- splitting a command -------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Copies a quoted part to `out` without its quotes. *at points after the opening quote, and is moved past the
 * closing one. Returns the end of the copy; NULL: the closing quote is missing. */
static char *unquote(const char **at, char quote, char *out)
{
    const char *c = *at;
    for (; *c && *c != quote; c++) {
        bool is_escape = quote == '"' && *c == '\\' && c[1] && strchr("\"\\$`\n", c[1]);
        c += is_escape;
        if (!is_escape || *c != '\n')
            *out++ = *c;
    }
    *at = *c ? c + 1 : c;
    return *c ? out : NULL;
}

/* Copies the word at *at, with a terminating NUL, to `out`. Returns the end of the copy. Returns NULL if a
 * quote is not closed. */
static char *take_word(const char **at, char *out)
{
    while (out && **at && !is_space(**at)) {
        char c = *(*at)++;
        if (c == '\'' || c == '"')
            out = unquote(at, c, out);
        else if (c != '\\')
            *out++ = c;
        else if (**at && *(*at)++ != '\n')
            *out++ = (*at)[-1];
    }
    if (out)
        *out++ = '\0';
    return out;
}

const char **database_split(struct arena *arena, const char *command, size_t *out_count)
{
    size_t length = strlen(command), count = 0;
    char *out = arena_alloc(arena, length + 2);
    const char **words = arena_alloc(arena, (length / 2 + 2) * sizeof *words);
    *out_count = 0;
    if (!out || !words)
        return NULL;
    for (;;) {
        while (is_space(*command) || (command[0] == '\\' && command[1] == '\n'))
            command += 1 + (*command == '\\');
        if (!*command)
            break;
        words[count++] = out;
        out = take_word(&command, out);
        if (!out) {
            *out_count = 1;
            return NULL;
        }
    }
    *out_count = count;
    return words;
}

/* --- entries -------------------------------------------------------------------------------------------- */

/* Returns the strings of an array, terminated by NULL. Returns NULL if an item is not a string (*out_count
 * 1), or if out of memory (*out_count 0). */
static const char **words_of_list(struct arena *arena, const struct json_value *list, size_t *out_count)
{
    size_t count = 0;
    for (const struct json_value *v = list->first; v; v = v->next)
        count++;
    const char **words = arena_alloc(arena, (count + 1) * sizeof *words);
    *out_count = 0;
    for (const struct json_value *v = list->first; v && words; v = v->next) {
        words[*out_count] = json_text_of(v);
        if (!words[(*out_count)++]) {
            *out_count = 1;
            return NULL;
        }
    }
    return words;
}

/* Returns true if the word is the path of the entry's file. */
static bool names(const struct database_entry *e, const char *word)
{
    char path[PATH_MAX];
    return strcmp(word, e->file) == 0 ||
           (source_absolute(e->folder, word, path, sizeof path) && strcmp(path, e->path) == 0);
}

/* Writes the options to e->words. Drops the compiler, launchers before it such as "ccache", and the file. */
static void find_options(struct database_entry *e, const char **words, size_t count)
{
    size_t i = 1;
    e->words = words;
    e->is_c = string_ends(e->file, ".c") || string_ends(e->file, ".i");
    while (i < count && words[i][0] != '-' && words[i][0] != '@' && !names(e, words[i]))
        i++;
    for (; i < count; i++) {
        bool is_language = strcmp(words[i], "-x") == 0 && i + 1 < count;
        if (is_language || string_starts(words[i], "-x"))
            e->is_c = strcmp(is_language ? words[i + 1] : words[i] + 2, "c") == 0;
        bool is_output = strcmp(words[i], "-o") == 0 && i + 1 < count;
        i += is_output;
        if (is_output)
            e->output = e->output ? e->output : words[i];
        else if (strcmp(words[i], "--") != 0 && strcmp(words[i], "-c") != 0 && !names(e, words[i]))
            e->words[e->word_count++] = words[i];
    }
    e->words[e->word_count] = NULL;
}

/* Reads the words of an entry. Returns a description of the error in the entry; NULL: none. */
static const char *read_words(struct arena *arena, const struct json_value *v, struct database_entry *e)
{
    const struct json_value *list = json_member(v, "arguments");
    const char *command = json_text_of(json_member(v, "command"));
    size_t count;
    if (list && list->kind != JSON_ARRAY)
        return "'arguments' is not a list";
    if (!list && !command)
        return "'arguments' and 'command' are missing";
    const char **words = list ? words_of_list(arena, list, &count) : database_split(arena, command, &count);
    if (!words && count)
        return list ? "'arguments' contains a value that is not a string"
                    : "a quote in 'command' is not closed";
    if (!words)
        return "out of memory";
    if (!count)
        return "the command is empty";
    find_options(e, words, count);
    return NULL;
}

static const char *read_entry(struct arena *arena, const struct json_value *v, const char *where,
                              struct database_entry *e)
{
    char folder[PATH_MAX], path[PATH_MAX];
    const char *directory = json_text_of(json_member(v, "directory"));
    e->file = json_text_of(json_member(v, "file"));
    e->output = json_text_of(json_member(v, "output"));
    if (!e->file || !*e->file)
        return "'file' is missing";
    if (!directory || !*directory)
        return "'directory' is missing";
    if (!source_absolute(where, directory, folder, sizeof folder) ||
        !source_absolute(folder, e->file, path, sizeof path))
        return "its paths are too long";
    e->folder = arena_copy(arena, folder, strlen(folder));
    e->path = arena_copy(arena, path, strlen(path));
    return e->folder && e->path ? read_words(arena, v, e) : "out of memory";
}

joule_status database_read(struct arena *arena, char *text, size_t size, const char *what, const char *folder,
                           struct database *out, joule_error *out_error)
{
    *out = (struct database){0};
    const struct json_value *list = json_parse(arena, text, size, what, out_error), *v;
    if (!list)
        return arena->is_out_of_memory ? JOULE_NO_MEMORY : JOULE_INVALID;
    if (list->kind != JSON_ARRAY)
        return error_set(out_error, JOULE_INVALID,
                         "%s is not a compilation database: expected a list: [{\"directory\": ...}]", what);
    for (v = list->first; v; v = v->next)
        out->count++;
    out->entries = arena_alloc(arena, (out->count + 1) * sizeof *out->entries);
    if (!out->entries)
        return error_set(out_error, JOULE_NO_MEMORY, "%s: out of memory", what);
    struct database_entry *e = out->entries;
    for (v = list->first; v; v = v->next, e++)
        e->problem = read_entry(arena, v, folder, e);
    return JOULE_OK;
}
