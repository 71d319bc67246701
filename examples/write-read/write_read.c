/* write_read.c - writes a large file of records, then reads it.
 *
 * The regions `write`, `flush` and `read` let `joule record` and `joule plot` show the energy of each phase.
 * README.md explains what is seen.
 *
 *     cc -O2 write_read.c $(pkg-config --cflags --libs joule) -o write_read && ./write_read --help
 */
#define PROGRAM "write_read"
#include "../support/support.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <joule/joule.h>
#include <string.h>

static const char USAGE[] =
    "usage: write_read [OPTION...]\n"
    "\n"
    "Writes records to a temporary file, reads them, and compares the sums of what was written and read.\n"
    "\n"
    "  -m, --size MIB         write MIB mebibytes (128)\n"
    "  -d, --directory PATH   write the file to the folder PATH ($TMPDIR or /tmp)\n"
    "  -c, --cold             read from the disk: first drop the file from the page cache\n"
    "  -p, --pause SECONDS    sleep between the phases (0)\n"
    "  -s, --seed NUMBER      write other records (1)\n"
    "      --help             print this text\n";

enum { MAX_MIB = 1 << 20, MAX_PAUSE_S = 3600, TESTED = 4096 /* Ctrl-C is tested after so many records */ };

struct record {
    uint64_t number;
    uint64_t key;
    char payload[48];
};

struct options {
    uint64_t records;
    const char *directory;
    double pause_s;
    uint64_t seed;
    bool is_cold;
};

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {{"size", 1, NULL, 'm'},
                                          {"directory", 1, NULL, 'd'},
                                          {"cold", 0, NULL, 'c'},
                                          {"pause", 1, NULL, 'p'},
                                          {"seed", 1, NULL, 's'},
                                          {"help", 0, NULL, 'h'},
                                          {0}};
    const char *temporary = getenv("TMPDIR");
    struct options options = {.directory = temporary && *temporary ? temporary : "/tmp", .seed = 1};
    long mib = 128;
    for (int option; (option = getopt_long(argc, argv, "m:d:cp:s:", known, NULL)) != -1;) {
        if (option == 'm')
            mib = parse_count("size", optarg, 1, MAX_MIB);
        else if (option == 'd')
            options.directory = optarg;
        else if (option == 'c')
            options.is_cold = true;
        else if (option == 'p')
            options.pause_s = parse_number("pause", optarg, 0, MAX_PAUSE_S);
        else if (option == 's')
            options.seed = (uint64_t)parse_count("seed", optarg, 0, 1L << 52);
        else if (option == 'h')
            exit(fputs(USAGE, stdout) < 0);
        else
            fail_usage(USAGE);
    }
    if (optind != argc)
        fail_usage(USAGE);
    options.records = ((uint64_t)mib << 20) / sizeof(struct record);
    return options;
}

/* Returns a new file without a name, so that nothing remains if the program ends early. NULL: see errno. */
static FILE *open_file(const char *directory)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/write_read.XXXXXX", directory) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return NULL;
    unlink(path);
    FILE *file = fdopen(descriptor, "w+");
    if (!file)
        close(descriptor);
    return file;
}

static uint64_t sum_record(const struct record *record)
{
    return record->number ^ record->key ^ (uint64_t)record->payload[record->key % sizeof record->payload];
}

/* Writes the records and adds to *sum. Returns whether all were written, or the user interrupted. */
static bool write_records(FILE *file, const struct options *options, uint64_t *sum)
{
    uint64_t random = options->seed;
    for (uint64_t i = 0; i < options->records; i++) {
        struct record record = {.number = i, .key = next_random(&random)};
        memset(record.payload, 'a' + (int)(record.key % 26), sizeof record.payload);
        if (fwrite(&record, sizeof record, 1, file) != 1)
            return false;
        *sum += sum_record(&record);
        if (i % TESTED == 0 && atomic_load(&is_interrupted))
            break;
    }
    return fflush(file) == 0;
}

/* Reads to the end of the file. Returns the number of records read, and adds to *sum. */
static uint64_t read_records(FILE *file, uint64_t *sum)
{
    struct record record;
    uint64_t count = 0;
    while (fread(&record, sizeof record, 1, file) == 1) {
        *sum += sum_record(&record);
        if (count++ % TESTED == 0 && atomic_load(&is_interrupted))
            break;
    }
    return count;
}

/* Prints one phase's figures. */
static void print_phase(const char *name, const joule_region *region, uint64_t bytes)
{
    double seconds = 1e-9 * (double)(region->end_ns - region->begin_ns);
    printf("%-6s %8.3f s", name, seconds);
    if (bytes)
        printf("  %8.1f MiB/s", (double)bytes / seconds / (1 << 20));
    putchar('\n');
}

static int fail(const char *what, FILE *file)
{
    fprintf(stderr, PROGRAM ": cannot %s: %s\n", what, strerror(errno));
    if (file)
        fclose(file);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct options options = parse_options(argc, argv);
    uint64_t written = 0, read = 0, bytes = options.records * sizeof(struct record);
    catch_interrupts();
    FILE *file = open_file(options.directory);
    if (!file)
        return fail("create a file (see --directory)", NULL);

    joule_region region = joule_begin(joule_tag("write"));
    bool is_written = write_records(file, &options, &written);
    joule_end(&region);
    if (!is_written)
        return fail("write the records", file);
    print_phase("write", &region, bytes);
    sleep_s(options.pause_s);

    /* Written data is at first only in memory. This waits until the disk has it. */
    region = joule_begin(joule_tag("flush"));
    bool is_flushed = fsync(fileno(file)) == 0;
    joule_end(&region);
    if (!is_flushed)
        return fail("flush the file to the disk", file);
    print_phase("flush", &region, 0);
    if (options.is_cold)
        posix_fadvise(fileno(file), 0, 0, POSIX_FADV_DONTNEED);
    sleep_s(options.pause_s);

    rewind(file);
    region = joule_begin(joule_tag("read"));
    uint64_t count = read_records(file, &read);
    joule_end(&region);
    if (ferror(file))
        return fail("read the records", file);
    print_phase("read", &region, bytes);
    fclose(file);

    bool is_right = atomic_load(&is_interrupted) || (count == options.records && written == read);
    printf("%llu records, checksum %016llx%s\n", (unsigned long long)count, (unsigned long long)read,
           is_right ? "" : ", NOT WHAT WAS WRITTEN");
    return finish(is_right ? EXIT_SUCCESS : EXIT_FAILURE);
}
