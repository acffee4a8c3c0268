#ifndef CPowerSyncEdit_SHIM_H
#define CPowerSyncEdit_SHIM_H

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#ifdef __APPLE__
#include <xlocale.h>
#endif

/* Swift cannot call variadic functions: one small function for each shape. Everything about an editor is called on one
   thread, whose locale is that of ps_edit_use_locale. */

/* glibc declares it only for those who ask for X/Open. */
int wcwidth(wchar_t character);

/* What an owner wants when it is asked for news. */
enum {
    PS_EDIT_NOTHING = 0,
    /* The line is drawn anew, behind the prompt, which may write something first. */
    PS_EDIT_REDRAW = 1,
    /* The same, after the terminal was given other modes or another size by somebody else. */
    PS_EDIT_RENEW = 2,
    /* The line is marked as given up. */
    PS_EDIT_GIVE_UP = 3
};

/* The character that asks for news: a control character (RS) that no key of a usual terminal sends. */
enum { PS_EDIT_NEWS = 0x1E };

/* Whom an editor asks. */
struct ps_edit_owner {
    void *context;
    /* Returns the prompt; called whenever the line is drawn. */
    const char *(*prompt)(void *context);
    /* Blocks until there is a character, PS_EDIT_NEWS included; negative at the end. */
    int32_t (*next)(void *context);
    /* Called for PS_EDIT_NEWS; returns one of the constants above. */
    int32_t (*news)(void *context);
};

static inline struct ps_edit_owner *ps_edit_owner_of(EditLine *editor) {
    void *owner = NULL;
    el_get(editor, EL_CLIENTDATA, &owner);
    return (struct ps_edit_owner *)owner;
}

static inline char *ps_edit_prompt(EditLine *editor) {
    struct ps_edit_owner *owner = ps_edit_owner_of(editor);
    return (char *)owner->prompt(owner->context);
}

static inline int ps_edit_read(EditLine *editor, wchar_t *character) {
    struct ps_edit_owner *owner = ps_edit_owner_of(editor);
    int32_t next = owner->next(owner->context);
    *character = next < 0 ? 0 : (wchar_t)next;
    if (next >= 0) return 1;
    /* Where nothing is edited, libedit then forgets what was read of the line. */
    errno = EINTR;
    return -1;
}

static inline unsigned char ps_edit_handle_news(EditLine *editor, wint_t key) {
    struct ps_edit_owner *owner = ps_edit_owner_of(editor);
    const LineInfoW *line;
    (void)key;
    switch (owner->news(owner->context)) {
    case PS_EDIT_REDRAW: return CC_REDISPLAY;
    case PS_EDIT_RENEW:
        /* It sets the modes only when it believes that they are others. */
        el_set(editor, EL_PREP_TERM, 0);
        el_set(editor, EL_PREP_TERM, 1);
        el_resize(editor);
        return CC_REDISPLAY;
    case PS_EDIT_GIVE_UP:
        line = el_wline(editor);
        el_cursor(editor, (int)(line->lastchar - line->cursor));
        el_insertstr(editor, "^C");
        return CC_REFRESH;
    default: return CC_NORM;
    }
}

/* Opens an editor on two descriptors of a terminal, which it closes; NULL if there is no memory.
   `terminal` is the kind of terminal, NULL for that of the environment; with `settings` the user's editrc(5) counts.
   The owner and the events must live as long as the editor. */
static inline EditLine *ps_edit_open(
    const char *name, int input, int output, const char *terminal, int settings, struct ps_edit_owner *owner,
    History *events) {
    FILE *in = fdopen(input, "r"), *out = fdopen(output, "w");
    EditLine *editor = in == NULL || out == NULL ? NULL : el_init(name, in, out, out);
    if (editor == NULL) return NULL;
    if (terminal != NULL) el_set(editor, EL_TERMINAL, terminal);
    el_set(editor, EL_CLIENTDATA, (void *)owner);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_PROMPT, ps_edit_prompt);
    el_set(editor, EL_GETCFN, ps_edit_read);
    el_set(editor, EL_HIST, history, events);
    el_set(editor, EL_ADDFN, "powersync-news", "Show what has happened", ps_edit_handle_news);
    /* There is nothing to complete, and what is pasted has tabs in it, which may stand in a text. */
    el_set(editor, EL_BIND, "^I", "ed-insert", NULL);
    if (settings) el_source(editor, NULL);
    /* Behind the user's settings, in either map of vi, too. */
    el_set(editor, EL_BIND, "\\036", "powersync-news", NULL);
    el_set(editor, EL_BIND, "-a", "\\036", "powersync-news", NULL);
    /* Quoting would take the character for a part of the line, and libedit's own commands for one of their names. */
    el_set(editor, EL_BIND, "-r", "^V", NULL);
    el_set(editor, EL_BIND, "-r", "\\ex", NULL);
    el_set(editor, EL_BIND, "-r", "\\eX", NULL);
    el_set(editor, EL_BIND, "-a", "-r", ":", NULL);
    return editor;
}

/* Says whether the terminal keeps the modes that it has, as somebody else has it; no line may be read meanwhile. For an
   editor that edits. */
static inline void ps_edit_keep_modes(EditLine *editor, int keeps) {
    el_set(editor, EL_EDITMODE, !keeps);
    /* Where a line was being read, libedit still believes that they are its own. */
    if (!keeps) el_set(editor, EL_PREP_TERM, 0);
}

/* Gives the terminal its former modes back, unless it keeps others. */
static inline void ps_edit_close(EditLine *editor) {
    FILE *in = NULL, *out = NULL;
    el_get(editor, EL_GETFP, 0, &in);
    el_get(editor, EL_GETFP, 1, &out);
    el_end(editor);
    if (in != NULL) fclose(in);
    if (out != NULL) fclose(out);
}

/* Whether lines are edited: not in a shell of Emacs, and not where the user has turned it off. */
static inline int ps_edit_is_editing(EditLine *editor) {
    int editing = 0;
    el_get(editor, EL_EDITMODE, &editing);
    return editing;
}

/* Whether nothing was typed yet. */
static inline int ps_edit_is_empty(EditLine *editor) {
    const LineInfoW *line = el_wline(editor);
    return line->buffer == line->lastchar;
}

/* Lets go of what libedit has written and not sent yet: what is written then stands behind it. */
static inline void ps_edit_flush(EditLine *editor) {
    FILE *out = NULL;
    el_get(editor, EL_GETFP, 1, &out);
    if (out != NULL) fflush(out);
}

/* Makes the events of a history, so many at most, and no two equal ones side by side; NULL if there is no memory. */
static inline History *ps_edit_events(int limit) {
    HistEvent event;
    History *events = history_init();
    if (events == NULL) return NULL;
    history(events, &event, H_SETSIZE, limit);
    history(events, &event, H_SETUNIQUE, 1);
    return events;
}

static inline void ps_edit_remember(History *events, const char *text) {
    HistEvent event;
    history(events, &event, H_ENTER, text);
}

/* How many bytes of a terminal wait to be read; in the mode of editing each of them counts. */
static inline int ps_edit_unread(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) < 0 ? 0 : count;
}

/* The columns of a terminal, 0 if it tells none. */
static inline int ps_edit_columns(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

/* A locale whose characters are those of UTF-8, whatever the environment says; NULL if the system has none. */
static inline void *ps_edit_locale(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale == (locale_t)0) locale = newlocale(LC_CTYPE_MASK, "en_US.UTF-8", (locale_t)0);
    if (locale == (locale_t)0) locale = newlocale(LC_CTYPE_MASK, "UTF-8", (locale_t)0);
    return (void *)locale;
}

/* Makes a locale that of the calling thread; NULL for that of the process. */
static inline void ps_edit_use_locale(void *locale) {
    uselocale(locale == NULL ? LC_GLOBAL_LOCALE : (locale_t)locale);
}

static inline void ps_edit_free_locale(void *locale) {
    if (locale != NULL) freelocale((locale_t)locale);
}

/* The columns that a character takes, negative for one that is not printed. */
static inline int ps_edit_width(void *locale, uint32_t character) {
    locale_t before = uselocale(locale == NULL ? (locale_t)0 : (locale_t)locale);
    int width = wcwidth((wchar_t)character);
    uselocale(before);
    return width;
}

#endif
