/* joule/sources/visible.c - see visible.h.
 *
 * Note: each runtime uses only the entries before the first invalid entry. If the first entry is invalid, the
 * runtime uses no board. */
#include "joule/sources/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/string.h"
#include "joule/sources/amd/kfd.h"

#define LIST_BYTES 4096

/* The boards of one vendor in PCI bus order, and the indices that the list selects, in the list's order. */
struct choice {
    struct visible_board *boards[MAX_VISIBLE_BOARDS];
    size_t count;
    size_t chosen[MAX_VISIBLE_BOARDS];
    size_t chosen_count;
    bool is_uncertain; /* an entry may mean any board */
};

/* Applies one entry of the list to the choice, as the vendor's runtime would. Returns false if the runtime
 * ignores the rest of the list. */
typedef bool (*entry_rule)(struct choice *choice, const char *entry);

static int by_address(const void *a, const void *b)
{
    const struct visible_board *const *left = a, *const *right = b;
    return strcmp((*left)->pci_address, (*right)->pci_address);
}

static struct choice choice_of(struct visible_board *boards, size_t count, const char *vendor)
{
    struct choice choice = {0};
    for (size_t i = 0; i < count && choice.count < MAX_VISIBLE_BOARDS; i++)
        if (strcmp(boards[i].vendor, vendor) == 0)
            choice.boards[choice.count++] = &boards[i];
    qsort(choice.boards, choice.count, sizeof choice.boards[0], by_address);
    return choice;
}

static bool is_chosen(const struct choice *choice, size_t board)
{
    for (size_t i = 0; i < choice->chosen_count; i++)
        if (choice->chosen[i] == board)
            return true;
    return false;
}

static void choose(struct choice *choice, size_t board)
{
    if (!is_chosen(choice, board))
        choice->chosen[choice->chosen_count++] = board;
}

static void choose_all(struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        choose(choice, i);
}

static bool are_same_model(const struct choice *choice)
{
    for (size_t i = 1; i < choice->count; i++)
        if (strcmp(choice->boards[i]->model, choice->boards[0]->model) != 0)
            return false;
    return true;
}

static void read_list(struct choice *choice, const char *list, entry_rule rule)
{
    char copy[LIST_BYTES], *rest = copy;
    if (!string_copy(copy, sizeof copy, list)) {
        choice->is_uncertain = true;
        return;
    }
    for (char *entry; (entry = strsep(&rest, ",")) != NULL;)
        if (choice->is_uncertain || !rule(choice, string_trim(entry)))
            break;
}

/* Marks the boards that the list does not select as hidden by `variable`. A list with an uncertain entry
 * hides nothing. */
static void hide_others(struct choice *choice, const char *variable)
{
    for (size_t i = 0; i < choice->count && !choice->is_uncertain; i++)
        if (!is_chosen(choice, i) && !choice->boards[i]->hidden_by)
            choice->boards[i]->hidden_by = variable;
}

/* --- entries -------------------------------------------------------------------------------------------- */

static bool choose_number(struct choice *choice, const char *entry, int base)
{
    int64_t number;
    if (!string_to_i64(entry, base, &number) || number < 0 || (uint64_t)number >= choice->count)
        return false;
    choose(choice, (size_t)number);
    return true;
}

/* Selects the board whose uuid begins with prefix[0..length), ignoring case. Returns false if no uuid or
 * several uuids do. If the uuid of a board is unknown, sets is_uncertain and returns true. */
static bool choose_id(struct choice *choice, const char *prefix, size_t length)
{
    size_t found = 0, board = 0;
    for (size_t i = 0; i < choice->count; i++) {
        const char *uuid = choice->boards[i]->uuid;
        choice->is_uncertain |= !*uuid;
        if (strncasecmp(uuid, prefix, length) == 0) {
            found++;
            board = i;
        }
    }
    if (found != 1 || choice->is_uncertain)
        return choice->is_uncertain;
    choose(choice, board);
    return true;
}

/* Applies an entry of CUDA_VISIBLE_DEVICES: a number, "GPU-" and the beginning of a uuid, or
 * "MIG-GPU-uuid/1/0" of older drivers. "MIG-uuid" does not identify a board. */
static bool cuda_entry(struct choice *choice, const char *entry)
{
    if (string_starts(entry, "GPU-"))
        return choose_id(choice, entry, strlen(entry));
    if (string_starts(entry, "MIG-GPU-"))
        return choose_id(choice, entry + strlen("MIG-"), strcspn(entry + strlen("MIG-"), "/"));
    if (string_starts(entry, "MIG-")) {
        choice->is_uncertain = true;
        return false;
    }
    return choose_number(choice, entry, 10);
}

/* Like cuda_entry, but a number may mean any board, because CUDA by default numbers the fastest board
 * first. */
static bool cuda_entry_of_unknown_order(struct choice *choice, const char *entry)
{
    int64_t number;
    if (string_to_i64(entry, 10, &number) && number >= 0 && (uint64_t)number < choice->count) {
        choice->is_uncertain = true;
        return false;
    }
    return cuda_entry(choice, entry);
}

/* Applies an entry of ROCr: a number, or "GPU-" and the beginning of a 16-digit id. A board that appears
 * twice ends the list. */
static bool rocr_entry(struct choice *choice, const char *entry)
{
    size_t before = choice->chosen_count, length = strlen(entry);
    bool is_valid = string_starts(entry, "GPU-")
                        ? length >= 5 && length <= 20 && choose_id(choice, entry, length)
                        : choose_number(choice, entry, 0);
    return is_valid && choice->chosen_count > before;
}

static bool hip_entry(struct choice *choice, const char *entry)
{
    return choose_number(choice, entry, 10);
}

/* Applies an entry of Level Zero: "1" for board 1, or "1.0" for one of its tiles. A number that is not below
 * the number of boards may count tiles, so the list is uncertain. */
static bool ze_entry(struct choice *choice, const char *entry)
{
    char number[16] = "";
    size_t length = strcspn(entry, ".");
    if (length < sizeof number)
        memcpy(number, entry, length);
    choice->is_uncertain |= !choose_number(choice, number, 10);
    return !choice->is_uncertain;
}

/* --- boards that this process can open ------------------------------------------------------------------ */

/* Returns true if this process can read one node of AMD's compute driver (KFD) for each board on the bus. If
 * it reads fewer nodes, as in a container, numbers in a list have another meaning: they count only the boards
 * that a program may open. */
static bool has_all_of_amd(struct joule_host *host, const struct choice *choice)
{
    struct kfd kfd = {0};
    kfd_read_nodes(&kfd, host);
    return kfd.node_count == choice->count;
}

/* Returns true if this process may open the board's device file. Note: opening the file wakes a suspended
 * board. */
static bool may_open(struct joule_host *host, const char *pci_address)
{
    struct arena arena = {0};
    char **names, path[96];
    bool may = false;
    string_print(path, sizeof path, "/sys/bus/pci/devices/%s/drm", pci_address);
    ssize_t count = host->ops->list(host, path, &arena, &names);
    for (ssize_t i = 0; i < count && !may; i++) {
        if (!string_starts(names[i], "renderD"))
            continue;
        string_print(path, sizeof path, "/dev/dri/%s", names[i]);
        int handle = host->ops->open_file(host, path);
        may = handle >= 0;
        host_close_handle(host, handle);
    }
    arena_free(&arena);
    return may;
}

static bool may_open_all(struct joule_host *host, const struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        if (!may_open(host, choice->boards[i]->pci_address))
            return false;
    return true;
}

/* --- vendors -------------------------------------------------------------------------------------------- */

static bool env_is(struct joule_host *host, const char *variable, const char *value)
{
    const char *text = host->ops->env(host, variable);
    return text && strcmp(text, value) == 0;
}

static void mark_nvidia(struct joule_host *host, struct choice *choice)
{
    const char *list = host->ops->env(host, "CUDA_VISIBLE_DEVICES");
    if (!list)
        return;
    bool is_ordered = are_same_model(choice) || env_is(host, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    read_list(choice, list, is_ordered ? cuda_entry : cuda_entry_of_unknown_order);
    hide_others(choice, "CUDA_VISIBLE_DEVICES");
}

/* Removes the boards that are not selected. HIP's list numbers the remaining boards from 0. */
static void narrow(struct choice *choice)
{
    struct visible_board *selected[MAX_VISIBLE_BOARDS];
    for (size_t i = 0; i < choice->chosen_count; i++)
        selected[i] = choice->boards[choice->chosen[i]];
    memcpy(choice->boards, selected, choice->chosen_count * sizeof selected[0]);
    choice->count = choice->chosen_count;
    choice->chosen_count = 0;
}

/* Returns the first variable in HIP's order that is set, or NULL. CUDA_VISIBLE_DEVICES is skipped if there
 * are NVIDIA boards. */
static const char *hip_variable(struct joule_host *host, bool has_nvidia)
{
    static const char *const names[] = {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (host->ops->env(host, names[i]) && !(has_nvidia && strcmp(names[i], "CUDA_VISIBLE_DEVICES") == 0))
            return names[i];
    return NULL;
}

static void mark_amd(struct joule_host *host, struct choice *choice, bool has_nvidia)
{
    const char *variable = hip_variable(host, has_nvidia),
               *rocr = host->ops->env(host, "ROCR_VISIBLE_DEVICES");
    if ((!rocr && !variable) || choice->count == 0 || !has_all_of_amd(host, choice))
        return;
    if (rocr)
        read_list(choice, rocr, rocr_entry);
    else
        choose_all(choice);
    hide_others(choice, "ROCR_VISIBLE_DEVICES");
    if (!variable || choice->is_uncertain)
        return;
    narrow(choice);
    read_list(choice, host->ops->env(host, variable), hip_entry);
    hide_others(choice, variable);
}

/* Returns true if Level Zero shows each tile of a board as a device. It does so for "Max" boards, unless
 * ZE_FLAT_DEVICE_HIERARCHY is COMPOSITE. */
static bool counts_tiles(struct joule_host *host, const struct choice *choice)
{
    for (size_t i = 0; i < choice->count; i++)
        if (strstr(choice->boards[i]->model, "Max"))
            return !env_is(host, "ZE_FLAT_DEVICE_HIERARCHY", "COMPOSITE");
    return false;
}

static void mark_intel(struct joule_host *host, struct choice *choice)
{
    const char *list = host->ops->env(host, "ZE_AFFINITY_MASK");
    bool is_ordered = are_same_model(choice) || env_is(host, "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "1");
    if (!list || !*list || !is_ordered || counts_tiles(host, choice) || !may_open_all(host, choice))
        return;
    read_list(choice, list, ze_entry);
    hide_others(choice, "ZE_AFFINITY_MASK");
}

void visible_mark(struct joule_host *host, struct visible_board *boards, size_t count)
{
    struct choice nvidia = choice_of(boards, count, "nvidia"), amd = choice_of(boards, count, "amd"),
                  intel = choice_of(boards, count, "intel");
    for (size_t i = 0; i < count; i++)
        boards[i].hidden_by = NULL;
    mark_nvidia(host, &nvidia);
    mark_amd(host, &amd, nvidia.count > 0);
    mark_intel(host, &intel);
}
