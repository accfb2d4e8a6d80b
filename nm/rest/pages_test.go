package rest

import (
	"net/http/httptest"
	"regexp"
	"testing"
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
