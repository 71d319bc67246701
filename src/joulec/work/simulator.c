/* joulec/work/simulator.c - see simulator.h. */
#include "joulec/work/simulator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/json.h"

#define LLVM_VERSION_WORDS "LLVM version "

/* Cores whose figures LLVM has: by the resources that llvm-mca 14 to 19 name for each CPU. For others it takes those of an older
 * relative, which core_seed.c knows better. */
static const struct {
    const char *core, *cpu, *architecture;
    unsigned since; /* LLVM's release */
} cpus[] = {
    {"sandy-bridge", "sandybridge", "x86_64", 5},
    {"haswell", "haswell", "x86_64", 5},
    {"skylake", "skylake", "x86_64", 6},
    {"skylake-server", "skylake-avx512", "x86_64", 6},
    {"sunny-cove", "icelake-server", "x86_64", 14},
    {"golden-cove", "sapphirerapids", "x86_64", 17},
    {"sunny-cove-client", "rocketlake", "x86_64", 14},
    {"golden-cove-client", "alderlake", "x86_64", 15},
    {"zen", "znver1", "x86_64", 5},
    {"zen2", "znver2", "x86_64", 10},
    {"zen3", "znver3", "x86_64", 13},
    {"zen4", "znver4", "x86_64", 16},
    {"neoverse-n1", "neoverse-n1", "aarch64", 17},
    {"neoverse-v2", "neoverse-v2", "aarch64", 16},
    {"cortex-a53", "cortex-a53", "aarch64", 5},
};

const char *simulator_cpu(const char *core, const char *triple, unsigned version)
{
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
        if (strcmp(cpus[i].core, core) == 0 && (!triple || string_starts(triple, cpus[i].architecture)) &&
            version >= cpus[i].since)
            return cpus[i].cpu;
    return NULL;
}

unsigned simulator_version(const char *words)
{
    const char *at = strstr(words, LLVM_VERSION_WORDS);
    return at ? (unsigned)strtoul(at + strlen(LLVM_VERSION_WORDS), NULL, 10) : 0;
}

void simulator_ask(const struct assembly_loop *loops, size_t count, const char *triple, struct text *out)
{
    const char *comment = string_starts(triple, "aarch64") ? "//" : "#";
    for (size_t i = 0; i < count; i++) {
        if (!loops[i].body)
            continue;
        text_printf(out, "%s LLVM-MCA-BEGIN %zu", comment, i);
        text_add_bytes(out, loops[i].body, loops[i].body_bytes);
        text_printf(out, "\n%s LLVM-MCA-END\n", comment);
    }
}

static void read_region(const struct json_value *region, struct assembly_loop *loops, size_t count)
{
    const struct json_value *summary = json_member(region, "SummaryView");
    const char *name = json_text_of(json_member(region, "Name"));
    double cycles = json_double_of(json_member(summary, "TotalCycles")),
           rounds = json_double_of(json_member(summary, "Iterations")),
           units = json_double_of(json_member(summary, "BlockRThroughput"));
    uint64_t index;
    bool is_good = name && string_to_u64(name, 10, &index) && index < count && rounds >= 1 && cycles > 0 &&
                   units >= 0 && isfinite(cycles) && isfinite(units);
    if (!is_good)
        return;
    loops[index].loop->simulated.unit_cycles = units;
    loops[index].loop->simulated.cycles = cycles / rounds;
}

/* Replaces NUL characters in strings, which json_parse refuses: units of Intel's cores are named "SBPort23.\u0000". */
static void replace_nul(char *text)
{
    for (char *at = text; (at = strstr(at, "\\u0000")) != NULL;)
        memcpy(at, "\\ufffd", strlen("\\ufffd"));
}

joule_status simulator_read(char *text, size_t size, struct assembly_loop *loops, size_t count,
                            joule_error *out_error)
{
    struct arena arena = {0};
    replace_nul(text);
    const struct json_value *all = json_parse(&arena, text, size, "llvm-mca's JSON", out_error);
    const struct json_value *regions = json_member(all, "CodeRegions");
    for (const struct json_value *r = regions ? regions->first : NULL; r; r = r->next)
        read_region(r, loops, count);
    arena_free(&arena);
    return all ? JOULE_OK : JOULE_INVALID;
}
