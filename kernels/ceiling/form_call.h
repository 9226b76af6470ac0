/*
 * form_call.h - the option of reduce/vector, known with and without CUDA.
 */
#ifndef CEILING_FORM_CALL_H
#define CEILING_FORM_CALL_H

#include "sab.h"

#ifdef __cplusplus
extern "C" {
#endif

enum ceiling_form { CEILING_FORM_V4 = 0, CEILING_FORM_SCALAR, CEILING_FORM_BULK, CEILING_FORM_NR };

#define CEILING_FORM_OPTIONS_NR 1
extern const struct sab_option ceiling_form_options[CEILING_FORM_OPTIONS_NR];

#ifdef __cplusplus
}
#endif
#endif
