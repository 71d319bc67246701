/* tools/joule/samples.c - see samples.h. */
#include "samples.h"

#include <errno.h>
#include "common/output.h"

struct writer {
    int fd;
    int error; /* errno of the failed write; 0: none */
    struct text text;
    char bytes[64 * 1024];
};

/* Writes the buffered text. Returns false after the first failed write. */
static bool flush(struct writer *writer)
{
    if (!file_write_all(writer->fd, writer->bytes, writer->text.length))
        writer->error = errno;
    text_init(&writer->text, writer->bytes, sizeof writer->bytes);
    return !writer->error;
}

static bool write_sample(const struct report_sample *sample, void *context)
{
    struct writer *writer = context;
    report_sample_csv(sample, &writer->text);
    return writer->text.length + REPORT_SAMPLE_SIZE < sizeof writer->bytes || flush(writer);
}

joule_status samples_write(const struct record *record, const char *path, joule_error *out_error)
{
    struct output out;
    struct writer writer = {0};
    joule_status status = output_open(path, &out, out_error);
    if (status != JOULE_OK)
        return status;
    writer.fd = out.fd;
    text_init(&writer.text, writer.bytes, sizeof writer.bytes);
    report_samples_header(&writer.text);
    if (record_each_sample(record, write_sample, &writer))
        flush(&writer);
    return output_close(&out, writer.error, out_error);
}
