#include "form_call.h"

static const struct sab_choice forms[CEILING_FORM_NR] = {
    [CEILING_FORM_V4] = {"v4", "red.v4, four numbers a thread", SAB_CHOICE_DEFAULT, 0},
    [CEILING_FORM_SCALAR] = {"scalar", "red, one number a thread", 0, 0},
    [CEILING_FORM_BULK] = {"bulk", "bulk reductions of whole rows from shared memory", 0, 0},
};

const struct sab_option ceiling_form_options[CEILING_FORM_OPTIONS_NR] = {
    {"form", "the instruction that adds", forms, CEILING_FORM_NR},
};
