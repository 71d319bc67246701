/* tools/forge/spent_energy.c - see spent_energy.h.
 *
 * The file contains five lines of text: name and version, id, checkpoint, joules, class.
 */
#include "spent_energy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/string.h"
#include "forge/core/random_access_file.h"

#define FIRST_LINE "forge joules 1"
#define MAX_BYTES  512
#define PERIOD_NS  NS_PER_S
#define COST_RATIO 50 /* minimum pause between writes, relative to the time of a write */

joule_status spent_energy_begin(struct spent_energy *spent, const char *checkpoint, joule_error *out_error)
{
    uint64_t number;
    *spent = (struct spent_energy){.joules = {.cls = JOULE_CLASS_NONE}};
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint64_t)clock_wall_ns();
    string_print(spent->id, sizeof spent->id, "%016" PRIx64, number);
    if (asprintf(&spent->path, "%s.joules", checkpoint) >= 0)
        return JOULE_OK;
    spent->path = NULL;
    return error_set(out_error, JOULE_NO_MEMORY, "cannot store the joules of a training: out of memory");
}

void spent_energy_end(struct spent_energy *spent)
{
    free(spent->path);
    spent->path = NULL;
}

/* --- reading -------------------------------------------------------------------------------------------- */

/* Returns the text after `key` in the line at *at, and moves *at to the next line. The text is part of the
 * buffer. NULL: the line begins with another key. */
static char *take_line(char **at, const char *key)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!end || !string_starts(line, key))
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line + strlen(key);
}

static bool read_number(char **at, double *out_number)
{
    char *end = strchr(*at, ' ');
    if (end)
        *end = '\0';
    bool is_number = string_to_double(*at, out_number) && isfinite(*out_number) && *out_number >= 0;
    *at = end ? end + 1 : *at + strlen(*at);
    return is_number;
}

static bool read_class(const char *word, joule_class *out_cls)
{
    for (joule_class cls = JOULE_CLASS_NONE; cls <= JOULE_CLASS_ASSUMED; cls++)
        if (strcmp(word, joule_class_name(cls)) == 0) {
            *out_cls = cls;
            return true;
        }
    return false;
}

static bool parse(struct spent_energy *spent, char *text)
{
    joule_quantity q = {0};
    char *first = take_line(&text, FIRST_LINE), *id = first ? take_line(&text, "training ") : NULL;
    char *checkpoint = id ? take_line(&text, "checkpoint ") : NULL;
    char *joules = checkpoint ? take_line(&text, "joules ") : NULL;
    char *cls = joules ? take_line(&text, "class ") : NULL;
    if (!cls || *text || *first || strlen(id) != SPENT_ID - 1 ||
        strspn(id, "0123456789abcdef") != SPENT_ID - 1 || !read_number(&joules, &q.value) ||
        !read_number(&joules, &q.low) || !read_number(&joules, &q.high) || *joules || q.low > q.value ||
        q.value > q.high || !read_class(cls, &q.cls))
        return false;
    string_copy(spent->id, sizeof spent->id, id);
    spent->has_checkpoint = strcmp(checkpoint, "written") == 0;
    spent->joules = q;
    return spent->has_checkpoint || strcmp(checkpoint, "none") == 0;
}

joule_status spent_energy_read(struct spent_energy *spent, joule_error *out_error)
{
    struct file file;
    char text[MAX_BYTES + 1] = "";
    joule_status status = file_open(&file, spent->path, out_error);
    if (status != JOULE_OK)
        return status;
    bool is_valid = file.size <= MAX_BYTES;
    if (is_valid)
        status = file_read(&file, 0, text, (size_t)file.size, out_error);
    file_close(&file);
    if (status != JOULE_OK)
        return status;
    is_valid = is_valid && strlen(text) == file.size && parse(spent, text);
    return is_valid
               ? JOULE_OK
               : error_set(
                     out_error, JOULE_INVALID,
                     "cannot read %s: not the joules of a training; if you remove it, joules since the last "
                     "checkpoint are not counted",
                     spent->path);
}

/* --- writing -------------------------------------------------------------------------------------------- */

joule_status spent_energy_write(struct spent_energy *spent, joule_quantity joules, joule_error *out_error)
{
    char page[MAX_BYTES];
    struct text text;
    struct draft draft;
    if (!spent->path || isnan(joules.value))
        return JOULE_OK;
    int64_t begin_ns = clock_now_ns();
    text_init(&text, page, sizeof page);
    text_printf(&text, FIRST_LINE "\ntraining %s\ncheckpoint %s\njoules ", spent->id,
                spent->has_checkpoint ? "written" : "none");
    text_add_double(&text, joules.value);
    text_add(&text, " ");
    text_add_double(&text, joules.low);
    text_add(&text, " ");
    text_add_double(&text, joules.high);
    text_printf(&text, "\nclass %s\n", joule_class_name(joules.cls));
    joule_status status = draft_begin(&draft, spent->path, out_error);
    draft_write(&draft, page, text.length);
    status = draft_end(&draft, status);
    spent->joules = joules;
    spent->written_ns = clock_now_ns();
    spent->pause_ns = (spent->written_ns - begin_ns) * COST_RATIO;
    return status;
}

joule_status spent_energy_update(struct spent_energy *spent, joule_quantity joules, joule_error *out_error)
{
    int64_t pause_ns = spent->pause_ns > PERIOD_NS ? spent->pause_ns : PERIOD_NS;
    if (!spent->path || clock_now_ns() - spent->written_ns < pause_ns)
        return JOULE_OK;
    return spent_energy_write(spent, joules, out_error);
}
