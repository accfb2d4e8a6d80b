package rest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"heddle/nm/rest/look"
	"heddle/yarn/rest"
)

// Hue finds the text of a log page by /html/body/table/tbody/tr/td[2], and Taier by the class content. The pages had neither.
func TestPagesHaveTheFrameThatProgramsRead(t *testing.T) {
	w := httptest.NewRecorder()
	var b look.Body
	b.WriteString("<p>text</p>")
	webPages{&Server{}}.show(w, "Logs for x", &b)
	frame := regexp.MustCompile(`(?s)<body><h1>Logs for x</h1>\n<table[^>]*><tbody><tr[^>]*><td id="navcell">.*</td><td class="content">\n<p>text</p></td></tr></tbody></table>\n\n</body>`)
	if !frame.MatchString(w.Body.String()) {
		t.Errorf("%s", w.Body)
	}
	if n := len(regexp.MustCompile(`<td`).FindAllString(w.Body.String(), -1)); n != 2 {
		t.Errorf("the content is in cell %d", n)
	}
}

// A gateway may put a prefix before all paths. Links that begin with / led out of it.
func TestLinksOfPagesAreRelative(t *testing.T) {
	s := httptest.NewRecorder()
	rest.Relative(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		var b look.Body
		b.WriteString(link("/node/container/c", "c") + esc(` href="/not a link`))
		webPages{&Server{}}.show(w, "it", &b)
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

// A node's pages lead back to the cluster, have one style and a policy, and take what applications say as text.
func TestPagesHaveTheClustersLook(t *testing.T) {
	w := httptest.NewRecorder()
	var b look.Body
	b.Facts([2]string{"<Name>", look.Badge("SUSPENDED")}, [2]string{"left out", ""})
	b.Table("things", []look.Column{{Head: "<Thing>"}, {Head: "Figure", Kind: "num"}}, [][]string{{look.Text("<img src=x>"), look.Meter(250)}}, "")
	b.Table("nothing", nil, nil, "Nothing <here>.")
	s := &Server{Options: Options{Cluster: "http://rm:8088"}}
	webPages{s}.show(w, "<script>", &b)
	for _, want := range []string{
		`<a class="name" href="http://rm:8088/cluster/overview">Heddle</a>`, `<dt>&lt;Name&gt;</dt><dd><span class="badge wait">SUSPENDED</span></dd>`, "&lt;img src=x&gt;", `<title>&lt;script&gt;</title>`,
		`value="100.0" aria-label="250.0 %"></meter>250.0 %`, "Nothing &lt;here&gt;.", `<th scope="col" class="num">Figure</th>`, `<meta name="viewport"`,
	} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s: %s", want, w.Body)
		}
	}
	if strings.Contains(w.Body.String(), "left out") || !strings.Contains(w.Header().Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%v %s", w.Header(), w.Body)
	}
	css := httptest.NewRecorder()
	look.Stylesheet(css, nil)
	if !strings.Contains(css.Body.String(), "prefers-color-scheme: dark") || css.Header().Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("%v", css.Header())
	}
}
