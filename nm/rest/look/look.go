// Package look gives the node's own pages the look of the cluster's: one stylesheet for both themes, and the parts that pages are made of. Texts are escaped.
package look

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
)

//go:embed look.css
var css string

// CSS is the stylesheet, and Path where it is served.
const Path = "/node/static/look.css"

// policy allows pages to load the stylesheet, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

// Stylesheet serves the stylesheet.
func Stylesheet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache") // a restart may change the binary
	_, _ = io.WriteString(w, css)
}

// Frame surrounds the content of all pages of a node.
type Frame struct {
	Node    string // its id
	Cluster string // URL of the cluster's pages; "": none is known
}

// menu leads to the node's other pages, and back to the cluster.
func (f *Frame) menu() string {
	var b strings.Builder
	b.WriteString("<p>")
	if f.Cluster != "" {
		b.WriteString(`<a class="name" href="` + html.EscapeString(f.Cluster+"/cluster/overview") + `">Heddle</a> <a href="` + html.EscapeString(f.Cluster+"/cluster/nodes") + `">All nodes</a> `)
	}
	for _, x := range [][2]string{{"/node", "This node"}, {"/node/allApplications", "Applications"}, {"/node/allContainers", "Containers"}} {
		b.WriteString(`<a href="` + x[0] + `">` + x[1] + `</a> `)
	}
	for _, x := range [][2]string{{"/ws/v1/node/info", "REST"}, {"/conf", "Configuration"}, {"/logs/", "Logs"}, {"/metrics", "Metrics"}, {"/stacks", "Stacks"}} {
		b.WriteString(`<a class="tool" href="` + x[0] + `">` + x[1] + `</a> `)
	}
	return b.String() + "</p>\n"
}

// end follows the content.
const end = "</td></tr></tbody></table>\n"

// Begin writes the beginning of a page, up to its content. The frame is as in Hadoop's pages: programs such as Hue read the second cell of the
// body's table, or the cell of the class content.
func (f *Frame) Begin(w http.ResponseWriter, status int, title string) error {
	h := w.Header()
	h.Set("Content-Type", "text/html;charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	w.WriteHeader(status)
	title = html.EscapeString(title)
	_, err := fmt.Fprintf(w, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>%s</title>"+
		"<link rel=\"stylesheet\" href=\"%s\"></head>\n<body><h1>%[1]s</h1>\n<table id=\"layout\" class=\"ui-widget-content\" role=\"presentation\"><tbody><tr>"+
		"<td id=\"navcell\">%[3]s</td><td class=\"content\">\n", title, Path, f.menu())
	return err
}

// End writes the end of a page.
func End(w io.Writer) { _, _ = io.WriteString(w, end+"\n</body></html>\n") }

// Page writes a whole page. body is HTML.
func (f *Frame) Page(w http.ResponseWriter, status int, title string, body *Body) {
	if f.Begin(w, status, title) != nil {
		return // the client is gone
	}
	_, _ = io.WriteString(w, body.String())
	End(w)
}

// Body builds the content of a page.
type Body struct{ strings.Builder }

// Text escapes a text.
func Text(v any) string { return html.EscapeString(fmt.Sprint(v)) }

// Link is a link to a path of the node.
func Link(to, text string) string {
	return `<a href="` + html.EscapeString(to) + `">` + Text(text) + `</a>`
}

// kinds are the states by how they look, as in the cluster's pages.
var kinds = map[string]string{
	"RUNNING": "good", "GOOD": "good", "DONE": "off", "SUSPENDED": "wait", "FULL": "wait", "LOCALIZING": "busy",
	"SCHEDULED": "busy", "NEW": "busy", "BAD": "bad", "UNHEALTHY": "bad",
	"EXITED_WITH_FAILURE": "bad", "LOCALIZATION_FAILED": "bad", "KILLING": "bad", "FINISHED": "off",
}

// Badge is a state with a shape and a colour.
func Badge(state string) string {
	kind := kinds[state]
	if kind == "" {
		kind = "busy"
	}
	return `<span class="badge ` + kind + `">` + Text(state) + `</span>`
}

// Meter is a part of a whole, in percent, with its figure.
func Meter(percent float64) string {
	percent = max(0, percent)
	return fmt.Sprintf(`<meter min="0" max="100" value="%.1f" aria-label="%[2]s"></meter>%[2]s`, min(percent, 100),
		fmt.Sprintf("%.1f %%", percent))
}

// Facts writes names and values; values are HTML, and those that are empty are left out.
func (b *Body) Facts(pairs ...[2]string) {
	b.WriteString("<dl>\n")
	for _, p := range pairs {
		if p[1] != "" {
			b.WriteString("<dt>" + Text(p[0]) + "</dt><dd>" + p[1] + "</dd>\n")
		}
	}
	b.WriteString("</dl>\n")
}

// Heading writes the heading of a part.
func (b *Body) Heading(text string) { b.WriteString("<h2>" + Text(text) + "</h2>\n") }

// Column is a column of a table: its head, and how it stands.
type Column struct {
	Head string
	Kind string // "", num or wide
}

// Table writes a table of rows of cells, which are HTML, or what there is to say without any.
func (b *Body) Table(label string, columns []Column, rows [][]string, none string) {
	if len(rows) == 0 {
		b.WriteString(`<p class="none">` + Text(none) + "</p>\n")
		return
	}
	cell := func(tag string, c *Column, text string) {
		b.WriteString("<" + tag)
		if c.Kind != "" {
			b.WriteString(` class="` + c.Kind + `"`)
		}
		b.WriteString(">" + text + "</" + tag[:2] + ">")
	}
	b.WriteString(`<div class="scroll" tabindex="0" role="region" aria-label="` + Text(label) + `"><table><thead><tr>`)
	for i := range columns {
		cell(`th scope="col"`, &columns[i], Text(columns[i].Head))
	}
	b.WriteString("</tr></thead>\n<tbody>")
	for _, r := range rows {
		b.WriteString("<tr>")
		for i := range r {
			cell("td", &columns[i], r[i])
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
}
