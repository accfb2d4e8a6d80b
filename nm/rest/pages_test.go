package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"heddle/yarn/rest"
)

// Hue finds the text of a log page by /html/body/table/tbody/tr/td[2], and Taier by the class content. The pages had neither.
func TestPagesHaveTheFrameThatProgramsRead(t *testing.T) {
	w := httptest.NewRecorder()
	var b body
	b.WriteString("<p>text</p>")
	show(w, "Logs for x", &b)
	frame := regexp.MustCompile(`(?s)<body><h1>Logs for x</h1>\n<table[^>]*><tbody><tr[^>]*><td id="navcell">.*</td><td class="content">\n<p>text</p></td></tr></tbody></table>\n\n</body>`)
	if !frame.MatchString(w.Body.String()) {
		t.Errorf("%s", w.Body)
	}
	if n := len(regexp.MustCompile(`<td`).FindAllString(frameBegin, -1)); n != 2 {
		t.Errorf("the content is in cell %d", n)
	}
}

// A gateway may put a prefix before all paths. Links that begin with / led out of it.
func TestLinksOfPagesAreRelative(t *testing.T) {
	s := httptest.NewRecorder()
	rest.Relative(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var b body
		b.WriteString(link("/node/container/c", "c") + esc(` href="/not a link`))
		show(w, "it", &b)
	})).ServeHTTP(s, httptest.NewRequest(http.MethodGet, "/node/container/x%2Fy", nil))
	page := s.Body.String()
	for _, want := range []string{`href="./../../node/container/c"`, `href="./../../ws/v1/node/info"`, `href=&#34;/not a link`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s: %s", want, page)
		}
	}
	plain := httptest.NewRecorder()
	rest.Relative(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, `a="/b"`)
	})).ServeHTTP(plain, httptest.NewRequest(http.MethodGet, "/node/x", nil))
	if plain.Body.String() != `a="/b"` {
		t.Errorf("a text was changed: %s", plain.Body)
	}
}
