/* tools/joulec/response.c - see response.h. */
#include "response.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joulec/source/whole_file.h"

#define MOST_NESTED 8 /* a file may name itself */

struct words {
    struct arena *arena;
    const char *folder;
    const char **list;
    size_t count;
};

/* False: no memory. */
static bool add_word(struct words *words, const char *word)
{
    const char **list = arena_push(words->arena, words->list, words->count, word);
    words->list = list ? list : words->list;
    words->count += list != NULL;
    return list;
}

static bool is_space(char c)
{
    return c && strchr(" \t\n\r\f\v", c);
}

/* The word at *at, written over the text; empty: there is none any more, as clang knows no empty one. */
static char *next_word(char **at)
{
    char *c = *at, *word, *end, quote = '\0';
    while (is_space(*c))
        c++;
    for (word = end = c; *c && (quote || !is_space(*c)); c++) {
        if (*c == '\\' && c[1])
            *end++ = *++c;
        else if (quote ? *c == quote : *c == '"' || *c == '\'')
            quote = quote ? '\0' : *c;
        else
            *end++ = *c;
    }
    *at = *c ? c + 1 : c;
    *end = '\0';
    return word;
}

static char *read_text(const struct words *words, const char *name)
{
    char path[PATH_MAX];
    size_t size;
    bool is_below = words->folder && name[0] != '/';
    string_print(path, sizeof path, "%s%s%s", is_below ? words->folder : "", is_below ? "/" : "", name);
    char *text = whole_file(path, &size), *kept = text ? arena_copy(words->arena, text, strlen(text)) : NULL;
    free(text);
    return kept;
}

static bool expand_word(struct words *words, const char *word, int depth)
{
    char *text = word[0] == '@' && depth < MOST_NESTED ? read_text(words, word + 1) : NULL;
    if (!text)
        return add_word(words, word);
    bool done = true;
    while (*text && done) {
        const char *part = next_word(&text);
        done = !*part || expand_word(words, part, depth + 1);
    }
    return done;
}

const char **response_expand(struct arena *arena, char **argv, const char *folder, size_t *out_count)
{
    struct words words = {.arena = arena, .folder = folder};
    bool done = true;
    for (char **word = argv + 1; *word && done; word++)
        done = expand_word(&words, *word, 0);
    *out_count = words.count;
    return done && add_word(&words, NULL) ? words.list : NULL;
}
