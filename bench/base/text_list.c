#include "text.h"

#include <stdlib.h>
#include <string.h>

#define NEAREST_MAX_CHARS 128

int text_list_add_mem(struct text_list *list, const char *s, size_t len, struct err *err)
{
    char *copy;

    if (list->nr == list->alloc) {
        size_t alloc = list->alloc ? list->alloc * 2 : 8;
        char **items = realloc(list->items, alloc * sizeof(*items));

        if (!items)
            return err_memory(err);
        list->items = items;
        list->alloc = alloc;
    }
    copy = malloc(len + 1);
    if (!copy)
        return err_memory(err);
    memcpy(copy, s, len);
    copy[len] = '\0';
    list->items[list->nr++] = copy;
    return 0;
}

int text_list_add(struct text_list *list, const char *s, struct err *err)
{
    return text_list_add_mem(list, s, strlen(s), err);
}

void text_list_release(struct text_list *list)
{
    size_t i;

    for (i = 0; i < list->nr; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct text_list){0};
}

static int add_piece(struct text_list *list, const char *whole, const char *begin, const char *end,
                     struct err *err)
{
    while (begin < end && text_is_space(*begin))
        begin++;
    while (end > begin && text_is_space(end[-1]))
        end--;
    if (begin == end)
        return err_set(err, ERR_CONFIG, "'%.200s' has an empty item in its list", whole);
    return text_list_add_mem(list, begin, (size_t)(end - begin), err);
}

int text_split(struct text_list *list, const char *s, char separator, struct err *err)
{
    const char *begin = s, *p = s;
    size_t depth = 0;

    while (text_is_space(*p))
        p++;
    if (!*p)
        return 0;
    for (; *p; p++) {
        if (*p == '(') {
            depth++;
        } else if (*p == ')') {
            if (!depth)
                return err_set(err, ERR_CONFIG, "'%.200s' has a ')' without its '('", s);
            depth--;
        } else if (*p == separator && !depth) {
            if (add_piece(list, s, begin, p, err))
                return -1;
            begin = p + 1;
        }
    }
    if (depth)
        return err_set(err, ERR_CONFIG, "'%.200s' has a '(' without its ')'", s);
    return add_piece(list, s, begin, p, err);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    unsigned m = a < b ? a : b;

    return m < c ? m : c;
}

/* Optimal string alignment distance (Damerau-Levenshtein without a second edit of a swapped pair).
 */
static unsigned edit_distance(const char *a, size_t nr_a, const char *b, size_t nr_b)
{
    unsigned rows[3][NEAREST_MAX_CHARS + 1];
    unsigned *before = rows[0], *last = rows[1], *now = rows[2], *spare;
    size_t i, j;

    for (j = 0; j <= nr_b; j++)
        last[j] = (unsigned)j;
    for (i = 1; i <= nr_a; i++) {
        now[0] = (unsigned)i;
        for (j = 1; j <= nr_b; j++) {
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < now[j])
                now[j] = before[j - 2] + 1;
        }
        spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[nr_b];
}

const char *text_nearest(const char *word, const char *const *names, size_t nr)
{
    size_t nr_word = strlen(word), i;
    unsigned best = (unsigned)(nr_word < 6 ? 1 : nr_word / 3) + 1;
    const char *nearest = NULL;

    if (nr_word > NEAREST_MAX_CHARS)
        return NULL;
    for (i = 0; i < nr; i++) {
        size_t nr_name = names[i] ? strlen(names[i]) : SIZE_MAX;
        unsigned distance;

        if (nr_name > NEAREST_MAX_CHARS)
            continue;
        distance = edit_distance(word, nr_word, names[i], nr_name);
        if (distance < best && distance < nr_word) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
