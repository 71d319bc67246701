/* joule/sources/amd/amd_smi_json.c - see amd_smi_json.h.
 *
 * Note: both programs compute joules as counts times 15.3 uJ, but a count is 2^-16 J. Joules in the output
 * are therefore converted back to counts. */
#include "joule/sources/amd/amd_smi_json.h"

#include <math.h>
#include <string.h>
#include "base/json.h"
#include "base/string.h"

#define PROGRAM_UNIT_J 15.3e-6
#define MAX_CARDS      256 /* including partitions */

/* --- finding the JSON ----------------------------------------------------------------------------------- */

/* Returns the length of the bracketed text at `text`, or 0 if its last bracket is missing. */
static size_t bracket_length(const char *text, size_t size)
{
    bool is_string = false;
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (is_string && c == '\\')
            i++;
        else if (c == '"')
            is_string = !is_string;
        else if (!is_string && (c == '{' || c == '['))
            depth++;
        else if (!is_string && (c == '}' || c == ']') && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* Parses the first JSON value that begins at the start of a line. Returns NULL if there is none. */
static const struct json_value *find_json(struct arena *arena, char *text, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t length = text[at] == '{' || text[at] == '[' ? bracket_length(text + at, size - at) : 0;
        const struct json_value *value =
            length ? json_parse(arena, text + at, length, "output of AMD's program", NULL) : NULL;
        if (value)
            return value;
        const char *end = memchr(text + at, '\n', size - at);
        at = end ? (size_t)(end - text) + 1 : size;
    }
    return NULL;
}

/* --- values --------------------------------------------------------------------------------------------- */

static struct amd_card unknown_card(void)
{
    return (struct amd_card){.watts = NAN,
                             .limit_watts = NAN,
                             .edge_celsius = NAN,
                             .junction_celsius = NAN,
                             .memory_celsius = NAN,
                             .busy = NAN,
                             .memory_total_bytes = UINT64_MAX,
                             .memory_used_bytes = UINT64_MAX};
}

static bool is_known(const char *text)
{
    return text && *text && !string_starts(text, "N/A");
}

static void parse_text(const struct json_value *value, char *out_text, size_t size)
{
    const char *text = json_text_of(value);
    if (is_known(text))
        string_copy(out_text, size, text + strspn(text, " \t"));
}

static void parse_share(const struct json_value *percent, double *out_share)
{
    double value = json_double_of(percent);
    if (value >= 0 && value <= 100)
        *out_share = value / 100;
}

/* Parses a PCI address such as "0000:C1:00.0". */
static void parse_place(const char *text, struct amd_card *card)
{
    uint64_t parts[3];
    for (int i = 0; i < 3; i++) {
        char digits[9] = "";
        size_t length = text ? strcspn(text, ":.") : 0;
        if (length == 0 || length >= sizeof digits || text[length] == '\0')
            return;
        memcpy(digits, text, length);
        if (!string_to_u64(digits, 16, &parts[i]))
            return;
        text += length + 1;
    }
    if (parts[1] > 0xff || parts[2] > 0x1f)
        return;
    card->domain = (unsigned)parts[0];
    card->bus = (unsigned)parts[1];
    card->slot = (unsigned)parts[2];
    card->has_place = true;
}

static bool add_card(struct arena *arena, struct amd_cards *cards, const struct amd_card *card)
{
    if (!cards->list)
        cards->list = arena_alloc(arena, MAX_CARDS * sizeof *cards->list);
    if (cards->list && cards->count < MAX_CARDS)
        cards->list[cards->count++] = *card;
    return cards->list != NULL;
}

/* --- rocm-smi ------------------------------------------------------------------------------------------- */

/* Compares names, ignoring case in the next-to-last character: releases of 2019 print "(c)" for "(C)". */
static bool is_name(const char *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return strlen(name) == length && strncmp(name, wanted, length - 2) == 0 &&
           (name[length - 2] | 0x20) == (wanted[length - 2] | 0x20) && name[length - 1] == wanted[length - 1];
}

static void parse_rocm_power(const struct json_value *value, struct amd_card *card)
{
    double watts = json_double_of(value);
    if (!(watts > 0))
        return;
    if (string_starts(value->name, "Max"))
        card->limit_watts = watts;
    else
        card->watts = watts;
}

static void parse_rocm_value(const struct json_value *value, struct amd_card *card)
{
    const char *name = value->name;
    if (string_ends(name, "Graphics Package Power (W)"))
        parse_rocm_power(value, card);
    else if (strcmp(name, "Energy counter") == 0)
        json_u64_of(value, &card->counts);
    else if (is_name(name, "Temperature (Sensor edge) (C)"))
        card->edge_celsius = json_double_of(value);
    else if (is_name(name, "Temperature (Sensor junction) (C)"))
        card->junction_celsius = json_double_of(value);
    else if (is_name(name, "Temperature (Sensor memory) (C)") ||
             is_name(name, "Temperature (Sensor mem) (C)"))
        card->memory_celsius = json_double_of(value);
    else if (strcmp(name, "GPU use (%)") == 0)
        parse_share(value, &card->busy);
    else if (strcmp(name, "VRAM Total Memory (B)") == 0)
        json_u64_of(value, &card->memory_total_bytes);
    else if (strcmp(name, "VRAM Total Used Memory (B)") == 0)
        json_u64_of(value, &card->memory_used_bytes);
    else if (strcmp(name, "PCI Bus") == 0)
        parse_place(json_text_of(value), card);
    else if (strcmp(name, "Card series") == 0 || strcmp(name, "Card Series") == 0)
        parse_text(value, card->model, sizeof card->model);
    else if (strcmp(name, "Unique ID") == 0)
        parse_text(value, card->uuid, sizeof card->uuid);
}

bool rocm_smi_parse_json(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards)
{
    *out_cards = (struct amd_cards){0};
    const struct json_value *root = find_json(arena, text, size);
    if (!root || root->kind != JSON_OBJECT)
        return true;
    for (const struct json_value *item = root->first; item; item = item->next) {
        struct amd_card card = unknown_card();
        uint64_t number;
        if (item->kind != JSON_OBJECT || !string_starts(item->name, "card") ||
            !string_to_u64(item->name + 4, 10, &number) || number >= MAX_CARDS)
            continue;
        card.number = (unsigned)number;
        for (const struct json_value *value = item->first; value; value = value->next)
            parse_rocm_value(value, &card);
        if (!add_card(arena, out_cards, &card))
            return false;
    }
    return true;
}

/* --- amd-smi -------------------------------------------------------------------------------------------- */

/* Returns the first of the named members that is a number, or NaN if none is. */
static double first_number(const struct json_value *object, const char *const *names)
{
    double number = NAN;
    for (; *names && isnan(number); names++)
        number = json_double_of(json_member(object, *names));
    return number;
}

/* Parses a size in mebibytes and converts it to bytes. */
static void parse_mebibytes(const struct json_value *value, uint64_t *out_bytes)
{
    double mebibytes = json_double_of(value);
    if (mebibytes >= 0 && mebibytes < 0x1p40)
        *out_bytes = (uint64_t)(mebibytes * 0x1p20);
}

static void parse_amd_values(const struct json_value *gpu, struct amd_card *card)
{
    static const char *const powers[] = {"socket_power", "current_power", "current_socket_power",
                                         "average_socket_power", NULL}; /* names in ROCm 6.1, 6.0, 5.7 */
    static const char *const activities[] = {"gfx_activity", "gfx_usage", NULL};
    const struct json_value *heat = json_member(gpu, "temperature"), *memory = json_member(gpu, "mem_usage");
    double watts = first_number(json_member(gpu, "power"), powers);
    double joules = json_double_of(json_member(json_member(gpu, "energy"), "total_energy_consumption"));
    double percent = first_number(json_member(gpu, "usage"), activities);
    if (watts > 0)
        card->watts = watts;
    if (joules > 0 && joules < 0x1p40)
        card->counts = (uint64_t)(joules / PROGRAM_UNIT_J + 0.5);
    if (percent >= 0 && percent <= 100)
        card->busy = percent / 100;
    card->edge_celsius = json_double_of(json_member(heat, "edge"));
    card->junction_celsius = json_double_of(json_member(heat, "hotspot"));
    card->memory_celsius = json_double_of(json_member(heat, "mem"));
    parse_mebibytes(json_member(memory, "total_vram"), &card->memory_total_bytes);
    parse_mebibytes(json_member(memory, "used_vram"), &card->memory_used_bytes);
    parse_place(json_text_of(json_member(gpu, "bdf")), card);
    parse_text(json_member(gpu, "uuid"), card->uuid, sizeof card->uuid);
}

bool amd_smi_parse_json(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards)
{
    *out_cards = (struct amd_cards){0};
    const struct json_value *list = find_json(arena, text, size);
    if (json_member(list, "gpu_data")) /* from ROCm 7 on */
        list = json_member(list, "gpu_data");
    if (!list || list->kind != JSON_ARRAY)
        return true;
    for (const struct json_value *gpu = list->first; gpu; gpu = gpu->next) {
        struct amd_card card = unknown_card();
        uint64_t number;
        if (!json_u64_of(json_member(gpu, "gpu"), &number) || number >= MAX_CARDS)
            continue;
        card.number = (unsigned)number;
        parse_amd_values(gpu, &card);
        if (!add_card(arena, out_cards, &card))
            return false;
    }
    return true;
}
