#include "accumulator.cuh"
#include "finish.h"

using namespace dsa_bwd;

void (*const dsa_bwd_finish[2][2])(const finish_args) = {
    {finish<sab::bf16, float_sums>, finish<sab::fp16, float_sums>},
    {finish<sab::bf16, integer_sums>, finish<sab::fp16, integer_sums>},
};
