// Findings: one for each (code, site, other site), counted.
#include "engine.h"
#include <stdio.h>

void finding_from(Thread *t, u32 code, u32 site, u64 addr, u32 size, u32 other_site, u32 other_block, u32 other_thread,
                  const char *what) {
    Launch *l = t->launch;
    for (u32 i = 0; i < l->n_findings; i++) {
        Finding *f = &l->findings[i];
        if (f->code == code && f->site == site && f->other_site == other_site) {
            f->count++;
            return;
        }
    }
    if (l->n_findings >= l->max_findings) return;
    Finding *f = &l->findings[l->n_findings++];
    *f = (Finding){code, site, other_site, t->block->linear, t->linear, other_block, other_thread, size, addr, 1, ""};
    snprintf(f->what, sizeof f->what, "%s", what);
}

void finding(Thread *t, u32 code, u32 site, u64 addr, u32 size, const char *what) {
    finding_from(t, code, site, addr, size, NO_SITE, t->block->linear, t->linear, what);
}

void trap_now(Thread *t, u32 site) {
    finding(t, 8032, site, 0, 0, "trap");
    stop_launch(t, 8032);
}

void bad_call_(Thread *t, u32 site, const char *what) {
    finding(t, 8032, site, 0, 0, what);
    stop_launch(t, 8032);
}

void too_deep_(Thread *t) {
    finding(t, 8003, NO_SITE, 0, 0, "calls go deeper than the stack that was set aside");
    stop_launch(t, 8003);
}

// Text of the kernel, of which nothing is trusted: it must lie in an allocation, and ends there at the latest.
const char *text_at(Thread *t, u64 addr, u32 *length) {
    Launch *l = t->launch;
    if (addr - (u64)t->local < (u64)(t->local_top - t->local)) {
        *length = strnlen((const char *)addr, (u64)t->local_top - addr);
        return (const char *)addr;
    }
    for (u32 i = 0; i < l->n_allocations; i++) {
        Allocation *a = &l->allocations[i];
        if (addr - a->base >= a->size) continue;
        u64 left = a->size - (addr - a->base);
        *length = strnlen((const char *)addr, left > 65535 ? 65535 : left);
        return (const char *)addr;
    }
    *length = 1;
    return "?";
}

void assert_fail(Thread *t, u64 message, u64 file, u32 line, u64 func, u32 site) {
    u32 m, f;
    char text[128];
    const char *what = text_at(t, message, &m), *where = text_at(t, file, &f);
    while (f > 40) where++, f--;  // the end of a path tells more
    snprintf(text, sizeof text, "assertion failed: %.*s (%.*s:%u)", (int)(m > 60 ? 60 : m), what, (int)f, where, line);
    finding(t, 8031, site, 0, 0, text);
    stop_launch(t, 8031);
}

void report_deadlock(Runtime *rt) {
    static const char *const names[] = {"run", "barrier", "warp collective", "activemask", "cluster barrier"};
    u32 waits[5] = {0};
    Thread *first = NULL, *second = NULL;
    for (u32 i = 0; i < rt->n_slots; i++) {
        Slot *s = rt->slots[i];
        if (!s->active) continue;
        for (u32 j = 0; j < rt->threads; j++) {
            Thread *t = &s->threads[j];
            if (!(t->warp->live >> t->lane & 1)) continue;
            waits[fiber_of(t)->waits]++;
            if (!first) first = t;
            else if (!second && fiber_of(t)->site != fiber_of(first)->site) second = t;
        }
    }
    if (!first) return;
    char what[128];
    u32 n = snprintf(what, sizeof what, "no thread can go on;");
    for (u32 k = 1; k < 5 && n < sizeof what; k++)
        if (waits[k]) n += snprintf(what + n, sizeof what - n, " %u wait at a %s", waits[k], names[k]);
    if (!second) second = first;
    finding_from(first, 8024, fiber_of(first)->site, 0, 0, fiber_of(second)->site, second->block->linear, second->linear, what);
}
