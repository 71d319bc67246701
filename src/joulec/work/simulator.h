/* joulec/work/simulator.h - llvm-mca's words: what it is asked of loops, and what it says of them.
 *
 * Owns which of LLVM's CPUs is which core, the text that llvm-mca reads, and the figures that it prints. Who runs it is
 * joulec-check. Newcomers: it simulates the front and the units of a core, with all data in the first cache, every branch foreseen,
 * and nothing of what one store leaves for a later load. What it lacks is added by who asks (wide.c).
 */
#ifndef JOULEC_SIMULATOR_H
#define JOULEC_SIMULATOR_H

#include "base/string.h"
#include "joulec/work/assembly.h"

/* LLVM's name of a core (cost_core.id) which its release `version` has a model of; NULL: it has none, or code for `triple` does not
 * run on it. triple NULL: any does. */
const char *simulator_cpu(const char *core, const char *triple, unsigned version);
/* The first number of "LLVM version 14.0.6"; 0: there is none. */
unsigned simulator_version(const char *words);

/* Adds what llvm-mca reads: a region for each loop whose body was found, named by its place in `loops`. */
void simulator_ask(const struct assembly_loop *loops, size_t count, const char *triple, struct text *out);
/* Takes what it says of them, as JSON in text[0..size), which is changed. INVALID: it is none; what of it makes no sense is
 * passed over. */
joule_status simulator_read(char *text, size_t size, struct assembly_loop *loops, size_t count,
                            joule_error *out_error);

#endif
