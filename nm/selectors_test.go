package nm

import (
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"heddle/internal/await"
)

// below are the elements that an XPath of names leads to; want counts among a node's children of that name, and 0 means all.
func below(nodes []*html.Node, name string, want int) (found []*html.Node) {
	for _, n := range nodes {
		i := 0
		for c := range n.ChildNodes() {
			if c.Type != html.ElementNode || c.Data != name {
				continue
			}
			if i++; want == 0 || i == want {
				found = append(found, c)
			}
		}
	}
	return found
}

// classed are the elements of a class.
func classed(root *html.Node, class string) (found []*html.Node) {
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "class" && a.Val == class {
				found = append(found, n)
			}
		}
	}
	return found
}

// inner is the text of an element, trimmed.
func inner(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

// Hue reads a log by the XPath /html/body/table/tbody/tr/td[2], and Taier by the class content. A parser of HTML finds them as these programs
// do: it closes, moves and adds elements as browsers do.
func TestProgramsFindTheirElementsOnPages(t *testing.T) {
	l := newLab(t).up()
	id := containerID(1, 1)
	l.run(id, "echo '<b>one & two' > "+"${LOG_DIRS}/stdout; sleep 600")
	page := "/node/containerlogs/" + id.String() + "/ann"
	await.Until(t, "the log", func() bool { return strings.Contains(l.web("GET", page+"/stdout/?start=0").body, "two") })
	for path, text := range map[string]string{
		page + "/stdout/?start=0": "<b>one & two", page: "stdout", "/node": "Memory for containers", "/node/allContainers": id.String(),
		"/node/allApplications": id.Attempt.App.String(), "/node/container/" + id.String(): "RUNNING", "/node/application/" + id.Attempt.App.String(): id.String(),
	} {
		got := l.web("GET", path)
		root, err := html.Parse(strings.NewReader(got.body))
		if err != nil || got.status != http.StatusOK {
			t.Errorf("%s: %d, %v", path, got.status, err)
			continue
		}
		at := below(below(below(below(below(below([]*html.Node{root}, "html", 1), "body", 1), "table", 0), "tbody", 0), "tr", 0), "td", 2)
		content := classed(root, "content")
		if len(at) != 1 || len(content) != 1 || at[0] != content[0] {
			t.Errorf("%s: the path leads to %d cells, and the class to %d: %s", path, len(at), len(content), got.body)
			continue
		}
		if has := inner(at[0]); !strings.Contains(has, text) || strings.HasSuffix(path, "start=0") && has != text {
			t.Errorf("%s: the cell has %q, and no %q", path, has, text)
		}
	}
}
