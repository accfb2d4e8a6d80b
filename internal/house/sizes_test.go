package house

import (
	"go/ast"
	"strings"
	"testing"
)

// maxLines is how many lines a package may have without its tests and generated code.
const maxLines = 3000

// largePackages are above the limit, and may not grow: the number is the most that each may have. Their comments say why.
var largePackages = map[string]int{
	"rm/rest":                     5000,
	"rm/queue":                    3390,
	"cmd/heddle/internal/command": 4290,
	"rm/leader":                   3492,
	"rm/service":                  3150,
	"rm/scheduler/core":           3990,
	"rm/raft":                     4450,
	"yarn/ipc":                    4000,
	"conf":                        4230,
	"nm/cgroup":                   3150,
	"nm/container":                3440,
	"nm/localizer":                3300,
}

// The comment of a large package has a sentence that begins with these words.
const largeBecause = "It is large because "

// judge compares a size with the limit, or with what an exception allows. An exception needs a reason in the comment.
func judge(t *testing.T, what string, size, limit int, unit string, exceptions map[string]int, comment, because string) {
	t.Helper()
	most, ok := exceptions[what]
	switch {
	case size <= limit && ok:
		t.Errorf("%s has %d %s, and needs no exception any more: take it off the list", what, size, unit)
	case size > limit && !ok:
		t.Errorf("%s has %d %s, and may have %d: cut it where its ideas part", what, size, unit, limit)
	case ok && size > most:
		t.Errorf("%s has %d %s, and may not have more than %d", what, size, unit, most)
	case ok && !strings.Contains(comment, because):
		t.Errorf("%s has %d %s, and its comment must say why: %q", what, size, unit, because+"…")
	}
	if !ok && strings.Contains(comment, because) {
		t.Errorf("%s has %d %s, and its comment says why it has many: leave that out", what, size, unit)
	}
}

func TestPackagesAreSmall(t *testing.T) {
	all := packages(t)
	for name, p := range all {
		judge(t, name, p.lines, maxLines, "lines", largePackages, p.comment(), largeBecause)
	}
	for name := range largePackages {
		if all[name] == nil {
			t.Errorf("there is no package %s: take it off the list", name)
		}
	}
}

// comment is what the package says of itself.
func (p *pkg) comment() string {
	var all string
	for _, f := range p.files {
		all += prose(f.Doc)
	}
	return all
}

// prose is a comment without its line breaks.
func prose(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ") + " "
}

// receiver is the name of a method's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
