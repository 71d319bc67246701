/* Fuzz target: output of nvidia-smi. Reading must not crash. Checks that no power, energy or gauge is
 * negative, infinite or above its limit.
 *
 * The input is the program's output in pieces, each ended by a byte 0xFE: a table, a description, a list. If
 * the table's first byte is no letter or digit, it is the exit status. Each call truncates the output by a
 * few more bytes than the previous call. */
#include <string.h>
#include "joule/api/open.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS 4

static struct output {
    char *text[3];
    size_t cut;
    int status;
} output;

static void take(void *context, size_t index, char *text)
{
    (void)context;
    output.text[index] = strdup(text);
}

static ssize_t run(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                   int *out_status)
{
    (void)context, (void)time_ns;
    size_t index = strcmp(argv[1], "-L") == 0 ? 2 : strcmp(argv[1], "-q") == 0 ? 1 : 0;
    const char *text = output.text[index] ? output.text[index] : "";
    size_t length = strlen(text);
    length -= output.cut < length ? output.cut : 0;
    output.cut += 3;
    *out_status = output.status;
    if (length >= size)
        return (ssize_t)length;
    memcpy(buffer, text, length);
    return (ssize_t)length;
}

/* Calls the parsers directly, with the text in an allocation of exact size. */
static void read_alone(void)
{
    struct smi_board *boards = calloc(4, sizeof *boards);
    struct smi_query query = smi_query_all();
    require(boards != NULL);
    for (size_t form = 0; form < 2; form++) {
        char *text = output.text[form] ? strdup(output.text[form]) : NULL;
        char *list = output.text[2] ? strdup(output.text[2]) : NULL;
        size_t count = !text  ? 0
                       : form ? smi_read_description(text, boards, 4)
                              : smi_read_table(text, &query, boards, 4);
        require(count <= 4);
        if (list)
            smi_read_list(list, boards, count);
        for (size_t i = 0; i < count; i++) {
            struct device_facts facts = device_facts_unknown();
            smi_set_facts(&boards[i], &facts);
            smi_set_users(&boards[i], &facts);
            require(facts.process_count <= DEVICE_MAX_PROCESSES &&
                    facts.partition_count <= DEVICE_MAX_PARTITIONS);
        }
        while (output.text[0] && smi_query_reduce(&query, output.text[0]))
            ;
        free(text);
        free(list);
    }
    free(boards);
}

static void check_gauges(joule_meter *meter)
{
    for (size_t i = 0; i < joule_domain_count(meter); i++) {
        double value;
        if (joule_gauge(meter, (int32_t)i, &value) == JOULE_OK)
            require(isfinite(value) && fabs(value) <= 1e5);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    output = (struct output){.status = size && data[0] < '0' ? data[0] : 0};
    each_piece(data, size, 3, take, NULL);
    read_alone();
    struct joule_host *host = host_script_open();
    require(host && host_script_program(host, "nvidia-smi", run, NULL));
    joule_options options = {
        .struct_size = sizeof options, .sources = "nvidia_smi", .flags = JOULE_OPEN_DEVICES};
    joule_meter *meter;
    require(meter_open_on(host, false, &options, &meter, NULL) == JOULE_OK);
    for (int i = 0; i < ROUNDS; i++) {
        read_round(host, meter);
        check_gauges(meter);
    }
    require_sound_energy(meter);
    for (size_t i = 0; i < joule_device_count(meter); i++) {
        joule_device device = {.struct_size = sizeof device};
        require(joule_device_get(meter, i, &device) == JOULE_OK);
    }
    close_machine(host, meter);
    for (size_t i = 0; i < 3; i++)
        free(output.text[i]);
    return 0;
}
