/* bench/command_words.c - see command_words.h. */
#include "command_words.h"

#include <stdbool.h>
#include <string.h>
#include "base/error.h"

/* A command while it is divided. */
struct scan {
    const char *at; /* next byte */
    char *word;     /* end of the current word */
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Copies a quoted part without its quotes. Returns false if the quote does not end. */
static bool copy_quoted(struct scan *scan, char quote)
{
    while (*scan->at && *scan->at != quote) {
        bool is_escape = quote == '"' && scan->at[0] == '\\' && scan->at[1] && strchr("\"\\$`", scan->at[1]);
        scan->at += is_escape;
        *scan->word++ = *scan->at++;
    }
    return *scan->at++ == quote;
}

/* Copies one word. Returns NULL, or why the word is invalid. */
static const char *copy_word(struct scan *scan, char *out_wrong)
{
    while (*scan->at && !is_space(*scan->at)) {
        char c = *scan->at++;
        *out_wrong = c;
        if (strchr("|&;<>$`", c))
            return "only a shell interprets it; quote it, or use --shell";
        if (c == '\'' || c == '"') {
            if (!copy_quoted(scan, c))
                return "the quote does not end";
        } else if (c == '\\' && !*scan->at) {
            return "no character follows";
        } else {
            *scan->word++ = c == '\\' ? *scan->at++ : c;
        }
    }
    *scan->word++ = '\0';
    return NULL;
}

joule_status command_words(struct arena *arena, const char *text, char ***out_words, joule_error *out_error)
{
    size_t length = strlen(text), count = 0;
    /* Each word needs at least two bytes of the text, or is the last one. */
    char **words = arena_alloc(arena, (length / 2 + 2) * sizeof *words);
    char *bytes = arena_alloc(arena, length + 2);
    struct scan scan = {.at = text, .word = bytes};
    if (!words || !bytes)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot divide a command into words: out of memory");
    for (;;) {
        char wrong = '\0';
        while (is_space(*scan.at))
            scan.at++;
        if (!*scan.at)
            break;
        words[count++] = scan.word;
        const char *reason = copy_word(&scan, &wrong);
        if (reason)
            return error_set(out_error, JOULE_INVALID, "cannot divide '%s' into words: '%c': %s", text, wrong,
                             reason);
    }
    *out_words = words;
    return count ? JOULE_OK : error_set(out_error, JOULE_INVALID, "cannot run an empty command");
}
