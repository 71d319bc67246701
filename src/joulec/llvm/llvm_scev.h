/* joulec/llvm/llvm_scev.h - reads LLVM's scalar evolution, to which its C interface gives no access. */
#ifndef JOULEC_LLVM_SCEV_H
#define JOULEC_LLVM_SCEV_H

#include <llvm-c/Types.h>
#include "joulec/trips/scev_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the facts about all functions with bodies to *facts, which is empty. All values, blocks and arguments
 * must have names. Returns false if out of memory; *facts is then incomplete. */
bool llvm_read_scev(LLVMModuleRef module, struct scev_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
