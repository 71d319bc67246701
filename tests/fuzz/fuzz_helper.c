/* Fuzz target: joule-helper and its client, each with a peer that sends any bytes. Checks that the helper
 * accepts only valid requests, and that the client's energy is finite and never decreases.
 *
 * If the first byte is 0, the rest is requests of 16 bytes each. Else the rest is what the client receives.
 * The bits of the first byte then select rules that the peer follows. Bit 1: headers are valid except for the
 * count. Bit 2: timestamps are current. Bit 4: answers come late. Bit 8: some answers are truncated. */
#include <string.h>
#include "joule/sources/helper/helper_wire.h"
#include "machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROUNDS 12

struct faulty_helper {
    struct joule_host *host;
    const uint8_t *data;
    size_t size;
    uint8_t rules;
    unsigned requests;
    uint8_t late[HELPER_HEADER_BYTES + HELPER_MAX_CHANNELS * HELPER_CHANNEL_BYTES];
    size_t late_length;
};

static void listen_to(const uint8_t *data, size_t size)
{
    for (; size >= HELPER_REQUEST_BYTES; data += HELPER_REQUEST_BYTES, size -= HELPER_REQUEST_BYTES) {
        struct helper_request request;
        uint8_t again[HELPER_REQUEST_BYTES];
        if (!helper_read_request(data, &request))
            continue;
        helper_write_request(&request, again);
        require(memcmp(data, again, sizeof again) == 0);
    }
}

/* Copies the next `size` bytes of the input to `out`. After the end of the input, writes zeros. */
static void send_bytes(struct faulty_helper *faulty_helper, uint8_t *out, size_t size)
{
    size_t count = size < faulty_helper->size ? size : faulty_helper->size;
    memset(out, 0, size);
    memcpy(out, faulty_helper->data, count);
    faulty_helper->data += count;
    faulty_helper->size -= count;
}

static size_t make_up(struct faulty_helper *faulty_helper, const struct helper_request *request, uint8_t *out)
{
    int64_t now_ns = faulty_helper->host->ops->clock_ns(faulty_helper->host, CLOCK_MONOTONIC);
    send_bytes(faulty_helper, out, HELPER_HEADER_BYTES);
    uint32_t count = out[0] % (HELPER_MAX_CHANNELS + 1);
    if (faulty_helper->rules & 1)
        helper_write_header(
            &(struct helper_header){HELPER_VERSION, request->kind, request->sequence, count, now_ns, 0}, out);
    size_t each = request->kind == HELPER_HELLO ? HELPER_CHANNEL_BYTES : HELPER_VALUE_BYTES;
    uint8_t *entry = out + HELPER_HEADER_BYTES;
    for (uint32_t i = 0; i < count; i++, entry += each) {
        struct helper_value value;
        send_bytes(faulty_helper, entry, each);
        if ((faulty_helper->rules & 2) == 0 || request->kind != HELPER_READ)
            continue;
        helper_read_value(entry, &value);
        value.before_ns = value.after_ns = now_ns;
        value.status = JOULE_OK;
        helper_write_value(&value, entry);
    }
    return (size_t)(entry - out);
}

static ssize_t answer(void *context, const void *bytes, size_t length, void *reply, size_t size)
{
    struct faulty_helper *faulty_helper = context;
    struct helper_request request;
    if (!bytes)
        return faulty_helper->late_length = 0;
    if (length > 0) {
        require(length == HELPER_REQUEST_BYTES && helper_read_request(bytes, &request));
        faulty_helper->late_length = make_up(faulty_helper, &request, faulty_helper->late);
        faulty_helper->requests++;
        if ((faulty_helper->rules & 4) && faulty_helper->requests > 1)
            return 0;
    } else if (faulty_helper->size % 3 == 0) {
        return 0;
    }
    size_t count = faulty_helper->rules & 8 && faulty_helper->size % 5 == 1 ? faulty_helper->late_length / 2
                                                                            : faulty_helper->late_length;
    require(count <= size);
    memcpy(reply, faulty_helper->late, count);
    faulty_helper->late_length = 0;
    return (ssize_t)count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct faulty_helper faulty_helper;
    if (size == 0 || data[0] == 0) {
        listen_to(data + (size > 0), size - (size > 0));
        return 0;
    }
    struct joule_host *host = host_script_open();
    faulty_helper =
        (struct faulty_helper){.host = host, .data = data + 1, .size = size - 1, .rules = data[0]};
    host_script_service(host, "unix:" HELPER_SOCKET, answer, &faulty_helper);
    joule_meter *meter = open_machine(host, "helper");
    for (int round = 0; round < ROUNDS; round++)
        read_round(host, meter);
    require_sound_energy(meter);
    close_machine(host, meter);
    return 0;
}
