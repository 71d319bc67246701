/* tools/joulec/check/other_languages.c - see other_languages.h. */
#include "other_languages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "check.h"
#include "common/options.h"
#include "joulec/source/whole_file.h"
#include "clang_commands.h"

static bool is_of_word(char c)
{
    return c == '_' || isalnum((unsigned char)c);
}

bool other_languages_may_have_budget(const char *path)
{
    static const char word[] = "JOULE_BUDGET";
    size_t size;
    char *text = whole_source_file(path, &size);
    bool may = false;
    for (const char *at = text; at && !may && (at = strstr(at, word)); at += sizeof word - 1)
        may = !is_of_word(at[sizeof word - 1]);
    free(text);
    return may;
}

/* Returns by how much a line marker changes the depth of includes: 1 for # 1 "budget.h" 1 3 */
static int depth_change(const char *line, size_t length)
{
    const char *quote = string_starts(line, "# ") ? memrchr(line, '"', length) : NULL;
    bool has_flag = quote && quote + 2 < line + length;
    return !has_flag ? 0 : quote[2] == '1' ? 1 : quote[2] == '2' ? -1 : 0;
}

/* Returns true if preprocessed text contains a budget outside of headers. Budgets in headers are checked with
 * the C files that define the functions. */
static bool text_has_budget(const char *text)
{
    static const char budget[] = "\"joule.budget:";
    bool is_found = false;
    int depth = 0;
    while (*text && !is_found) {
        size_t length = strcspn(text, "\n");
        depth += depth_change(text, length);
        is_found = depth == 0 && memmem(text, length, budget, strlen(budget));
        text += length + (text[length] != '\0');
    }
    return is_found;
}

static bool has_budget(struct arena *arena, const struct arguments *as_sources, const char *source)
{
    struct checked ignored;
    const struct order order = {.arguments = as_sources, .source = source, .name = source, .is_quiet = true};
    const char *text =
        strcmp(source, "-") == 0 || other_languages_may_have_budget(source)
            ? check_read_clang(&order, arena, command_preprocess(arena, as_sources, source), &ignored)
            : NULL;
    return text && text_has_budget(text);
}

/* Returns the arguments without options that leave macros unexpanded or omit line markers. NULL: out of
 * memory. */
static const char **readable_words(struct arena *arena, const struct arguments *a)
{
    static const char *const unreadable[] = {"-P", "-frewrite-includes", NULL};
    const char **words = arena_alloc(arena, (a->clang_count + 1) * sizeof *words);
    for (size_t i = 0; words && i < a->clang_count; i++)
        words[i] = string_is_one_of(a->clang[i], unreadable) ? "-Qunused-arguments" : a->clang[i];
    return words;
}

bool other_languages_have_budget(struct arena *arena, const struct arguments *arguments)
{
    struct arguments as_sources = *arguments;
    const char **words = readable_words(arena, arguments);
    if (words)
        as_sources.clang = words;
    as_sources.sources = arguments->others;
    as_sources.languages = arguments->other_languages;
    as_sources.source_count = arguments->other_count;
    const char *found = NULL;
    for (size_t i = 0; i < arguments->other_count && !found; i++)
        if (has_budget(arena, &as_sources, arguments->others[i]))
            found = arguments->others[i];
    if (found)
        complain("",
                 "%s: cannot check its budgets: joulec checks only C\nhint: move functions with budgets to a "
                 "C file, or omit the --energy options for this file",
                 found);
    return found;
}
