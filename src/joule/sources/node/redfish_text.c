/* joule/sources/node/redfish_text.c - see redfish_text.h. */
#include "joule/sources/node/redfish_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"

#define MAX_WATTS 100000.0

static const struct {
    const char *kind;
    enum redfish_view view;
} kinds[] = {{"supply", REDFISH_SUPPLIES},
             {"supplies", REDFISH_SUPPLIES},
             {"environment", REDFISH_CHASSIS},
             {"control", REDFISH_CONTROL}};

/* Returns the next word of a line, terminated, and advances *at. Returns NULL at the end of the line. */
static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " ");
    size_t length = strcspn(word, " ");
    if (length == 0)
        return NULL;
    *at = word + length + (word[length] != '\0');
    word[length] = '\0';
    return word;
}

static void parse_reading(char *line, struct redfish_text *text)
{
    struct redfish_reading reading = {.watts = NAN};
    char *kind = next_word(&line), *watts = next_word(&line), *path = next_word(&line);
    if (!path || *path != '/' || text->count == REDFISH_MAX_READINGS ||
        strlen(kind) + strlen(path) + 2 > sizeof reading.target)
        return;
    if (strcmp(watts, "-") != 0 &&
        !(string_to_double(watts, &reading.watts) && reading.watts >= 0 && reading.watts <= MAX_WATTS))
        return;
    string_print(reading.target, sizeof reading.target, "%s:%s", kind, path);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kind, kinds[i].kind) == 0) {
            reading.view = kinds[i].view;
            text->readings[text->count++] = reading;
        }
}

static void parse_failure(char *line, struct redfish_text *text)
{
    char *word = next_word(&line);
    uint64_t status;
    bool is_known = word && string_to_u64(word, 10, &status) && status > JOULE_OK && status < 64;
    text->status = is_known ? (joule_status)status : JOULE_FAILED;
    string_copy(text->reason, sizeof text->reason, line);
}

static void parse_line(char *line, struct redfish_text *text)
{
    if (string_starts(line, "model "))
        string_copy(text->model, sizeof text->model, line + strlen("model "));
    else if (string_starts(line, "reading "))
        parse_reading(line + strlen("reading "), text);
    else if (string_starts(line, "failed "))
        parse_failure(line + strlen("failed "), text);
}

void redfish_parse(const char *text, struct redfish_text *out_text)
{
    char line[640];
    *out_text = (struct redfish_text){.status = JOULE_OK};
    while (*text) {
        size_t length = strcspn(text, "\n");
        struct text copy;
        text_init(&copy, line, sizeof line);
        line[0] = '\0';
        text_add_bytes(&copy, text, length);
        if (length < sizeof line)
            parse_line(line, out_text);
        text += length + (text[length] == '\n');
    }
}

double redfish_watts(const struct redfish_text *text, enum redfish_view view)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < text->count; i++)
        if (text->readings[i].view == view) {
            sum += text->readings[i].watts;
            count++;
        }
    return count ? sum : NAN;
}
