/* support/fake_ioreport.c - see fake_ioreport.h. */
#include "support/fake_ioreport.h"

#include <stdlib.h>
#include <string.h>

struct fake_ioreport fake_ioreport;

enum kind { STRING = 0x5354, DICTIONARY, SUBSCRIPTION, SAMPLE, ARRAY, CHANNEL };

struct object {
    enum kind kind;
    char text[64];                          /* STRING */
    int64_t counts[FAKE_IOREPORT_CHANNELS]; /* SAMPLE */
    struct object *array, *names[2];        /* given by Get: they live with their owner */
    struct object *items[FAKE_IOREPORT_CHANNELS];
    int index;
    const struct object *sample; /* of an array and of a channel */
};

static struct object *make(enum kind kind)
{
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        abort();
    object->kind = kind;
    return object;
}

static struct object *create(enum kind kind)
{
    fake_ioreport.objects++;
    return make(kind);
}

static const struct object *check(const void *pointer, enum kind kind)
{
    const struct object *object = pointer;
    if (object && object->kind == kind)
        return object;
    fake_ioreport.faults++;
    return NULL;
}

static void destroy(struct object *object)
{
    if (!object)
        return;
    destroy(object->array);
    for (size_t i = 0; i < 2; i++)
        destroy(object->names[i]);
    for (size_t i = 0; i < FAKE_IOREPORT_CHANNELS; i++)
        destroy(object->items[i]);
    object->kind = 0;
    free(object);
}

static void release(const void *pointer)
{
    fake_ioreport.objects--;
    destroy((struct object *)pointer);
}

/* --- CoreFoundation --------------------------------------------------------------------------------------------- */

static const void *string_create(const void *allocator, const char *text, uint32_t encoding)
{
    struct object *string = create(STRING);
    fake_ioreport.faults += allocator != NULL || encoding != 0x08000100u;
    strncpy(string->text, text, sizeof string->text - 1);
    return string;
}

static unsigned char string_text(const void *string, char *buffer, long size, uint32_t encoding)
{
    const struct object *object = check(string, STRING);
    fake_ioreport.faults += encoding != 0x08000100u;
    if (!object || (long)strlen(object->text) >= size)
        return 0;
    strcpy(buffer, object->text);
    return 1;
}

static const void *dictionary_copy(const void *allocator, long capacity, const void *dictionary)
{
    fake_ioreport.faults += allocator != NULL || capacity < 0;
    return check(dictionary, DICTIONARY) ? create(DICTIONARY) : NULL;
}

static struct object *make_text(const char *text)
{
    struct object *string = make(STRING);
    strncpy(string->text, text, sizeof string->text - 1);
    return string;
}

static const void *dictionary_value(const void *dictionary, const void *key)
{
    struct object *sample = (struct object *)check(dictionary, SAMPLE);
    const struct object *name = check(key, STRING);
    if (!sample || !name || strcmp(name->text, "IOReportChannels") != 0)
        return NULL;
    if (!sample->array) {
        sample->array = make(ARRAY);
        for (int i = 0; i < FAKE_IOREPORT_CHANNELS && fake_ioreport.channels[i].name; i++) {
            struct object *channel = sample->array->items[i] = make(CHANNEL);
            channel->index = i;
            channel->sample = sample;
            channel->names[0] = make_text(fake_ioreport.channels[i].name);
            if (fake_ioreport.channels[i].unit)
                channel->names[1] = make_text(fake_ioreport.channels[i].unit);
        }
    }
    return sample->array;
}

static long array_count(const void *array)
{
    const struct object *object = check(array, ARRAY);
    long count = 0;
    while (object && count < FAKE_IOREPORT_CHANNELS && object->items[count])
        count++;
    return count;
}

static const void *array_value(const void *array, long index)
{
    const struct object *object = check(array, ARRAY);
    return object && index >= 0 && index < FAKE_IOREPORT_CHANNELS ? object->items[index] : NULL;
}

/* --- IOReport --------------------------------------------------------------------------------------------------- */

static const void *copy_channels(const void *group, const void *subgroup, uint64_t a, uint64_t b, uint64_t c)
{
    const struct object *name = check(group, STRING);
    fake_ioreport.faults += subgroup || a || b || c || !name || strcmp(name->text, "Energy Model") != 0;
    return fake_ioreport.has_no_group ? NULL : create(DICTIONARY);
}

static const void *create_subscription(void *a, const void *desired, const void **out_subscribed, uint64_t b,
                                       const void *c)
{
    fake_ioreport.faults += a || b || c || !check(desired, DICTIONARY);
    *out_subscribed = create(DICTIONARY);
    return create(SUBSCRIPTION);
}

static int64_t counts_now(size_t i)
{
    double seconds = (double)(fake_ioreport.is_frozen ? 0 : fake_ioreport.now_ns) * 1e-9;
    return (int64_t)(fake_ioreport.channels[i].watts * seconds / fake_ioreport.channels[i].unit_joules + 0.5);
}

static const void *create_samples(const void *subscription, const void *channels, const void *a)
{
    fake_ioreport.faults += a || !check(subscription, SUBSCRIPTION) || !check(channels, DICTIONARY);
    if (fake_ioreport.gives_no_sample)
        return NULL;
    struct object *sample = create(SAMPLE);
    for (size_t i = 0; i < FAKE_IOREPORT_CHANNELS && fake_ioreport.channels[i].name; i++)
        sample->counts[i] = counts_now(i);
    return sample;
}

static const void *create_delta(const void *before, const void *after, const void *a)
{
    const struct object *first = check(before, SAMPLE), *second = check(after, SAMPLE);
    fake_ioreport.faults += a != NULL;
    if (!first || !second || fake_ioreport.gives_no_delta)
        return NULL;
    struct object *delta = create(SAMPLE);
    for (size_t i = 0; i < FAKE_IOREPORT_CHANNELS; i++)
        delta->counts[i] = fake_ioreport.falls_back ? -5 : second->counts[i] - first->counts[i];
    return delta;
}

static const void *channel_name(const void *channel)
{
    const struct object *object = check(channel, CHANNEL);
    return object ? object->names[0] : NULL;
}

static const void *channel_unit(const void *channel)
{
    const struct object *object = check(channel, CHANNEL);
    return object ? object->names[1] : NULL;
}

static int64_t integer_value(const void *channel, int32_t a)
{
    const struct object *object = check(channel, CHANNEL);
    fake_ioreport.faults += a != 0;
    return object ? object->sample->counts[object->index] : 0;
}

void fake_ioreport_put(struct joule_host *host, const char *missing)
{
    static const struct script_symbol all[] = {
        {"IOReportCopyChannelsInGroup", (void *)copy_channels},
        {"IOReportCreateSubscription", (void *)create_subscription},
        {"IOReportCreateSamples", (void *)create_samples},
        {"IOReportCreateSamplesDelta", (void *)create_delta},
        {"IOReportChannelGetChannelName", (void *)channel_name},
        {"IOReportChannelGetUnitLabel", (void *)channel_unit},
        {"IOReportSimpleGetIntegerValue", (void *)integer_value},
        {"CFStringCreateWithCString", (void *)string_create},
        {"CFStringGetCString", (void *)string_text},
        {"CFDictionaryCreateMutableCopy", (void *)dictionary_copy},
        {"CFDictionaryGetValue", (void *)dictionary_value},
        {"CFArrayGetCount", (void *)array_count},
        {"CFArrayGetValueAtIndex", (void *)array_value},
        {"CFRelease", (void *)release},
    };
    static struct script_symbol symbols[sizeof all / sizeof all[0]];
    size_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!missing || strcmp(all[i].name, missing) != 0)
            symbols[count++] = all[i];
    host_script_library(host, "/usr/lib/libIOReport.dylib", symbols, count);
}
