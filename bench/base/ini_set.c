#include "ini.h"

#include <stdlib.h>
#include <string.h>

#include "ini_store.h"

static const char *command_line(struct ini *ini, struct err *err)
{
    return ini_store_file(ini, INI_COMMAND_LINE, INI_COMMAND_LINE, err);
}

int ini_set(struct ini *ini, const char *kind, const char *name, const char *key, const char *value,
            struct err *err)
{
    const char *file = command_line(ini, err);
    size_t index;

    if (!file)
        return -1;
    name = name ? name : "";
    if (ini_check_header(kind, name, err) || ini_check_key(key, err) || ini_check_value(value, err))
        return -1;
    if (ini_store_section(ini, kind, name, file, 0, &index, err))
        return -1;
    return ini_store_entry(&ini->sections[index], key, value, file, 0, err);
}

static int no_section(const struct ini *ini, const char *flag, const char *kind, const char *name,
                      struct err *err)
{
    size_t best = 0, i;
    const char *nearest = NULL;

    /* Asked one by one: the nearest of two is the nearest of all so far. */
    for (i = 0; i < ini->nr; i++) {
        const char *names[2] = {nearest, ini->sections[i].name};
        const char *found;

        if (strcmp(ini->sections[i].kind, kind))
            continue;
        found = text_nearest(name, names, 2);
        if (found != nearest) {
            nearest = found;
            best = i;
        }
    }
    if (nearest)
        return err_set(err, ERR_CONFIG, "'--%.100s': no section [%s %.100s], did you mean [%s %s]",
                       flag, kind, name, kind, ini->sections[best].name);
    return err_set(err, ERR_CONFIG, "'--%.100s': no section [%s %.100s] in the configuration", flag,
                   kind, name);
}

/* KIND.KEY or KIND.NAME.KEY; a NAME may hold dots, a KEY cannot. */
static int set_dotted(struct ini *ini, const char *flag, const char *value, struct err *err)
{
    char *copy = strdup(flag), *key, *name;
    int ret;

    if (!copy)
        return err_memory(err);
    key = strrchr(copy, '.');
    *key++ = '\0';
    name = strchr(copy, '.');
    if (name)
        *name++ = '\0';
    else
        name = key - 1; /* the terminator: an empty name */
    ret = ini_check_header(copy, name, err);
    if (ret)
        err_prefix(err, "'--%.100s'", flag);
    else if (*name && !ini_find(ini, copy, name))
        ret = no_section(ini, flag, copy, name, err);
    else
        ret = ini_set(ini, copy, name, key, value, err);
    free(copy);
    return ret;
}

/* An error where every arm sets `key` for itself and no other section does. */
static int check_plain(const struct ini *ini, const char *key, struct err *err)
{
    const struct ini_section *arm = NULL;
    size_t i;

    for (i = 0; i < ini->nr; i++) {
        const struct ini_section *section = &ini->sections[i];
        bool sets = ini_section_find(section, key) != NULL;

        if (strcmp(section->kind, "arm") == 0 ? !sets : sets)
            return 0;
        if (sets)
            arm = section;
    }
    if (!arm)
        return 0;
    return err_set(err, ERR_CONFIG,
                   "'--%.100s' would change nothing: every arm sets it; use '--arm.%.100s.%.100s'",
                   key, arm->name, key);
}

int ini_set_flag(struct ini *ini, const char *flag, const char *value, struct err *err)
{
    const char *file;
    size_t i;

    if (strchr(flag, '.'))
        return set_dotted(ini, flag, value, err);
    if (check_plain(ini, flag, err) || ini_set(ini, "global", "", flag, value, err))
        return -1;
    file = command_line(ini, err);
    if (!file)
        return -1;
    for (i = 0; i < ini->nr; i++) {
        struct ini_section *section = &ini->sections[i];

        if (strcmp(section->kind, "arm") && ini_section_find(section, flag) &&
            ini_store_entry(section, flag, value, file, 0, err))
            return -1;
    }
    return 0;
}
