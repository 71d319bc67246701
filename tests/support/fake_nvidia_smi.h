/* support/fake_nvidia_smi.h - a stand-in for nvidia-smi on a scripted machine.
 *
 * Answers queries from a captured table with heading and units, and prints captured descriptions. Note: only
 * one machine can use it at a time, because there is one script. */
#ifndef TEST_FAKE_NVIDIA_SMI_H
#define TEST_FAKE_NVIDIA_SMI_H

#include "support/machine.h"

struct fake_smi {
    char *table, *description, *list; /* NULL means that the program does not support this query */
    /* a field that the program rejects although the table contains it; NULL means none */
    const char *unknown;
    bool is_mute;        /* the error message does not name the field */
    ssize_t failure;     /* -errno of starting the program; 0 means that it starts */
    int status;          /* exit status; 0 means success */
    const char *instead; /* output if `status` is not 0; NULL means none */
    int lost;            /* number of the row that is missing in the output; -1 means none */
    double factor;       /* power is multiplied by this factor */
    unsigned tables, descriptions;
};
extern struct fake_smi fake_smi;

/* Prints the answer to a query; for host_script_program. */
ssize_t fake_smi_run(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                     int *out_status);
/* Set-up and tear-down of a test; *state is a struct machine_bench. Tear-down frees the script's texts. */
int fake_smi_setup(void **state);
int fake_smi_teardown(void **state);

/* Returns the path of a file in tests/fixtures/nvidia_smi, in static storage. */
const char *fake_smi_fixture(const char *name);
/* Returns the file's text; the caller calls free(). Fails the test if it cannot be read. */
char *fake_smi_read(const char *name);

/* Opens the bench's meter with devices and the source nvidia_smi, and returns the meter. */
joule_meter *fake_smi_open(struct machine_bench *bench);
/* Return the domain called `name`, or its state. They fail the test if there is no such domain. */
joule_domain fake_smi_domain(joule_meter *meter, const char *name);
joule_status fake_smi_state(joule_meter *meter, const char *name);

#endif
