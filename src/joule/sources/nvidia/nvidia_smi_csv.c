/* joule/sources/nvidia/nvidia_smi_csv.c - requests nvidia-smi's table of fields, and parses it. See
 * nvidia_smi.h.
 *
 * Note: cells are not quoted, and neither board names nor error texts contain a comma. The number of cells
 * distinguishes a row of the table from other lines, which a failing driver prints. */
#include <string.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"

#define QUERY "--query-gpu="

static const struct {
    const char *name, *old_name; /* old_name: the name before driver 535; NULL: the field was not renamed */
} names[SMI_FIELDS] = {
    [SMI_INDEX] = {"index", NULL},
    [SMI_UUID] = {"uuid", NULL},
    [SMI_PCI] = {"pci.bus_id", NULL},
    [SMI_NAME] = {"name", NULL},
    [SMI_DRIVER] = {"driver_version", NULL},
    [SMI_CAPABILITY] = {"compute_cap", NULL},
    [SMI_POWER] = {"power.draw", NULL},
    [SMI_POWER_AVERAGE] = {"power.draw.average", NULL},
    [SMI_POWER_INSTANT] = {"power.draw.instant", NULL},
    [SMI_MODULE_POWER] = {"module.power.draw.instant", NULL},
    [SMI_LIMIT] = {"power.limit", NULL},
    [SMI_LIMIT_ENFORCED] = {"enforced.power.limit", NULL},
    [SMI_LIMIT_DEFAULT] = {"power.default_limit", NULL},
    [SMI_LIMIT_MIN] = {"power.min_limit", NULL},
    [SMI_LIMIT_MAX] = {"power.max_limit", NULL},
    [SMI_TEMPERATURE] = {"temperature.gpu", NULL},
    [SMI_MEMORY_TEMPERATURE] = {"temperature.memory", NULL},
    [SMI_BUSY] = {"utilization.gpu", NULL},
    [SMI_MEMORY_BUSY] = {"utilization.memory", NULL},
    [SMI_MEMORY_TOTAL] = {"memory.total", NULL},
    [SMI_MEMORY_USED] = {"memory.used", NULL},
    [SMI_MEMORY_FREE] = {"memory.free", NULL},
    [SMI_CLOCK] = {"clocks.current.sm", NULL},
    [SMI_MEMORY_CLOCK] = {"clocks.current.memory", NULL},
    [SMI_REASONS] = {"clocks_event_reasons.active", "clocks_throttle_reasons.active"},
    [SMI_FAN] = {"fan.speed", NULL},
    [SMI_ENCODER] = {"utilization.encoder", NULL},
    [SMI_DECODER] = {"utilization.decoder", NULL},
    [SMI_ECC_CORRECTED] = {"ecc.errors.corrected.volatile.total", NULL},
    [SMI_ECC_UNCORRECTED] = {"ecc.errors.uncorrected.volatile.total", NULL},
    [SMI_ECC_CORRECTED_LIFETIME] = {"ecc.errors.corrected.aggregate.total", NULL},
    [SMI_ECC_UNCORRECTED_LIFETIME] = {"ecc.errors.uncorrected.aggregate.total", NULL},
};

static const char *name_of(const struct smi_query *query, size_t field)
{
    return query->uses_old_names && names[field].old_name ? names[field].old_name : names[field].name;
}

/* --- the query ------------------------------------------------------------------------------------------ */

struct smi_query smi_query_all(void)
{
    struct smi_query query = {.uses_old_names = false};
    for (size_t i = 0; i < SMI_FIELDS; i++)
        query.asks[i] = true;
    return query;
}

void smi_query_argument(const struct smi_query *query, char *out_argument, size_t size)
{
    struct text text;
    text_init(&text, out_argument, size);
    text_add(&text, QUERY);
    for (size_t i = 0; i < SMI_FIELDS; i++)
        if (query->asks[i])
            text_printf(&text, "%s%s", i == 0 ? "" : ",", name_of(query, i));
}

/* Returns the field X of the error text `Field "X" is not a valid field to query.`. Returns SMI_FIELDS if the
 * query has no such field. */
static size_t refused_field(const struct smi_query *query, const char *refusal)
{
    const char *quote = strchr(refusal, '"');
    size_t length = quote ? strcspn(quote + 1, "\"") : 0;
    for (size_t i = 0; quote && i < SMI_FIELDS; i++)
        if (query->asks[i] && strlen(name_of(query, i)) == length &&
            strncmp(name_of(query, i), quote + 1, length) == 0)
            return i;
    return SMI_FIELDS;
}

/* Returns the newest field of the query, or SMI_FIELDS if no field can be removed. Fields before SMI_POWER,
 * except SMI_CAPABILITY, identify the board and are never removed. */
static size_t newest_field(const struct smi_query *query)
{
    static const enum smi_field removable[] = {SMI_ENCODER,       SMI_MODULE_POWER,      SMI_POWER_INSTANT,
                                               SMI_POWER_AVERAGE, SMI_REASONS,           SMI_CAPABILITY,
                                               SMI_FAN,           SMI_MEMORY_TEMPERATURE};
    for (size_t i = 0; i < sizeof removable / sizeof removable[0]; i++)
        if (query->asks[removable[i]])
            return removable[i];
    return SMI_FIELDS;
}

/* Removes a field and the fields that drivers added together with it, because each rejected query costs a
 * call. */
static void remove_fields(struct smi_query *query, size_t field)
{
    size_t first = field, last = field;
    if (field >= SMI_FAN) {
        first = field == SMI_FAN ? SMI_FAN : field <= SMI_DECODER ? SMI_ENCODER : SMI_ECC_CORRECTED;
        last = field <= SMI_DECODER ? SMI_DECODER : SMI_ECC_UNCORRECTED_LIFETIME;
    }
    for (size_t i = first; i <= last; i++)
        query->asks[i] = false;
}

bool smi_query_reduce(struct smi_query *query, const char *refusal)
{
    size_t field = refused_field(query, refusal);
    if (field == SMI_FIELDS)
        field = newest_field(query);
    if (field == SMI_FIELDS || field == SMI_INDEX)
        return false;
    if (names[field].old_name && !query->uses_old_names)
        query->uses_old_names = true;
    else
        remove_fields(query, field);
    return true;
}

/* --- the table ------------------------------------------------------------------------------------------ */

#define MAX_CELLS 512 /* a driver supports about two hundred fields */

struct table {
    size_t columns[MAX_CELLS]; /* the field of each column; SMI_FIELDS: unknown */
    size_t count;
};

/* Splits a line at its commas. Returns the number of cells. */
static size_t split(char *line, char *cells[MAX_CELLS])
{
    size_t count = 0;
    for (char *cell = line; cell && count < MAX_CELLS; count++) {
        char *comma = strchr(cell, ',');
        if (comma)
            *comma++ = '\0';
        cells[count] = string_trim(cell);
        cell = comma;
    }
    return count;
}

/* Returns the field of a heading such as "power.draw [W]", or SMI_FIELDS if the heading is unknown. */
static size_t field_of_heading(const char *heading)
{
    size_t length = strcspn(heading, " ");
    for (size_t i = 0; i < SMI_FIELDS; i++) {
        const char *old = names[i].old_name;
        if ((strlen(names[i].name) == length && strncmp(names[i].name, heading, length) == 0) ||
            (old && strlen(old) == length && strncmp(old, heading, length) == 0))
            return i;
    }
    return SMI_FIELDS;
}

static bool parse_heading(struct table *table, char *const *cells, size_t count)
{
    size_t columns[MAX_CELLS], known = 0;
    for (size_t i = 0; i < count; i++) {
        columns[i] = field_of_heading(cells[i]);
        known += columns[i] != SMI_FIELDS;
    }
    if (known < 2)
        return false;
    memcpy(table->columns, columns, count * sizeof *columns);
    table->count = count;
    return true;
}

size_t smi_read_table(char *text, const struct smi_query *query, struct smi_board *out_boards, size_t max)
{
    struct table table = {.count = 0};
    char *cells[MAX_CELLS], *position;
    size_t boards = 0;
    for (size_t i = 0; i < SMI_FIELDS; i++)
        if (query->asks[i])
            table.columns[table.count++] = i;
    for (char *line = strtok_r(text, "\r\n", &position); line && boards < max;
         line = strtok_r(NULL, "\r\n", &position)) {
        size_t count = split(line, cells);
        if (count < 2 || parse_heading(&table, cells, count) || count != table.count)
            continue;
        struct smi_board *board = &out_boards[boards++];
        memset(board, 0, sizeof *board);
        for (size_t i = 0; i < count; i++)
            if (table.columns[i] != SMI_FIELDS)
                board->values[table.columns[i]] = cells[i];
    }
    return boards;
}

/* --- names of partitions -------------------------------------------------------------------------------- */

/* Returns the text between "(UUID: " and ")", with a NUL in place of ")". Returns NULL if the line has no
 * such text. */
static char *uuid_in(char *line)
{
    char *uuid = strstr(line, "(UUID: "), *end = uuid ? strchr(uuid, ')') : NULL;
    if (!end)
        return NULL;
    *end = '\0';
    return uuid + strlen("(UUID: ");
}

/* Reads the profile from a line such as "  MIG 1g.5gb      Device  1: ". */
static void parse_profile(const char *line, joule_device_partition *partition)
{
    struct text profile;
    line += strspn(line, " ");
    if (!string_starts(line, "MIG "))
        return;
    line += strlen("MIG ");
    text_init(&profile, partition->profile, sizeof partition->profile);
    text_add_bytes(&profile, line, strcspn(line, " "));
}

static struct smi_board *find_board(struct smi_board *boards, size_t count, const char *uuid)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(smi_get_text(&boards[i], SMI_UUID), uuid) == 0)
            return &boards[i];
    return NULL;
}

void smi_read_list(char *text, struct smi_board *boards, size_t count)
{
    struct smi_board *board = NULL;
    size_t number = 0;
    char *position;
    for (char *line = strtok_r(text, "\r\n", &position); line; line = strtok_r(NULL, "\r\n", &position)) {
        bool is_board = string_starts(line, "GPU ");
        char *uuid = uuid_in(line);
        if (is_board) {
            board = uuid ? find_board(boards, count, uuid) : NULL;
            number = 0;
        } else if (board && uuid && number < board->partition_count) {
            joule_device_partition *partition = &board->partitions[number++];
            string_copy(partition->uuid, sizeof partition->uuid, uuid);
            parse_profile(line, partition);
        }
    }
}
