/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The service's page (page.html, page.css, page.js) and the document that it reads, page.json. Nothing of it is made
 * before somebody asks.
 */
#ifndef OBSERVE_PAGE_H
#define OBSERVE_PAGE_H

#include <stddef.h>
#include <stdint.h>

struct context;
struct history;
struct page;
struct passing;
struct web_page;

/* Who sends what passes, while somebody looks. */
struct page_passing {
	struct passing *samples; /* NULL: there are none */
	int64_t since;		 /* clock_ms() */
	char why[768];		 /* there are none, or not of all; "": nothing to say */
};

/* What the service knows and the page does not. */
struct page_view {
	const struct context *context;
	const struct history *history;
	const char *health;  /* "ok", "degraded" or "failing" */
	const char *trouble; /* why, in lines; "": nothing */
	const struct page_passing *passing;
};

/* The page, which is the same for everybody. */
void page_html(struct web_page *page);
/* The document of now, as text; *page is NULL at first. asked: how often since the last. 0 or -errno. */
int page_json(struct page **page, const struct page_view *view, unsigned int asked, char **text, size_t *size);
void page_free(struct page *page);

#endif
