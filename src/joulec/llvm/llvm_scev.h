/* joulec/llvm/llvm_scev.h - reads the results of scalar evolution, which LLVM's C interface does not
 * provide. */
#ifndef JOULEC_LLVM_SCEV_H
#define JOULEC_LLVM_SCEV_H

#include <llvm-c/Types.h>
#include "joulec/trips/scev_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the facts about all functions with bodies into *facts, which must be empty. All values, blocks and
 * arguments must have names. Returns false if out of memory; *facts is then incomplete. */
bool llvm_read_scev(LLVMModuleRef module, struct scev_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
