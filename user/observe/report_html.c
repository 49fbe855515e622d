// SPDX-License-Identifier: GPL-2.0-only
/* The report as one page that loads nothing: no script, no font, no picture. */
#include <math.h>
#include <stdio.h>

#include "base/out.h"
#include "observe/attack_log.h"
#include "observe/report.h"
#include "observe/weigh.h"

#define WIDTH  900.0
#define HEIGHT 220.0

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>xdp-bloom: the last %s</title>\n"
	"<meta name=\"viewport\" content=\"width=device-width\"><style>\n"
	":root{color-scheme:light dark}body{font:15px/1.45 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}\n"
	"h1{font-size:1.4em}h2{font-size:1.1em;margin:1.6em 0 .4em}table{border-collapse:collapse;width:100%%}\n"
	"td,th{text-align:left;padding:.2em .6em;border-bottom:1px solid #8884}td.n,th.n{text-align:right;"
	"font-variant-numeric:tabular-nums}\n"
	".bar{background:#c33;height:.7em;display:block;min-width:1px}svg{width:100%%;height:auto}.drop{fill:#c33}.pass{fill:#58a8}"
	"\n.axis{stroke:#888;stroke-width:1}text{font-size:12px;fill:currentColor}</style></head><body>\n";

/* Names come from outside. */
static void escaped(const char *text)
{
	static const char *const entities[256] = { ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;" };

	for (; *text; text++) {
		if (entities[(unsigned char)*text])
			fputs(entities[(unsigned char)*text], stdout);
		else
			putchar(*text);
	}
}

static double highest(const struct report *r)
{
	double most = 1;

	for (unsigned int i = 0; i < r->history.points_n; i++)
		most = fmax(most, (double)(r->history.points[i].passed + r->history.points[i].dropped));
	return most;
}

/* A bar for each point: what was dropped in red, above it what passed. */
static void chart(const struct report *r)
{
	double most = highest(r), step = WIDTH / r->history.points_n, per = r->history.point_seconds;
	char a[32], b[32];

	printf("<svg viewBox=\"-60 -20 %.0f %.0f\" role=\"img\" aria-label=\"packets a second\">\n", WIDTH + 80,
	       HEIGHT + 50);
	for (unsigned int i = 0; i < r->history.points_n; i++) {
		const struct history_point *p = &r->history.points[i];
		double drop = (double)p->dropped / most * HEIGHT, pass = (double)p->passed / most * HEIGHT;

		if (p->dropped)
			printf("<rect class=\"drop\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
			       i * step, HEIGHT - drop, step, drop);
		if (p->passed)
			printf("<rect class=\"pass\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>\n",
			       i * step, HEIGHT - drop - pass, step, pass);
	}
	printf("<path class=\"axis\" fill=\"none\" d=\"M0 0V%.0fH%.0f\"/>\n", HEIGHT, WIDTH);
	printf("<text x=\"-8\" y=\"8\" text-anchor=\"end\">%.3g/s</text><text x=\"-8\" y=\"%.0f\" text-anchor=\"end\">0</text>\n",
	       most / per, HEIGHT);
	printf("<text x=\"0\" y=\"%.0f\">%s</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text></svg>\n",
	       HEIGHT + 18, report_time(a, r->history.points[0].at), WIDTH, HEIGHT + 18,
	       report_time(b, r->history.points[r->history.points_n - 1].at));
	puts("<p><span style=\"color:#c33\">&#9632;</span> dropped &nbsp; <span style=\"color:#58a\">&#9632;</span> passed</p>");
}

static void row(const char *name, const char *network, double packets, double share, double error)
{
	fputs("<tr><td>", stdout);
	escaped(name);
	if (*network) {
		fputs("<br><small>", stdout);
		escaped(network);
		fputs("</small>", stdout);
	}
	printf("</td><td class=\"n\">%.0f</td><td class=\"n\">%.1f %%", packets, share * 100);
	if (error >= 0)
		printf(" &plusmn; %.1f", error * 100);
	printf("</td><td style=\"width:30%%\"><span class=\"bar\" style=\"width:%.1f%%\"></span></td></tr>\n",
	       share * 100);
}

static void table(const char *title, const char *id)
{
	printf("<h2>%s</h2><table id=\"%s\"><tr><th></th><th class=\"n\">packets</th><th class=\"n\">share</th><th></th></tr>\n",
	       title, id);
}

static void tables(const struct report *r)
{
	static const char *const titles[TOPS] = { "Sources", "Networks", "Protocols and ports", "Inside" };
	const struct history_sums *s = &r->history.sums;
	double dropped = s->verdict[DROPPED].packets ? (double)s->verdict[DROPPED].packets : 1;
	unsigned int lists[LABELS];
	size_t n = report_lists(&r->history, lists);
	char entry[64], network[NETWORK_TEXT_MAX];

	table("Lists", "lists");
	for (size_t i = 0; i < n; i++)
		row(report_list(&r->history, lists[i]), "", (double)s->list[lists[i]].packets,
		    (double)s->list[lists[i]].packets / dropped, -1);
	puts("</table>");
	for (enum top t = 0; t < TOPS; t++) {
		if (t == TOP_INSIDE && !s->top[t][0].family)
			continue; /* destinations were not asked about */
		table(titles[t], top_names[t]);
		for (unsigned int i = 0; i < r->top && s->top[t][i].family; i++)
			row(report_entry(entry, t, &s->top[t][i]),
			    report_network(network, r->networks, t, &s->top[t][i]), s->top[t][i].packets,
			    weighed_share(s, &s->top[t][i]), weighed_error(s, &s->top[t][i]));
		puts("</table>");
	}
	printf("<p>The tables below the lists come from %llu samples, which stand for %.0f packets. They are estimates: three standard errors "
	       "are said beside each share.</p>\n",
	       (unsigned long long)s->samples, s->weighed);
}

static void attacks(const struct report *r)
{
	char a[32], b[32], bytes[BYTES_TEXT_MAX];

	puts("<h2>Attacks</h2><table id=\"attacks\"><tr><th>from</th><th>to</th><th class=\"n\">packets</th><th class=\"n\">bytes"
	     "</th><th class=\"n\">peak a second</th></tr>");
	for (unsigned int i = 0; i < r->history.attacks_n; i++) {
		const struct history_attack *attack = &r->history.attacks[i];

		printf("<tr><td>%s</td><td>%s</td><td class=\"n\">%llu</td><td class=\"n\">%s</td><td class=\"n\">%.0f</td></tr>\n",
		       report_time(a, attack->begin), report_time(b, attack->end),
		       (unsigned long long)attack->dropped.packets, bytes_text(bytes, attack->dropped.bytes),
		       attack->peak);
	}
	puts("</table>");
}

static void detected(const struct report *r)
{
	size_t n = json_array_size(r->detected);

	if (!n)
		return;
	puts("<h2>Seen by the detector</h2><table id=\"detected\"><tr><th>from</th><th>for</th><th>kind</th><th>most often</th>"
	     "<th class=\"n\">packets above a limit</th><th class=\"n\">peak a second</th></tr>");
	for (size_t i = n > r->top ? n - r->top : 0; i < n; i++) {
		const json_t *attack = json_array_get(r->detected, i);
		char lasted[SPAN_TEXT_MAX], kind[ATTACK_TEXT_MAX];
		const char *cells[] = { attack_field(attack, "began"), attack_lasted(lasted, attack),
					attack_text(kind, attack), attack_field(attack, "busiest") };

		fputs("<tr>", stdout);
		for (size_t cell = 0; cell < sizeof(cells) / sizeof(*cells); cell++) {
			fputs("<td>", stdout);
			escaped(cells[cell]);
			fputs("</td>", stdout);
		}
		printf("<td class=\"n\">%llu</td><td class=\"n\">%lld</td></tr>\n", attack_packets(attack),
		       (long long)json_integer_value(json_object_get(attack, "peak")));
	}
	puts("</table>");
}

int report_html(const struct report *r)
{
	const struct history_sums *s = &r->history.sums;
	char a[32], b[32], bytes[BYTES_TEXT_MAX];

	printf(head, history_window_names[r->window]);
	printf("<h1>The last %s</h1><p>%s to %s</p>\n", history_window_names[r->window], report_time(a, s->from),
	       report_time(b, s->until));
	printf("<p><strong id=\"dropped\">%llu</strong> packets dropped (%s), %llu passed; at most %.0f dropped in a second, at "
	       "%s.</p>\n",
	       (unsigned long long)s->verdict[DROPPED].packets, bytes_text(bytes, s->verdict[DROPPED].bytes),
	       (unsigned long long)s->verdict[PASSED].packets, s->peak, report_time(a, s->peak_at));
	if (s->leaving[DROPPED].packets || s->leaving[PASSED].packets)
		printf("<p>Of these, %llu were dropped on their way out (%s), and %llu passed.</p>\n",
		       (unsigned long long)s->leaving[DROPPED].packets, bytes_text(bytes, s->leaving[DROPPED].bytes),
		       (unsigned long long)s->leaving[PASSED].packets);
	chart(r);
	tables(r);
	attacks(r);
	detected(r);
	puts("</body></html>");
	return out_end();
}
