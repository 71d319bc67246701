/* Fuzz target: parsers of joule bench and joule compare. Checks that words do not exceed the text, that a
 * rejected text has a message, and that accepted numbers are in range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "command_words.h"
#include "fail_rule.h"
#include "require.h"
#include "sweep.h"
#include "work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char *text)
{
    struct arena arena = {0};
    joule_error error = {0};
    char **words;
    if (command_words(&arena, text, &words, &error) == JOULE_OK) {
        size_t total = 0;
        for (char **word = words; *word; word++)
            total += strlen(*word);
        require(words[0] && total <= strlen(text));
    } else {
        require(error.message[0] != '\0');
    }
    arena_free(&arena);
}

static void check_sweep(const char *text)
{
    struct arena arena = {0};
    struct sweep sweep;
    if (sweep_parse(&arena, text, &sweep, NULL) == JOULE_OK) {
        const size_t chosen = sweep.count - 1;
        require(sweep.count > 0 && sweep.values[chosen][0]);
        require(sweep_replace(&arena, text, &sweep, &chosen, 1) != NULL);
    }
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fail_rule rule;
    struct work work;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_words(text);
    check_sweep(text);
    if (fail_rule_parse(text, &rule, NULL) == JOULE_OK)
        require(rule.metric < METRICS && rule.limit > 0);
    if (work_parse(text, &work, NULL) == JOULE_OK)
        require(isfinite(work.amount) && work.amount > 0 && work.unit[0] &&
                strlen(work.unit) < WORK_UNIT_SIZE);
    free(text);
    return 0;
}
