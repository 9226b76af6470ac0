/*
 * blocks_list.c - see blocks_list.h.
 */
#include <stdlib.h>

#include "blocks_list.h"

/* Broken inputs are told by value, since several threads may meet one. */
struct blocks_fault {
    enum blocks_fault_kind kind;
    int64_t batch, head, tile, slot, value;
};

void blocks_list_init(struct blocks_list *l, const struct op_problem *p,
                      const struct op_source *src, const struct blocks_places *at, int64_t seqlen_k)
{
    const struct op_tensor *index = &p->tensor[at->index], *sizes = &p->tensor[at->sizes];

    l->p = p;
    l->src = src;
    l->at = *at;
    l->heads = index->shape[1];
    l->seqlen_k = seqlen_k;
    l->q_blocks = index->shape[2];
    l->k_blocks = (seqlen_k + BLOCKS_TILE - 1) / BLOCKS_TILE;
    l->cap = index->shape[3];
    l->sizes_mode = sizes->dtype == SAB_NONE ? 0 : sizes->rank;
}

static int get(const struct blocks_list *l, uint32_t tensor, int64_t at, int64_t n, int32_t *dst)
{
    return l->src->read(l->src->ctx, tensor, at, n, dst);
}

static int row_count(const struct blocks_list *l, int64_t row, int64_t *n)
{
    int32_t count;

    *n = l->p->param[l->at.num].i;
    if (l->p->tensor[l->at.nums].dtype == SAB_NONE || l->p->param[l->at.uniform].i)
        return 0;
    if (get(l, l->at.nums, row, 1, &count) < 0)
        return -1;
    *n = count;
    return 0;
}

static int block_valid(const struct blocks_list *l, int64_t head, int64_t block, int64_t *valid)
{
    const int64_t lead = l->sizes_mode == 3 ? head : l->sizes_mode == 2 ? head / l->heads : 0;
    const int64_t left = l->seqlen_k - block * BLOCKS_TILE;
    int32_t declared;

    *valid = left < BLOCKS_TILE ? left : BLOCKS_TILE;
    if (l->sizes_mode == 0)
        return 0;
    if (get(l, l->at.sizes, lead * l->k_blocks + block, 1, &declared) < 0)
        return -1;
    if (declared < *valid)
        *valid = declared < 0 ? 0 : declared;
    return 0;
}

/* The used slots of a query tile in their order; `index` and `slots` have room for `cap`. The
 * indices are taken from the slots whatever was promised: a promise must be true. */
static enum blocks_fault_kind read_row(const struct blocks_list *l, int64_t head, int64_t tile,
                                       int32_t *index, struct blocks_slot *slots, int64_t *nr,
                                       struct blocks_fault *fault)
{
    const int64_t row = head * l->q_blocks + tile;

    *fault = (struct blocks_fault){.batch = head / l->heads, .head = head % l->heads, .tile = tile};
    if (row_count(l, row, nr) < 0)
        return FAULT_READ;
    fault->value = *nr;
    if (*nr < 0 || *nr > l->cap)
        return FAULT_COUNT;
    if (*nr > 0 && get(l, l->at.index, row * l->cap, *nr, index) < 0)
        return FAULT_READ;
    for (int64_t slot = 0; slot < *nr; slot++) {
        const int64_t block = index[slot];

        fault->slot = slot;
        fault->value = slots[slot].block = block;
        if (block < 0 || block >= l->k_blocks)
            return FAULT_INDEX;
        if (block_valid(l, head, block, &slots[slot].valid) < 0)
            return FAULT_READ;
    }
    return FAULT_NONE;
}

/* Own scratch memory for each tile: small beside the work of one. */
static void run_tile(const struct blocks_list *l, const void *run, blocks_fill_fn fill,
                     struct op_slice *s, size_t left, struct blocks_fault *fault)
{
    struct blocks_slot *slots = malloc((size_t)l->cap * sizeof(*slots));
    int32_t *index = malloc((size_t)l->cap * sizeof(*index));
    int64_t slots_nr = 0;
    size_t nr = 1;

    while (nr < left && s[nr].head == s->head && s[nr].tile == s->tile)
        nr++;
    fault->kind = FAULT_MEMORY;
    if (slots && index)
        fault->kind = read_row(l, s->head, s->tile, index, slots, &slots_nr, fault);
    if (fault->kind == FAULT_NONE)
        fault->kind = fill(run, s, nr, slots, slots_nr);
    free(index);
    free(slots);
}

static int fault_say(const struct blocks_fault *f, const struct blocks_list *l, struct err *err)
{
    const long long at[] = {f->batch, f->head, f->tile, f->slot, f->value};

    switch (f->kind) {
    case FAULT_COUNT:
        return err_set(err, ERR_CONFIG,
                       "the count of batch %lld, head %lld, row %lld is %lld, must be 0 to %lld",
                       at[0], at[1], at[2], at[4], (long long)l->cap);
    case FAULT_INDEX:
        return err_set(err, ERR_CONFIG,
                       "q2k_block_index of batch %lld, head %lld, row %lld, slot %lld is %lld, "
                       "must be 0 to %lld",
                       at[0], at[1], at[2], at[3], at[4], (long long)l->k_blocks - 1);
    case FAULT_MEMORY:
        return err_memory(err);
    default:
        return err_set(err, ERR_BUG, "an input of %s cannot be read by its oracle",
                       l->p->spec->name);
    }
}

int blocks_list_run(const struct blocks_list *l, const void *run, blocks_fill_fn fill, int threads,
                    struct op_slices *slices, struct err *err)
{
    struct blocks_fault *faults = calloc(slices->nr + 1, sizeof(*faults));
    const struct op_slice *item = slices->item;
    int ret = 0;

    if (!faults)
        return err_memory(err);
    (void)threads;
#ifdef _OPENMP
#    pragma omp parallel for schedule(dynamic) num_threads(threads > 0 ? threads : 1)
#endif
    for (size_t i = 0; i < slices->nr; i++)
        if (i == 0 || item[i - 1].head != item[i].head || item[i - 1].tile != item[i].tile)
            run_tile(l, run, fill, &slices->item[i], slices->nr - i, &faults[i]);
    for (size_t i = 0; i < slices->nr && !ret; i++)
        if (faults[i].kind != FAULT_NONE)
            ret = fault_say(&faults[i], l, err);
    free(faults);
    return ret;
}
