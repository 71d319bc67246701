/* Fuzz target: budgets as text. Checks that an accepted budget has limits above 0, and that a refused one
 * gives a message and a column within the text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "joule/api/budget_text.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_limit(double limit)
{
    return isnan(limit) || (isfinite(limit) && limit > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    struct budget_text budget = {.max_joules = -1};
    size_t column = 0;
    joule_error error = {0};
    if (budget_text_parse(text, &budget, &column, &error) == JOULE_OK) {
        require(is_limit(budget.max_joules) && is_limit(budget.max_watts) &&
                is_limit(budget.max_temp_delta_kelvin));
        require(!isnan(budget.max_joules) || !isnan(budget.max_watts) ||
                !isnan(budget.max_temp_delta_kelvin));
        require(column == 0 && error.message[0] == '\0');
    } else {
        require(column >= 1 && column <= strlen(text) + 1 && error.message[0] != '\0');
        require(budget.max_joules == -1);
    }
    free(text);
    return 0;
}
