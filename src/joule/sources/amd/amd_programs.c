/* joule/sources/amd/amd_programs.c - the sources "amd_smi_program" and "rocm_smi_program": AMD's boards, read
 * with the programs amd-smi and rocm-smi.
 *
 * amd_smi_json.c parses the programs' output; amd_boards.c reports the values of each board. JOULE_AMD_SMI
 * and JOULE_ROCM_SMI name programs to run instead.
 * Note: a run starts Python and AMD's library, which takes half a second of CPU time. Programs are therefore
 * run rarely, and only if no library of AMD's can be loaded, or if the source is requested by name. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/string.h"
#include "joule/sources/amd/amd_boards.h"
#include "joule/sources/amd/amd_smi_json.h"

#define PERIOD_S     5.0
#define DEADLINE_NS  INT64_C(10000000000) /* the first run after boot takes seconds */
#define OUTPUT_BYTES (256u << 10)

typedef bool (*parse_fn)(struct arena *arena, char *text, size_t size, struct amd_cards *out_cards);

/* A program, its argument lists with the most complete first, and the parser of its output. */
struct program {
    const char *name, *rocm_path; /* rocm_path: used if PATH does not contain `name` */
    const char *const *arguments[2];
    parse_fn parse;
    const char *const *address_arguments; /* for a run that prints PCI addresses; NULL: `arguments` */
};

struct programs {
    const struct program *program;
    const char *path;
    const char *const *arguments; /* list of arguments that the program supports */
    struct amd_boards *boards;
    struct amd_cards cards; /* cards of the last run */
    struct arena run_arena; /* owns the cards */
    joule_status state;     /* status of the last run */
    char *output;
};

/* --- running -------------------------------------------------------------------------------------------- */

#define MAX_ARGUMENTS 16

static joule_status run(struct joule_host *host, struct programs *programs, const char *const *arguments)
{
    const char *argv[MAX_ARGUMENTS + 1] = {programs->path};
    int status = -1;
    for (size_t i = 0; arguments[i] && i + 1 < MAX_ARGUMENTS; i++)
        argv[i + 1] = arguments[i];
    arena_free(&programs->run_arena);
    programs->cards = (struct amd_cards){0};
    ssize_t length = host->ops->run(host, argv, DEADLINE_NS, programs->output, OUTPUT_BYTES, &status);
    if (length == -ENOENT)
        return JOULE_ABSENT;
    if (length < 0)
        return length == -EACCES || length == -EPERM ? JOULE_DENIED : JOULE_FAILED;
    if (!programs->program->parse(&programs->run_arena, programs->output, (size_t)length, &programs->cards))
        return JOULE_NO_MEMORY;
    return programs->cards.count ? JOULE_OK : JOULE_FAILED; /* the exit status is 0 even after an error */
}

static const struct amd_card *card_of(const struct programs *programs, amd_device number)
{
    for (size_t i = 0; i < programs->cards.count; i++)
        if (programs->cards.list[i].number == number)
            return &programs->cards.list[i];
    return NULL;
}

/* --- results of the last run ---------------------------------------------------------------------------- */

static joule_status get_card(void *context, amd_device device, const struct amd_card **out_card)
{
    const struct programs *programs = context;
    *out_card = card_of(programs, device);
    return programs->state != JOULE_OK ? programs->state : *out_card ? JOULE_OK : JOULE_FAILED;
}

static joule_status energy(void *context, amd_device device, uint64_t *out_counts)
{
    const struct amd_card *card;
    joule_status status = get_card(context, device, &card);
    *out_counts = status == JOULE_OK ? card->counts : 0;
    return status == JOULE_OK && card->counts == 0 ? JOULE_UNSUPPORTED : status;
}

static joule_status check_known(joule_status status, double value, double *out_value)
{
    *out_value = value;
    return status == JOULE_OK && isnan(value) ? JOULE_UNSUPPORTED : status;
}

static joule_status power(void *context, amd_device device, double *out_watts)
{
    const struct amd_card *card;
    joule_status status = get_card(context, device, &card);
    return check_known(status, status == JOULE_OK ? card->watts : NAN, out_watts);
}

static joule_status celsius(void *context, amd_device device, enum amd_place place, double *out_celsius)
{
    const struct amd_card *card;
    joule_status status = get_card(context, device, &card);
    if (status != JOULE_OK)
        return status;
    return check_known(status,
                       place == AMD_EDGE       ? card->edge_celsius
                       : place == AMD_JUNCTION ? card->junction_celsius
                                               : card->memory_celsius,
                       out_celsius);
}

static joule_status busy(void *context, amd_device device, double *out_share)
{
    const struct amd_card *card;
    joule_status status = get_card(context, device, &card);
    return check_known(status, status == JOULE_OK ? card->busy : NAN, out_share);
}

static void set_identity(void *context, amd_device handle, struct device *device)
{
    const struct amd_card *card = card_of(context, handle);
    if (!card)
        return;
    string_copy(device->model, sizeof device->model, card->model);
    if (string_starts(card->uuid, "0x")) /* the kernel's file unique_id has no prefix */
        string_print(device->uuid, sizeof device->uuid, "GPU-%s", card->uuid + 2);
    else
        string_copy(device->uuid, sizeof device->uuid, card->uuid);
}

static joule_status facts(void *context, amd_device device, struct device_facts *facts)
{
    const struct amd_card *card;
    joule_status status = get_card(context, device, &card);
    if (status != JOULE_OK)
        return status;
    facts->memory_total_bytes = card->memory_total_bytes;
    facts->memory_used_bytes = card->memory_used_bytes;
    facts->limit_watts = card->limit_watts;
    return JOULE_OK;
}

#define SHARED_FUNCTIONS                                                                                     \
    .period_s = PERIOD_S, .energy = energy, .power = power, .celsius = celsius, .busy = busy,                \
    .set_identity = set_identity, .facts = facts

static const struct amd_interface amd_smi_interface = {
    .name = "amd-smi", .rank = RANK_DRIVER + 3, SHARED_FUNCTIONS};
static const struct amd_interface rocm_smi_interface = {
    .name = "rocm-smi", .rank = RANK_DRIVER + 4, SHARED_FUNCTIONS};

/* --- the programs --------------------------------------------------------------------------------------- */

static const char *const amd_arguments[] = {"metric",  "--power",     "--energy", "--temperature",
                                            "--usage", "--mem-usage", "--json",   NULL};
static const char *const amd_fewer_arguments[] = {"metric", "--power", "--energy", "--json", NULL};
static const char *const amd_address_arguments[] = {"list", "--json", NULL};
static const struct program amd_smi = {
    .name = "amd-smi",
    .rocm_path = "/opt/rocm/bin/amd-smi",
    .arguments = {amd_arguments, amd_fewer_arguments},
    .parse = amd_smi_parse_json,
    .address_arguments = amd_address_arguments,
};

static const char *const rocm_arguments[] = {
    "--showbus", "--showpower",    "--showenergycounter", "--showtemp",     "--showuse", "--showmeminfo",
    "vram",      "--showmaxpower", "--showproductname",   "--showuniqueid", "--json",    NULL};
static const char *const rocm_fewer_arguments[] = {"--showbus", "--showpower", "--showtemp",
                                                   "--showuse", "--json",      NULL};
static const struct program rocm_smi = {
    .name = "rocm-smi",
    .rocm_path = "/opt/rocm/bin/rocm-smi",
    .arguments = {rocm_arguments, rocm_fewer_arguments},
    .parse = rocm_smi_parse_json,
};

/* --- opening -------------------------------------------------------------------------------------------- */

/* Runs the program with each list of arguments until a run succeeds. Returns the status of the last run. */
static joule_status try_arguments(struct joule_host *host, struct programs *programs)
{
    joule_status status = JOULE_ABSENT;
    for (int i = 0; i < 2 && status != JOULE_OK; i++) {
        programs->arguments = programs->program->arguments[i];
        status = run(host, programs, programs->arguments);
        if (status == JOULE_ABSENT)
            return status;
    }
    return status;
}

static joule_status try_paths(struct joule_host *host, struct programs *programs, const char *own)
{
    const char *const paths[] = {own && *own ? own : programs->program->name,
                                 own && *own ? NULL : programs->program->rocm_path};
    joule_status status = JOULE_ABSENT;
    for (int i = 0; i < 2 && paths[i] && status == JOULE_ABSENT; i++) {
        programs->path = paths[i];
        status = try_arguments(host, programs);
    }
    return status;
}

/* Runs the program with address_arguments and writes its cards, with PCI addresses, to *out_places. *arena
 * owns these cards. programs->cards stays unchanged. */
static void find_addresses(struct joule_host *host, struct programs *programs, struct amd_cards *out_places,
                           struct arena *arena)
{
    struct amd_cards cards = programs->cards;
    struct arena cards_arena = programs->run_arena;
    programs->run_arena = (struct arena){0};
    run(host, programs, programs->program->address_arguments);
    *out_places = programs->cards;
    *arena = programs->run_arena;
    programs->cards = cards;
    programs->run_arena = cards_arena;
}

static void add_boards(struct joule_host *host, struct programs *programs)
{
    struct amd_cards places = programs->cards;
    struct arena arena = {0};
    if (programs->program->address_arguments)
        find_addresses(host, programs, &places, &arena);
    for (size_t i = 0; i < places.count; i++) {
        const struct amd_card *card = &places.list[i];
        if (card->has_place)
            amd_boards_add(programs->boards, card->domain, card->bus, card->slot, card->number);
    }
    arena_free(&arena);
}

static void programs_close(struct source *source)
{
    const struct amd_boards *boards = source->data;
    struct programs *programs = boards->context;
    arena_free(&programs->run_arena);
    free(programs->output);
}

static joule_status set_failure(struct source *source, const struct programs *programs, joule_status status)
{
    const char *name = programs->program->name;
    if (status == JOULE_ABSENT)
        return source_set_state(source, status, "%s not found: it is part of ROCm", name);
    return source_set_state(source, status, "%s lists no board: run `%s` to see why", name, name);
}

static joule_status open_program(struct source *source, const struct program *program,
                                 const struct amd_interface *interface)
{
    const char *own = source->host->ops->env(source->host, source->ops->variable);
    if (!amd_boards_are_needed(source, own))
        return source->state;
    if (!source->is_named && amd_has_library(source->host))
        return source_set_state(source, JOULE_ABSENT,
                                "not needed: AMD's library reports the same values as %s", program->name);
    struct programs *programs = arena_alloc(&source->arena, sizeof *programs);
    if (!programs || !(programs->boards = amd_boards_create(source, interface, programs)) ||
        !(programs->output = malloc(OUTPUT_BYTES)))
        return source_set_state(source, JOULE_NO_MEMORY, "out of memory");
    programs->program = program;
    joule_status status = programs->state = try_paths(source->host, programs, own);
    if (status == JOULE_OK) {
        add_boards(source->host, programs);
        status = amd_boards_set_state(programs->boards);
    } else {
        set_failure(source, programs, status);
    }
    if (status != JOULE_OK)
        programs_close(source);
    return status;
}

/* --- the sources ---------------------------------------------------------------------------------------- */

static void programs_read(struct source *source, struct sink *sink)
{
    const struct amd_boards *boards = source->data;
    struct programs *programs = boards->context;
    programs->state = run(source->host, programs, programs->arguments);
    amd_boards_read(source, sink);
}

static joule_status amd_smi_open(struct source *source)
{
    return open_program(source, &amd_smi, &amd_smi_interface);
}

static joule_status rocm_smi_open(struct source *source)
{
    return open_program(source, &rocm_smi, &rocm_smi_interface);
}

const struct source_ops source_amd_smi_program = {
    .name = "amd_smi_program",
    .measurement = "amd_smi",
    .tier = 3,
    .is_slow = true,
    .folder = AMD_DRIVER,
    .variable = "JOULE_AMD_SMI",
    .period_s = PERIOD_S,
    .open = amd_smi_open,
    .read = programs_read,
    .query = amd_boards_query,
    .close = programs_close,
};

const struct source_ops source_rocm_smi_program = {
    .name = "rocm_smi_program",
    .measurement = "rocm_smi",
    .tier = 3,
    .is_slow = true,
    .folder = AMD_DRIVER,
    .variable = "JOULE_ROCM_SMI",
    .period_s = PERIOD_S,
    .open = rocm_smi_open,
    .read = programs_read,
    .query = amd_boards_query,
    .close = programs_close,
};
