/* forge/program.h - from a graph to something that runs.
 *
 * Owns devices, compilation, programs, and instances that run them on state.
 * Newcomers: a program is a value, too: it can be written to a file and run by another process, with the same bits. What
 * it works on, its arena and its state, belongs to an instance.
 */
#ifndef FORGE_PROGRAM_H
#define FORGE_PROGRAM_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- devices ------------------------------------------------------------------------------------------------ */

typedef struct forge_device forge_device; /* any thread: it does one thing at a time */

/* A device by name: "cpu", "estimated". ABSENT names those there are. The device is the caller's, and must outlive what was
 * made for it.
 * The CPU's kernels are those of the best instruction set that the processor has, or of the one that FORGE_ISA names:
 * plain, avx2, avx512. INVALID: none of these; ABSENT: the processor does not have it.
 * "estimated" runs nothing. Programs for it are those for the CPU; a run moves its own clock on by what the launches are
 * expected to take (the larger of FLOP over a rate and bytes over a bandwidth, and an overhead), and energy is
 * expected likewise. Nothing has a value there: forge_instance_get, forge_states_get and what reads or writes states say
 * UNSUPPORTED. It describes this machine's CPU, or what FORGE_MACHINE in the environment gives of it or of another:
 * "flop_per_s=6e13,bytes_per_s=3e12,launch_seconds=4e-6,idle_watts=90,busy_watts=300,flop_joules=5e-13,byte_joules=6e-11".
 * Figures that are not given stay this CPU's; that there are slow kernels on this CPU, of the reference, is forgotten then
 * unless plain_per_s is given, too. INVALID: that cannot be read. */
FORGE_API joule_status forge_device_open(const char *name, forge_device **out_device, joule_error *out_error);
/* NULL is allowed. */
FORGE_API void forge_device_close(forge_device *device);
FORGE_API const char *forge_device_name(const forge_device *device);
/* How many threads a CPU works with; 0: those it is allowed to. Results do not depend on it. INVALID: more than
 * 1024. */
FORGE_API joule_status forge_device_set_threads(forge_device *device, unsigned threads,
                                                joule_error *out_error);

/* The name of backend i of those that this library was built with; NULL: there is none. Any thread. */
FORGE_API const char *forge_device_name_at(size_t i);

/* Its layout is final. */
typedef struct forge_instruction_set {
    const char *name; /* "avx2", static storage; NULL: the list ends here */
    bool is_here;     /* the processor has it */
    bool is_used;     /* by this device */
} forge_instruction_set;
#define FORGE_MAX_INSTRUCTION_SETS 8

/* A figure that a device's estimates come from, and where it comes from itself. Its layout is final. */
typedef struct forge_device_figure {
    const char *name; /* "bytes_per_s", static storage; NULL: the list ends here */
    const char *unit; /* "B/s", static storage */
    joule_quantity value;
    char source[128];
} forge_device_figure;
#define FORGE_MAX_DEVICE_FIGURES 12

typedef struct forge_device_facts {
    uint32_t struct_size;  /* sizeof(forge_device_facts) */
    uint32_t threads;      /* that it works with */
    uint64_t memory_bytes; /* of the machine or board that its buffers lie in, used or not; 0: unknown */
    forge_instruction_set instruction_sets[FORGE_MAX_INSTRUCTION_SETS + 1]; /* its kernels are compiled for */
    forge_device_figure figures[FORGE_MAX_DEVICE_FIGURES + 1];
    bool only_estimates; /* it runs nothing */
} forge_device_facts;
/* INVALID: no room. Any thread. */
FORGE_API joule_status forge_device_look(forge_device *device, forge_device_facts *out_facts);

/* What instances and states have taken of a device's memory, in whole blocks. */
typedef struct forge_memory_facts {
    uint32_t struct_size; /* sizeof(forge_memory_facts) */
    uint32_t reserved;
    uint64_t used_bytes;
    uint64_t held_bytes;  /* given back, and kept for the next who wants as much */
    uint64_t peak_bytes;  /* the most that was in use at once, since the device was opened or trimmed */
    uint64_t limit_bytes; /* 0: none */
} forge_memory_facts;
/* INVALID: no room. Any thread. */
FORGE_API joule_status forge_device_memory(forge_device *device, forge_memory_facts *out_facts);
/* Gives to the system what nobody uses, and begins the peak anew. Any thread. */
FORGE_API void forge_device_trim(forge_device *device);
/* No more than so many bytes shall be in use from now on; 0: as many as the system gives. Who wants more gets NO_MEMORY with a
 * message that names what it was for and who has most. Any thread. */
FORGE_API void forge_device_limit_memory(forge_device *device, uint64_t limit_bytes);

/* --- programs ----------------------------------------------------------------------------------------------- */

typedef struct forge_program forge_program; /* immutable: any thread */

/* Makes a program for a device. Where sizes are symbols, one program is for all that they can be: its memory is planned for
 * the largest, and an instance takes the sizes of its inputs (forge_graph_bind makes a graph for given sizes). The program is
 * the caller's. FAILED: a write that was to be in place cannot be, and the message names the reader in the way. INVALID: a
 * slot has a size that is a symbol, or something may become too large. */
FORGE_API joule_status forge_compile(const forge_graph *graph, forge_device *device,
                                     forge_program **out_program, joule_error *out_error);
FORGE_API void forge_program_free(forge_program *program);

/* Writes a file that another process can read and run, with the same bits. It is there whole or not at all: a file that was
 * there before stays until the new one is safe on the disk; a symbolic link stays, and the file behind it is written. DENIED
 * or FAILED: the path cannot be written, or is no file. PENDING: another writer is at work on this path. */
FORGE_API joule_status forge_program_write(const forge_program *program, const char *path,
                                           joule_error *out_error);
/* Reads a program and checks all of it: no file can make an instance read or write outside its own memory.
 * The caller owns the program. INVALID: the file is not a program, or damaged. UNSUPPORTED: a program of
 * another version, or not a regular file. */
FORGE_API joule_status forge_program_read(const char *path, forge_program **out_program,
                                          joule_error *out_error);
/* A page for a person: buffers, the arena as planned and as it must at least be, and each launch with kernel, shapes, work,
 * scope and phase. The text is the caller's: free. */
FORGE_API joule_status forge_program_print(const forge_program *program, char **out_text,
                                           joule_error *out_error);

typedef struct forge_program_facts {
    uint32_t struct_size; /* sizeof(forge_program_facts) */
    uint32_t reserved;
    size_t launches;
    size_t arena_bytes; /* planned */
    /* alive at once at the worst moment: the least that this order of launches can do with */
    size_t arena_bound_bytes;
    size_t state_bytes;
    size_t constant_bytes;
    double flop;    /* of one run, at the largest sizes */
    size_t symbols; /* sizes that an instance can change */
} forge_program_facts;
/* INVALID: no room. */
FORGE_API joule_status forge_program_look(const forge_program *program, forge_program_facts *out_facts);

/* A size that an instance can change: min to max, a multiple of `multiple`. */
typedef struct forge_symbol_facts {
    uint32_t struct_size; /* sizeof(forge_symbol_facts) */
    uint32_t reserved;
    const char *name; /* lives as long as the program */
    int64_t min, max, multiple;
} forge_symbol_facts;
/* INVALID: there is no symbol i, or no room. */
FORGE_API joule_status forge_program_symbol(const forge_program *program, size_t i,
                                            forge_symbol_facts *out_facts);

/* --- state -------------------------------------------------------------------------------------------------- */

/* The slots that programs share by name. */
typedef struct forge_states forge_states;

FORGE_API joule_status forge_states_new(forge_device *device, uint64_t seed, forge_states **out_states,
                                        joule_error *out_error);
/* No instance may use them any more. NULL is allowed. */
FORGE_API void forge_states_free(forge_states *states);
FORGE_API size_t forge_states_count(const forge_states *states);
/* A view of slot i and its name, which live as long as the states. INVALID: there is no slot i. UNSUPPORTED: nothing has a
 * value on this device. */
FORGE_API joule_status forge_states_get(forge_states *states, size_t i, forge_tensor *out_tensor,
                                        const char **out_name);
/* The slot with this name; ABSENT where no instance has made it. UNSUPPORTED as above. */
FORGE_API joule_status forge_states_find(forge_states *states, const char *name, forge_tensor *out_tensor);

/* --- instances ---------------------------------------------------------------------------------------------- */

typedef struct forge_instance forge_instance; /* one thread at a time */

/* Slots that are not there yet are made, and filled as the graph says from the states' seed and the slot's name. INVALID: a
 * slot is there with another type or shape. Program and states must outlive the instance. */
FORGE_API joule_status forge_instance_new(const forge_program *program, forge_device *device,
                                          forge_states *states, forge_instance **out_instance,
                                          joule_error *out_error);
FORGE_API void forge_instance_free(forge_instance *instance);

/* Gives a symbol of the program a number, from the next run on. At first all are as large as they can be. Inputs that were
 * set before and depend on it are to be set again. ABSENT: there is no such symbol; INVALID: it cannot be this number. */
FORGE_API joule_status forge_instance_set_size(forge_instance *instance, const char *symbol, int64_t value,
                                               joule_error *out_error);
/* Copies a packed tensor of the input's type and shape; a device that only estimates does not read its
 * elements. Symbols in the shape take the tensor's sizes from the next run on. An input keeps its value until
 * it is set again; a run fails while an input was never set. ABSENT: there is no such input. INVALID: type or
 * shape differs; the message says how. */
FORGE_API joule_status forge_instance_set(forge_instance *instance, const char *input,
                                          const forge_tensor *tensor, joule_error *out_error);
/* Sets an input to zeros, whatever its size becomes; NULL: every input that was not set yet. ABSENT: there is
 * no such input. */
FORGE_API joule_status forge_instance_set_zeros(forge_instance *instance, const char *input,
                                                joule_error *out_error);
/* One run. Allocates nothing, also where sizes have changed. INVALID: an input was never set (a device that
 * only estimates needs none), or has other sizes than the program has now; the message names the input. On
 * x86 the kernels of the device "cpu" take subnormal numbers of f32 and f64 as zero, and give zero for them,
 * in all its threads; the caller's own setting is as before when the run returns. See libforge(3). */
FORGE_API joule_status forge_instance_run(forge_instance *instance, joule_error *out_error);
/* A view of an output, as large as the last run made it, valid until the next run. UNSUPPORTED: nothing was computed, since
 * the device only estimates. */
FORGE_API joule_status forge_instance_get(forge_instance *instance, const char *output,
                                          forge_tensor *out_tensor, joule_error *out_error);

/* What one launch has taken, over all runs since the last reset. */
typedef struct forge_launch_facts {
    uint32_t struct_size; /* sizeof(forge_launch_facts) */
    forge_phase phase;
    const char *op;                         /* "matmul" */
    const char *kernel;                     /* "f32_matmul" */
    const char *scope;                      /* "fc1" */
    double flop, read_bytes, written_bytes; /* of one run; where sizes changed, on average */
    uint64_t runs;
    double seconds;    /* of all runs */
    forge_shape shape; /* of its first output, as the last run had it */
    forge_dtype dtype;
    uint32_t reserved;
} forge_launch_facts;
/* INVALID: there is no launch i, or no room. */
FORGE_API joule_status forge_instance_launch(const forge_instance *instance, size_t i,
                                             forge_launch_facts *out_facts);
/* Times and runs of launches count from now on. */
FORGE_API void forge_instance_reset_times(forge_instance *instance);

#ifdef __cplusplus
}
#endif
#endif
