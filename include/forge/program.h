/* forge/program.h - devices, compilation, programs, and instances that run them.
 *
 * A program is immutable. It can be written to a file, and another process that runs it computes the same
 * bits. An instance is a program with memory: an arena for intermediate values, inputs, and the slots of a
 * forge_states.
 */
#ifndef FORGE_PROGRAM_H
#define FORGE_PROGRAM_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- devices -------------------------------------------------------------------------------------------- */

typedef struct forge_device forge_device; /* any thread may use it; it runs one instance at a time */

/* Opens a device by name: "cpu" or "estimated". The caller owns the device (forge_device_close). The device
 * must outlive all objects that were created for it. JOULE_ABSENT: no such device; the message lists the
 * devices.
 *
 * "cpu" uses kernels for the best instruction set of the processor. The environment variable FORGE_ISA
 * selects another instruction set: plain, avx2, avx512, neon. JOULE_INVALID: FORGE_ISA has another value.
 * JOULE_ABSENT: the processor does not support this instruction set.
 *
 * "estimated" runs no kernels. It accepts programs for the CPU. A run advances a simulated clock by the
 * expected time of each launch: the larger of FLOP / rate and bytes / bandwidth, plus an overhead. Energy is
 * estimated in the same way. No values are computed, so functions that read or write values (such as
 * forge_instance_get, forge_states_get) return JOULE_UNSUPPORTED. By default the figures are those of this
 * machine's CPU. The environment variable FORGE_MACHINE replaces figures:
 * "flop_per_s=6e13,bytes_per_s=3e12,launch_seconds=4e-6,idle_watts=90,busy_watts=300,flop_joules=5e-13,
 * byte_joules=6e-11" (one line).
 * More figures describe cores and caches (forge-devices(1)).
 * If FORGE_MACHINE is set, all kernels count as optimised, unless it contains plain_per_s, the speed of
 * reference kernels. JOULE_INVALID: FORGE_MACHINE cannot be parsed. */
FORGE_API joule_status forge_device_open(const char *name, forge_device **out_device, joule_error *out_error);
/* Closes a device. NULL is allowed. */
FORGE_API void forge_device_close(forge_device *device);
/* Returns the name of a device ("cpu"), which lives as long as the device. */
FORGE_API const char *forge_device_name(const forge_device *device);
/* Sets the number of threads of a CPU device. threads: 0 to 1024; 0: the number of CPUs that this process may
 * use. Results do not depend on the number of threads. JOULE_INVALID: more than 1024. */
FORGE_API joule_status forge_device_set_threads(forge_device *device, unsigned threads,
                                                joule_error *out_error);

/* Returns the name of device kind `i` of this build of the library, in static storage; NULL if `i` is out of
 * range. Any thread. */
FORGE_API const char *forge_device_name_at(size_t i);

/* An instruction set that kernels are compiled for. Its layout is final. */
typedef struct forge_instruction_set {
    const char *name;  /* "avx2", static storage; NULL: end of the list */
    bool is_supported; /* the processor supports it */
    bool is_in_use;    /* this device uses it */
} forge_instruction_set;
#define FORGE_MAX_INSTRUCTION_SETS 8

/* A figure of a device that only estimates, with its origin. Its layout is final. */
typedef struct forge_device_figure {
    const char *name; /* "bytes_per_s", static storage; NULL: end of the list */
    const char *unit; /* "B/s", static storage */
    joule_quantity value;
    char source[128]; /* origin of the value, as text */
} forge_device_figure;
#define FORGE_MAX_DEVICE_FIGURES 12

/* Properties of a device. */
typedef struct forge_device_facts {
    uint32_t struct_size;  /* sizeof(forge_device_facts) */
    uint32_t threads;      /* number of threads that the device uses */
    uint64_t memory_bytes; /* size of the memory of the device's machine or board; 0: unknown */
    /* the instruction sets for which this build has kernels */
    forge_instruction_set instruction_sets[FORGE_MAX_INSTRUCTION_SETS + 1];
    forge_device_figure figures[FORGE_MAX_DEVICE_FIGURES + 1];
    bool is_estimate_only; /* the device runs no kernels */
} forge_device_facts;
/* Describes a device. JOULE_INVALID: struct_size too small. Any thread. */
FORGE_API joule_status forge_device_query(forge_device *device, forge_device_facts *out_facts);

/* Chooses how a CPU device runs fused elementwise operations in instances that are created afterwards. false
 * (the default): ready-made kernels compute them one after the other on small blocks. true: if there is a C
 * compiler, forge_instance_new compiles each group of fused operations to one function that keeps
 * intermediate values in registers. This takes a fraction of a second for each new group. The results have
 * the same bits, except the bits of NaN.
 *
 * The compiler is $CC, or else cc, gcc or clang from PATH, and runs without a shell. Its results are kept in
 * $XDG_CACHE_HOME/joule/forge or ~/.cache/joule/forge. Operations that cannot be compiled run as with false;
 * forge_device_query_compiled states why. JOULE_ABSENT: there is no compiler, or neither variable has an
 * absolute path. JOULE_DENIED: another user could write to this folder, or the process has more rights than
 * its user. After an error, the device compiles nothing. JOULE_UNSUPPORTED: is_on is true for a device that
 * is not a CPU. Any thread. */
FORGE_API joule_status forge_device_set_compiled(forge_device *device, bool is_on, joule_error *out_error);

/* The compilation of fused operations on a device. Groups with the same operations and types count once. */
typedef struct forge_compiled_facts {
    uint32_t struct_size; /* sizeof(forge_compiled_facts) */
    bool is_on;
    uint8_t reserved[3];
    size_t compiled;    /* groups that the compiler has compiled */
    size_t cached;      /* groups whose code was in the cache */
    size_t failed;      /* groups that could not be compiled */
    double seconds;     /* time that compiling and loading took */
    char compiler[256]; /* the command, "cc" */
    char reason[256];   /* why the last group was not compiled; empty if there is none */
} forge_compiled_facts;
/* Describes the compilation. All members are 0 for a device that compiles nothing. JOULE_INVALID: struct_size
 * too small. Any thread. */
FORGE_API joule_status forge_device_query_compiled(forge_device *device, forge_compiled_facts *out_facts);

/* How fast a device multiplies by weights of one element type. */
typedef struct forge_weight_speed {
    uint32_t struct_size; /* sizeof(forge_weight_speed) */
    bool is_repacked;     /* forge_instance_repack copies such weights */
    uint8_t reserved[3];
    /* Bytes of the weight per second in a product with one row, measured with a weight of 32 MiB: as it is in
     * memory, and repacked. NaN: the device has no other order. */
    double mapped_bytes_per_s, repacked_bytes_per_s;
    double flop_per_s; /* of a product with 64 rows */
} forge_weight_speed;
/* Measures products with weights in `dtype`, a type of floats. Takes up to a second, and 100 MB of memory.
 * JOULE_UNSUPPORTED: the device has no kernels for such weights, or only estimates. */
FORGE_API joule_status forge_device_measure_weights(forge_device *device, forge_dtype dtype,
                                                    forge_weight_speed *out_speed, joule_error *out_error);

/* Memory that instances and states have allocated on a device. Sizes are rounded up to whole blocks. */
typedef struct forge_memory_facts {
    uint32_t struct_size; /* sizeof(forge_memory_facts) */
    uint32_t reserved;
    uint64_t used_bytes;
    uint64_t held_bytes;  /* freed, but reserved for later allocations of the same size */
    uint64_t peak_bytes;  /* highest used_bytes since the device was opened or trimmed */
    uint64_t limit_bytes; /* 0: no limit */
} forge_memory_facts;
/* Describes a device's memory. JOULE_INVALID: struct_size too small. Any thread. */
FORGE_API joule_status forge_device_memory(forge_device *device, forge_memory_facts *out_facts);
/* Returns the memory of held_bytes to the system, and sets peak_bytes to used_bytes. Any thread. */
FORGE_API void forge_device_trim(forge_device *device);
/* Limits used_bytes to limit_bytes; 0: no limit. Allocations above the limit fail with JOULE_NO_MEMORY; the
 * message names the request and the largest current user. Any thread. */
FORGE_API void forge_device_limit_memory(forge_device *device, uint64_t limit_bytes);

/* --- programs ------------------------------------------------------------------------------------------- */

typedef struct forge_program forge_program; /* immutable; any thread may use it */

/* Compiles a graph for a device. If sizes are symbols, the program runs for all values of the symbols. Its
 * memory is planned for the largest sizes, and an instance gets the sizes from its inputs or
 * forge_instance_set_size. For fixed sizes, use forge_graph_bind first. The caller owns the program
 * (forge_program_free). JOULE_FAILED: a slot cannot be written in place; the message names the launch that
 * prevents it. JOULE_INVALID: the size of a slot is a symbol, or a size may overflow. */
FORGE_API joule_status forge_compile(const forge_graph *graph, forge_device *device,
                                     forge_program **out_program, joule_error *out_error);
/* Frees a program. NULL is allowed. */
FORGE_API void forge_program_free(forge_program *program);

/* Writes a program to a file. An existing file is replaced atomically, after the disk has stored the new
 * file. If the path is a symbolic link, the target of the link is replaced. JOULE_DENIED, JOULE_FAILED: the
 * path cannot be written, or is not a regular file. JOULE_PENDING: another process is writing the file. */
FORGE_API joule_status forge_program_write(const forge_program *program, const char *path,
                                           joule_error *out_error);
/* Reads a program and checks all of it. So even a manipulated file cannot cause accesses outside the memory
 * of an instance. The caller owns the program (forge_program_free). JOULE_INVALID: the file is not a program,
 * or is damaged. JOULE_UNSUPPORTED: the file has another version, or is not a regular file. */
FORGE_API joule_status forge_program_read(const char *path, forge_program **out_program,
                                          joule_error *out_error);
/* Prints a program as text for people: buffers, planned and minimum size of the arena, and each launch with
 * kernel, shapes, work, scope and phase. The caller frees the text with free(). */
FORGE_API joule_status forge_program_print(const forge_program *program, char **out_text,
                                           joule_error *out_error);

/* Properties of a program. */
typedef struct forge_program_facts {
    uint32_t struct_size; /* sizeof(forge_program_facts) */
    uint32_t reserved;
    size_t launches;
    size_t arena_bytes; /* planned */
    /* Highest number of bytes that are in use at the same time: the lower bound of arena_bytes for this order
     * of launches. */
    size_t arena_bound_bytes;
    size_t state_bytes;
    size_t constant_bytes;
    double flop;    /* FLOP of one run, at the largest sizes */
    size_t symbols; /* number of sizes that an instance can change */
} forge_program_facts;
/* Describes a program. JOULE_INVALID: struct_size too small. */
FORGE_API joule_status forge_program_query(const forge_program *program, forge_program_facts *out_facts);

/* A size that an instance can change: a multiple of `multiple` from min to max. */
typedef struct forge_symbol_facts {
    uint32_t struct_size; /* sizeof(forge_symbol_facts) */
    uint32_t reserved;
    const char *name; /* lives as long as the program */
    int64_t min, max, multiple;
} forge_symbol_facts;
/* Describes symbol `i` of a program. JOULE_INVALID: no such symbol, or struct_size too small. */
FORGE_API joule_status forge_program_symbol(const forge_program *program, size_t i,
                                            forge_symbol_facts *out_facts);

/* --- state ---------------------------------------------------------------------------------------------- */

/* Slots on one device, which several instances share by name. */
typedef struct forge_states forge_states;

/* Creates states without slots on a device. Instances add slots, whose random initial values follow from
 * `seed` and the slot's name. The caller owns the states (forge_states_free). */
FORGE_API joule_status forge_states_new(forge_device *device, uint64_t seed, forge_states **out_states,
                                        joule_error *out_error);
/* Adds a slot whose elements are those of a packed tensor; instances that are created later use this memory
 * without a copy. The states keep a reference to the tensor's buffer. The memory must be writable if a
 * program writes the slot. JOULE_INVALID: a slot with this name exists, or the tensor is not packed.
 * JOULE_UNSUPPORTED: the device cannot use memory of the host. */
FORGE_API joule_status forge_states_add(forge_states *states, const char *name, const forge_tensor *tensor,
                                        joule_error *out_error);
/* Frees states. Free all instances that use them first. NULL is allowed. */
FORGE_API void forge_states_free(forge_states *states);
/* Returns the number of slots. */
FORGE_API size_t forge_states_count(const forge_states *states);
/* Returns a view of slot `i` and its name, which live as long as the states. JOULE_INVALID: no such slot.
 * JOULE_UNSUPPORTED: the device only estimates, so slots have no values. */
FORGE_API joule_status forge_states_get(forge_states *states, size_t i, forge_tensor *out_tensor,
                                        const char **out_name);
/* Returns a view of the slot with this name, which lives as long as the states. JOULE_ABSENT: no instance has
 * created such a slot. JOULE_UNSUPPORTED: as for forge_states_get. */
FORGE_API joule_status forge_states_find(forge_states *states, const char *name, forge_tensor *out_tensor);

/* --- instances ------------------------------------------------------------------------------------------ */

typedef struct forge_instance forge_instance; /* one thread at a time */

/* Creates an instance of a program. Slots that `states` does not contain yet are created, with the initial
 * values of the graph. The caller owns the instance (forge_instance_free). Program, device and states must
 * outlive the instance. JOULE_INVALID: a slot exists with another type or shape. */
FORGE_API joule_status forge_instance_new(const forge_program *program, forge_device *device,
                                          forge_states *states, forge_instance **out_instance,
                                          joule_error *out_error);
/* Frees an instance. NULL is allowed. */
FORGE_API void forge_instance_free(forge_instance *instance);

/* Copies slots into the order of bytes in which the device's kernels read them fastest, so that a run takes
 * less time. Only slots that no launch of the program writes are copied; the sizes of the copies are about
 * those of the slots. From now on such slots must not be written, also not through other instances or
 * forge_states_get, and results may differ in rounding. *out_bytes: size of all copies, may be NULL; 0 if the
 * device has no such order. JOULE_NO_MEMORY: there are no copies, and the instance can still run. */
FORGE_API joule_status forge_instance_repack(forge_instance *instance, size_t *out_bytes,
                                             joule_error *out_error);

/* Sets the value of a symbol of the program, from the next run on. Initially each symbol has its largest
 * value. Inputs whose size changes must be set again. JOULE_ABSENT: no such symbol. JOULE_INVALID: the value
 * is out of the symbol's range. */
FORGE_API joule_status forge_instance_set_size(forge_instance *instance, const char *symbol, int64_t value,
                                               joule_error *out_error);
/* Sets an input to a copy of a packed tensor with the input's type and shape. A device that only estimates
 * does not read the elements. Symbols in the input's shape get the tensor's sizes, from the next run on. An
 * input keeps its value until it is set again. JOULE_ABSENT: no such input. JOULE_INVALID: type or shape
 * differs; the message contains both. */
FORGE_API joule_status forge_instance_set(forge_instance *instance, const char *input,
                                          const forge_tensor *tensor, joule_error *out_error);
/* Sets an input to zeros, for all sizes. input NULL: sets all inputs that were not set yet. JOULE_ABSENT: no
 * such input. */
FORGE_API joule_status forge_instance_set_zeros(forge_instance *instance, const char *input,
                                                joule_error *out_error);
/* Runs the program once, and returns when the run is done. Allocates no memory, even if sizes have changed.
 * On x86-64 and aarch64, the kernels of the device "cpu" read and write subnormal numbers of f32, f64 and
 * bf16 as zero. For this the run changes a setting of the processor in the calling thread, and restores it
 * before it returns; see libforge(3). JOULE_INVALID: an input was never set, or its sizes differ from the
 * present sizes; the message names the input. (A device that only estimates needs no inputs.) JOULE_FAILED: a
 * launch failed; slots may be partially updated. */
FORGE_API joule_status forge_instance_run(forge_instance *instance, joule_error *out_error);
/* Returns a view of an output of the last run, with the sizes of that run. The view is valid until the next
 * run. JOULE_UNSUPPORTED: the device only estimates, so the output has no values. */
FORGE_API joule_status forge_instance_get(forge_instance *instance, const char *output,
                                          forge_tensor *out_tensor, joule_error *out_error);

/* Work and time of one launch. */
typedef struct forge_launch_facts {
    uint32_t struct_size; /* sizeof(forge_launch_facts) */
    forge_phase phase;
    const char *op;                         /* "matmul" */
    const char *kernel;                     /* "f32_matmul" */
    const char *scope;                      /* "fc1" */
    double flop, read_bytes, written_bytes; /* work of one run; the mean of the runs if sizes changed */
    uint64_t runs;                          /* number of runs since forge_instance_reset_times */
    double seconds;                         /* sum of the times of these runs */
    forge_shape shape;                      /* shape of the first output in the last run */
    forge_dtype dtype;
    uint32_t cores; /* the launch uses at most so many threads of the device; 0: all */
} forge_launch_facts;
/* Describes launch `i`. JOULE_INVALID: no such launch, or struct_size too small. */
FORGE_API joule_status forge_instance_launch(const forge_instance *instance, size_t i,
                                             forge_launch_facts *out_facts);
/* Sets `runs` and `seconds` of all launches to 0. */
FORGE_API void forge_instance_reset_times(forge_instance *instance);

#ifdef __cplusplus
}
#endif
#endif
