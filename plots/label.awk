# label.awk - names that tell cases apart: of the parts of their ids those that vary among the cases
# given, and of those as few as that takes. Charts call it by labels_of() of style.gp.
#
# In:   GROUP ARM CASE_ID, one a line; groups are numbered from 1. A group may hold several cases, as
#       a line of a chart does: its parts are those in which all of them agree.
# Out:  the parts that all groups share ("-": none), then a label for each group, between blanks.
#       Parts stand between "|": "forward|H64|S2048|k640".
# fit    characters that there is room for
# drop   axes never written, such as the one along x: columns of cases.csv between blanks
# alone  1: "-" for a group that is the only one of its arm
#
# A case id is SWEEP, then parts behind points: B8, S1024, d0.5, NAME-VALUE. What varies is dropped
# from the end of the order below, what no other part makes up for stays. The first parts are what
# a reader looks for: from one of them that has to stay on, those before it stay too, unless labels
# become longer than fits. A label still longer ends in ".." behind a part, where no other begins so.

BEGIN {
    known_nr = split("sweep B H Hk Sq Sk k d", order, " ")
    order[known_nr + 1] = "D"
    order[known_nr + 2] = "dtype"
    keys_nr = known_nr + 2
    for (i = 1; i <= keys_nr; i++)
        is_key[order[i]] = 1
    split("batch B heads H kv_heads Hk seqlen_q Sq seqlen_k Sk topk k density d density_asked d head_dim D", pair, " ")
    for (i = 1; i in pair; i += 2)
        tag[pair[i]] = pair[i + 1]
    dropped_nr = split(drop, name, " ")
    for (i = 1; i <= dropped_nr; i++)
        never[(name[i] in tag) ? tag[name[i]] : name[i]] = 1
    fit = fit ? fit : 1000
}

function set_part(key, text) {
    if (!(key in is_key)) {
        is_key[key] = 1
        order[++keys_nr] = key
    }
    if (key in own)
        text = own[key] "." text
    own[key] = text
}

function read_part(text, nth,    letters) {
    letters = text
    sub(/[0-9].*/, "", letters)
    if (nth == 1)
        set_part("sweep", text)
    else if (letters == "S") {
        set_part("Sq", "Sq" substr(text, 2))
        set_part("Sk", "Sk" substr(text, 2))
    } else if (letters ~ /^(B|H|Hk|Sq|Sk|k|d|D)$/)
        set_part(letters, text)
    else if (index(text, "-") > 1)
        set_part(substr(text, 1, index(text, "-") - 1), text)
    else
        set_part("dtype", text)
}

# A point in front of a digit stands inside a number.
function read_id(id,    piece, nr, i, text, nth) {
    split("", own)
    nr = split(id, piece, ".")
    text = piece[1]
    nth = 0
    for (i = 2; i <= nr + 1; i++) {
        if (i <= nr && piece[i] ~ /^[0-9]/) {
            text = text "." piece[i]
            continue
        }
        read_part(text, ++nth)
        text = piece[i]
    }
}

NF >= 3 {
    g = $1
    groups = g > groups ? g : groups
    arm[g] = $2
    read_id($3)
    if (substr(own["Sq"], 3) != substr(own["Sk"], 3))
        uneven = 1
    for (i = 1; i <= keys_nr; i++) {
        key = order[i]
        text = (key in own) ? own[key] : ""
        if (!(g in seen))
            value[g, key] = text
        else if (value[g, key] != text) {
            value[g, key] = ""
            torn[g, key] = torn[g] = 1
        }
    }
    seen[g] = 1
}

# How many pairs of groups the shown parts tell apart. Values are compared, not what is written of
# them; a part in which the cases of a group differ tells it from nothing.
function told_apart(    g, k, nr) {
    nr = 0
    for (g = 2; g <= groups; g++)
        for (k = 1; k < g; k++)
            nr += arm[k] == arm[g] && are_apart(g, k)
    return nr
}

function are_apart(g, k,    i, key) {
    for (i = 1; i <= keys_nr; i++) {
        key = order[i]
        if (shown[i] && value[g, key] != value[k, key] && !torn[g, key] && !torn[k, key])
            return 1
    }
    return 0
}

function is_needed(i,    nr) {
    shown[i] = 0
    nr = told_apart()
    shown[i] = 1
    return nr < most
}

function write_label(g,    i, s, text, equal) {
    s = ""
    equal = substr(value[g, "Sq"], 3) == substr(value[g, "Sk"], 3)
    for (i = 1; i <= keys_nr; i++) {
        text = shown[i] ? value[g, order[i]] : ""
        if (order[i] == "Sq" && text != "" && equal)
            text = "S" substr(text, 3)
        if (order[i] == "Sk" && equal && shown[i - 1])
            text = ""
        if (text != "")
            s = s (s == "" ? "" : "|") text
    }
    # All that is left out of an id is at its default.
    return s != "" ? s : torn[g] ? "(mixed)" : "(default)"
}

function longest(    g, nr, len) {
    nr = 0
    for (g = 1; g <= groups; g++) {
        len = length(write_label(g))
        nr = len > nr && !is_alone(g) ? len : nr
    }
    return nr
}

function is_alone(g) {
    return alone && of_arm[arm[g]] == 1
}

function begins_alike(g, s,    k) {
    for (k = 1; k <= groups; k++)
        if (k != g && arm[k] == arm[g] && index(label[k] "|", s "|") == 1)
            return 1
    return 0
}

function cut(g,    s, at, shorter) {
    s = label[g]
    shorter = s
    while (length(shorter) > fit && match(shorter, /\|[^|]*$/)) {
        at = RSTART
        shorter = substr(shorter, 1, at - 1)
        if (begins_alike(g, shorter))
            break
        s = shorter "|.."
    }
    return s
}

END {
    common = ""
    varying = 0
    for (g = 1; g <= groups; g++)
        of_arm[arm[g]]++
    for (i = 1; i <= keys_nr; i++) {
        same = 1
        for (g = 2; g <= groups; g++)
            same = same && value[g, order[i]] == value[1, order[i]]
        fixed[i] = same
        shown[i] = !same && !(order[i] in never)
        varying += shown[i]
    }
    # Along lengths of keys those of queries are the axis too, where they are the same.
    for (i = 1; i <= keys_nr && !uneven && ("Sk" in never); i++)
        if (order[i] == "Sq")
            shown[i] = 0
    # One case, or lines that differ in nothing: the whole name.
    for (i = 1; i <= keys_nr && !varying; i++)
        shown[i] = !(order[i] in never)
    for (i = 1; i <= keys_nr && varying; i++) {
        s = fixed[i] ? value[1, order[i]] : ""
        if (order[i] == "Sq" && s != "" && fixed[i + 1] && !uneven)
            s = "S" substr(s, 3)
        if (order[i] == "Sk" && fixed[i - 1] && !uneven)
            s = ""
        if (s != "" && !(order[i] in never))
            common = common (common == "" ? "" : "|") s
    }
    most = told_apart()
    for (i = keys_nr; i >= 1 && varying; i--) {
        if (!shown[i])
            continue
        if (!is_needed(i))
            shown[i] = 0
        else if (i <= known_nr)
            break
    }
    for (i = keys_nr; i >= 1 && varying && longest() > fit; i--)
        if (shown[i] && !is_needed(i))
            shown[i] = 0
    for (g = 1; g <= groups; g++)
        label[g] = write_label(g)
    for (g = 1; g <= groups; g++) {
        for (k = 1; k < g && !(arm[k] == arm[g] && label[k] == label[g]); k++)
            ;
        if (k < g)
            again[g] = ++repeats[arm[g], label[g]] + 1
    }
    printf "%s", common == "" ? "-" : common
    for (g = 1; g <= groups; g++)
        printf " %s", is_alone(g) ? "-" : again[g] ? label[g] "|#" again[g] : cut(g)
    printf "\n"
}
