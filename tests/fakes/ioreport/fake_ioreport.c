/* fakes/ioreport/fake_ioreport.c - a fake of macOS' libIOReport and of the CoreFoundation functions that
 * libjoule needs.
 *
 * Functions have the real names and signatures. The field `faults` of fake_ioreport.h counts errors of the
 * caller: extra releases, objects of the wrong type, and arguments that Apple's own programs do not pass. */
#include "fake_ioreport.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern struct fake_ioreport fake_ioreport;
struct fake_ioreport fake_ioreport;

EXPORTED const void *IOReportCopyChannelsInGroup(const void *group, const void *subgroup, uint64_t a,
                                                 uint64_t b, uint64_t c);
EXPORTED const void *IOReportCreateSubscription(void *a, const void *desired, const void **out_subscribed,
                                                uint64_t b, const void *c);
EXPORTED const void *IOReportCreateSamples(const void *subscription, const void *channels, const void *a);
EXPORTED const void *IOReportCreateSamplesDelta(const void *before, const void *after, const void *a);
EXPORTED const void *IOReportChannelGetChannelName(const void *channel);
EXPORTED const void *IOReportChannelGetUnitLabel(const void *channel);
EXPORTED int64_t IOReportSimpleGetIntegerValue(const void *channel, int32_t a);
EXPORTED const void *CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding);
EXPORTED unsigned char CFStringGetCString(const void *string, char *buffer, long size, uint32_t encoding);
EXPORTED const void *CFDictionaryCreateMutableCopy(const void *allocator, long capacity,
                                                   const void *dictionary);
EXPORTED const void *CFDictionaryGetValue(const void *dictionary, const void *key);
EXPORTED long CFArrayGetCount(const void *array);
EXPORTED const void *CFArrayGetValueAtIndex(const void *array, long index);
EXPORTED void CFRelease(const void *pointer);

enum kind { STRING = 0x5354, DICTIONARY, SUBSCRIPTION, SAMPLE, ARRAY, CHANNEL };

struct object {
    enum kind kind;
    char text[64];                          /* for STRING */
    int64_t counts[FAKE_IOREPORT_CHANNELS]; /* for SAMPLE */
    struct object *array, *names[2];        /* results of Get functions; they live as long as their owner */
    struct object *items[FAKE_IOREPORT_CHANNELS];
    int index;
    const struct object *sample; /* for ARRAY and CHANNEL */
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

void CFRelease(const void *pointer)
{
    fake_ioreport.objects--;
    destroy((struct object *)pointer);
}

/* --- CoreFoundation ------------------------------------------------------------------------------------- */

const void *CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding)
{
    struct object *string = create(STRING);
    fake_ioreport.faults += allocator != NULL || encoding != 0x08000100u;
    strncpy(string->text, text, sizeof string->text - 1);
    return string;
}

unsigned char CFStringGetCString(const void *string, char *buffer, long size, uint32_t encoding)
{
    const struct object *object = check(string, STRING);
    fake_ioreport.faults += encoding != 0x08000100u;
    if (!object || (long)strlen(object->text) >= size)
        return 0;
    strcpy(buffer, object->text);
    return 1;
}

const void *CFDictionaryCreateMutableCopy(const void *allocator, long capacity, const void *dictionary)
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

const void *CFDictionaryGetValue(const void *dictionary, const void *key)
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

long CFArrayGetCount(const void *array)
{
    const struct object *object = check(array, ARRAY);
    long count = 0;
    while (object && count < FAKE_IOREPORT_CHANNELS && object->items[count])
        count++;
    return count;
}

const void *CFArrayGetValueAtIndex(const void *array, long index)
{
    const struct object *object = check(array, ARRAY);
    return object && index >= 0 && index < FAKE_IOREPORT_CHANNELS ? object->items[index] : NULL;
}

/* --- IOReport ------------------------------------------------------------------------------------------- */

const void *IOReportCopyChannelsInGroup(const void *group, const void *subgroup, uint64_t a, uint64_t b,
                                        uint64_t c)
{
    const struct object *name = check(group, STRING);
    fake_ioreport.faults += subgroup || a || b || c || !name || strcmp(name->text, "Energy Model") != 0;
    return fake_ioreport.has_no_group ? NULL : create(DICTIONARY);
}

const void *IOReportCreateSubscription(void *a, const void *desired, const void **out_subscribed, uint64_t b,
                                       const void *c)
{
    fake_ioreport.faults += a || b || c || !check(desired, DICTIONARY);
    *out_subscribed = create(DICTIONARY);
    return create(SUBSCRIPTION);
}

static int64_t counts_now(size_t i)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = fake_ioreport.now_ns >= 0 ? (double)fake_ioreport.now_ns * 1e-9
                                               : (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    if (fake_ioreport.is_frozen)
        seconds = 0;
    return (int64_t)(fake_ioreport.channels[i].watts * seconds / fake_ioreport.channels[i].unit_joules + 0.5);
}

const void *IOReportCreateSamples(const void *subscription, const void *channels, const void *a)
{
    fake_ioreport.faults += a || !check(subscription, SUBSCRIPTION) || !check(channels, DICTIONARY);
    if (fake_ioreport.gives_no_sample)
        return NULL;
    struct object *sample = create(SAMPLE);
    for (size_t i = 0; i < FAKE_IOREPORT_CHANNELS && fake_ioreport.channels[i].name; i++)
        sample->counts[i] = counts_now(i);
    return sample;
}

const void *IOReportCreateSamplesDelta(const void *before, const void *after, const void *a)
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

const void *IOReportChannelGetChannelName(const void *channel)
{
    const struct object *object = check(channel, CHANNEL);
    return object ? object->names[0] : NULL;
}

const void *IOReportChannelGetUnitLabel(const void *channel)
{
    const struct object *object = check(channel, CHANNEL);
    return object ? object->names[1] : NULL;
}

int64_t IOReportSimpleGetIntegerValue(const void *channel, int32_t a)
{
    const struct object *object = check(channel, CHANNEL);
    fake_ioreport.faults += a != 0;
    return object ? object->sample->counts[object->index] : 0;
}
