// Package page writes the answer of a what-if as one HTML page with plots, which needs nothing else: it loads nothing. Colours are the tokens
// of docs/design.md, for the light and the dark theme.
package page

import (
	"bufio"
	"fmt"
	"html"
	"io"

	"heddle/sim/whatif"
)

const style = `
:root{--paper:#fbfaf6;--card:#ffffff;--ink:#1d2524;--soft:#586462;--line:#dcd9cf;--accent:#20504f;--good:#23693f;--bad:#a82a25;
--q1:#20504f;--q2:#b06a2c;--q3:#4f6fb0;--q4:#8d4f86;--q5:#6d8a2e;--q6:#a84a4a;--q7:#3f8f9b;--q8:#7a6f5c;color-scheme:light}
@media (prefers-color-scheme:dark){:root{--paper:#151a1a;--card:#1c2322;--ink:#e6e8e4;--soft:#a0aaa8;--line:#2f3938;--accent:#8fc7c2;--good:#74c492;--bad:#f0908a;
--q1:#6fb3ad;--q2:#d9995a;--q3:#8aa6e0;--q4:#c78ac0;--q5:#a8c765;--q6:#df8a86;--q7:#76c3ce;--q8:#b3a68f;color-scheme:dark}}
body{background:var(--paper);color:var(--ink);font:14px/1.45 system-ui,sans-serif;margin:0 auto;max-width:1360px;padding:1.5rem 1rem 2.5rem}
h1{font-size:1.25rem}h2{font-size:1rem;margin-top:1.5rem}
p,li{max-width:70em}.soft{color:var(--soft)}
.table{overflow-x:auto;background:var(--card)}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;width:100%}
th,td{padding:.25rem .5rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}
th{color:var(--soft);font-weight:500;font-size:.78rem}
th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:9em}
.bad{color:var(--bad)}.good{color:var(--good)}
svg{width:100%;height:auto;background:var(--card);display:block;margin:.5rem 0}
svg text{fill:var(--soft);font-size:11px}svg .name{fill:var(--ink)}
`

// writer writes HTML. The first error stays.
type writer struct{ *bufio.Writer }

func (w writer) printf(format string, a ...any) { fmt.Fprintf(w, format, a...) }

// text is text as HTML shows it.
func text(s string) string { return html.EscapeString(whatif.Clean(s)) }

// Write writes the page.
func Write(to io.Writer, r *whatif.Report) error {
	w := writer{bufio.NewWriter(to)}
	w.printf("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<title>What if</title><style>%s</style></head><body><main>\n<h1>What would have happened</h1>\n", style)
	w.head(r)
	w.printf("<h2>Who loses</h2>\n")
	w.list("Who loses", r.Losers, "bad", "Nobody loses by more than the error bars.")
	w.printf("<h2>Who gains</h2>\n")
	w.list("Who gains", r.Gainers, "good", "Nobody gains by more than the error bars.")
	w.printf("<h2>Queues</h2>\n")
	w.rows("Queues", append([]whatif.Row{r.Cluster}, r.Queues...))
	w.partitions(r.Partitions)
	w.printf("<h2>Wait of containers, from the request to the grant</h2>\n")
	w.bars(r.Queues, func(f *whatif.Figures) whatif.Percentile { return f.Wait })
	w.printf("<h2>Time of applications, from submission to end</h2>\n")
	w.bars(r.Queues, func(f *whatif.Figures) whatif.Percentile { return f.Time })
	w.printf("<h2>Each application</h2>\n")
	w.scatter(r)
	w.printf("<h2>Memory in use, before</h2>\n")
	w.areas(&r.Before, r.Cluster.Name)
	w.printf("<h2>Memory in use, after</h2>\n")
	w.areas(&r.After, r.Cluster.Name)
	w.printf("<h2>Users</h2>\n")
	w.rows("Users", r.Users[:min(len(r.Users), maxUsers)])
	if more := len(r.Users) - maxUsers; more > 0 {
		w.printf("<p class=\"soft\">%d more users: --json has all.</p>\n", more)
	}
	w.printf("</main></body></html>\n")
	return w.Flush()
}

// maxUsers bounds the users that are listed.
const maxUsers = 100

func (w writer) head(r *whatif.Report) {
	rec, b := &r.Record, r.Backtest
	w.printf("<p>Recorded from %s to %s: %d nodes, %d applications, %d containers.</p>\n<ul>\n", stamp(rec.Begin), stamp(rec.End), rec.Nodes, rec.Apps, rec.Containers)
	for _, c := range r.Changes {
		w.printf("<li>Changed: %s</li>\n", text(c))
	}
	w.printf("<li>Backtest: the unchanged configuration, played, meets the recorded times of %d applications within %.1f %% in the median, %.1f %% at p90, %.1f %% at p95. Error bars come from that.</li>\n",
		b.Apps, 100*b.Median, 100*b.P90, 100*b.P95)
	for _, n := range rec.Notes {
		w.printf("<li>%s</li>\n", text(n))
	}
	for _, a := range r.Added {
		w.printf("<li>Added: %s in %s starts %s after its submission.</li>\n", text(a.Name), text(a.Queue), span(a.Start))
	}
	w.printf("</ul>\n")
}

func (w writer) list(label string, list []whatif.Loser, class, none string) {
	if len(list) == 0 {
		w.printf("<p>%s</p>\n", none)
		return
	}
	w.table(label)
	w.printf("<tr><th>who</th><th>figure</th><th>before</th><th>after</th></tr>\n")
	for _, l := range list {
		before, after := span(l.Before), span(l.After)
		if l.Figure == "applications that can't end" {
			before, after = fmt.Sprint(l.Before), fmt.Sprint(l.After)
		}
		w.printf("<tr><td>%s %s</td><td>%s</td><td>%s</td><td class=\"%s\">%s</td></tr>\n", l.Kind, text(l.Name), l.Figure, before, class, after)
	}
	w.printf("</table></div>\n")
}

// partitions writes the partitions, if there are any but the default one.
func (w writer) partitions(rows []whatif.Row) {
	if len(rows) == 0 {
		return
	}
	w.printf("<h2>Partitions</h2>\n")
	w.table("Partitions")
	w.printf("<tr><th>who</th><th>when</th><th>containers</th><th>wait p50</th><th>p90</th><th>p99</th><th>share</th><th>preempted</th><th>memory, GB·h</th></tr>\n")
	for i := range rows {
		x := &rows[i]
		for k, f := range []*whatif.Figures{&x.Then, &x.Before, &x.After} {
			name := ""
			if k == 0 {
				name = text(whatif.PartitionName(x.Name))
			}
			w.printf("<tr><td>%s</td><td>%s</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%.1f %%</td><td>%d</td><td>%.1f</td></tr>\n", name, []string{"recorded", "before", "after"}[k],
				f.Containers, span(f.Wait.P50), span(f.Wait.P90), span(f.Wait.P99), 100*f.Share, f.Preempted, f.Memory/1024/3600)
		}
	}
	w.printf("</table></div>\n")
}

// table begins a table, which the keyboard scrolls if it is wide.
func (w writer) table(label string) {
	w.printf("<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table>", label)
}

func (w writer) rows(label string, rows []whatif.Row) {
	w.table(label)
	w.printf("<tr><th>who</th><th>when</th><th>apps</th><th>containers</th><th>wait p50</th><th>p90</th><th>p99</th><th>time p50</th><th>p90</th><th>p99</th>" +
		"<th>share</th><th>preempted</th><th>work lost</th><th>suspended</th><th>memory, GB·h</th></tr>\n")
	for i := range rows {
		x := &rows[i]
		for k, f := range []*whatif.Figures{&x.Then, &x.Before, &x.After} {
			name := ""
			if k == 0 {
				name = text(x.Name)
			}
			w.printf("<tr><td>%s</td><td>%s</td><td>%d</td><td>%d</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%.1f %%</td><td>%d</td><td>%s</td><td>%s</td><td>%.1f</td></tr>\n",
				name, []string{"recorded", "before", "after"}[k], f.Apps, f.Containers, span(f.Wait.P50), span(f.Wait.P90), span(f.Wait.P99),
				span(f.Time.P50), span(f.Time.P90), span(f.Time.P99), 100*f.Share, f.Preempted, span(f.Lost), span(f.Standstill), f.Memory/1024/3600)
		}
	}
	w.printf("</table></div>\n")
}
