package documents

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var (
	quoted = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	option = regexp.MustCompile(`^\[?(--?[a-zA-Z][a-zA-Z_-]*)`)
)

// CheckCommands fails the test for each command line of a program in the pages that names a command or an option that isn't there, and if they have fewer
// lines than least.
func CheckCommands(t *testing.T, top string, root *cobra.Command, least int) {
	t.Helper()
	name := regexp.QuoteMeta(root.Name())
	// In backticks, and as a line of code.
	inText := regexp.MustCompile("`" + name + " ([a-z][^`]*)`")
	inBlocks := regexp.MustCompile(`(?m)^ +(?:` + name + `|.*[;|] ` + name + `) (.*(?:\\\n.*)*)$`)
	pages, lines := Pages(t, top), 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range []*regexp.Regexp{inText, inBlocks} {
			for _, m := range pattern.FindAllSubmatch(text, -1) {
				lines++
				for line := range strings.SplitSeq(string(m[1]), "; "+root.Name()+" ") {
					checkLine(t, page, root, line)
				}
			}
		}
	}
	if lines < least {
		t.Errorf("only %d command lines of %s were found in %d pages", lines, root.Name(), len(pages))
	}
}

// checkLine finds the command of a line, and its options in the command's help. Of xargs it takes long options alone: others may be those
// of the command that it runs.
func checkLine(t *testing.T, page string, root *cobra.Command, line string) {
	t.Helper()
	line, _, _ = strings.Cut(quoted.ReplaceAllString(line, "…"), " #")
	words := strings.Fields(line)
	if len(words) == 0 {
		return
	}
	c, under, isGroup := root, words, true
	for isGroup && len(under) > 0 && !strings.ContainsAny(under[0][:1], "-[…") {
		next, _, err := c.Find(under[:1])
		if c == root && (err != nil || next == root) {
			t.Errorf("%s: `%s %s`: there is no such command", page, root.Name(), line)
			return
		}
		if isGroup = err == nil && next != c; isGroup {
			c, under = next, under[1:]
		}
	}
	var help bytes.Buffer
	c.SetOut(&help)
	if err := c.Help(); err != nil {
		t.Fatal(err)
	}
	for _, word := range under {
		m := option.FindStringSubmatch(word)
		if m == nil || c.Name() == "xargs" && !strings.HasPrefix(m[1], "--") {
			continue
		}
		if !knows(help.String(), strings.TrimLeft(m[1], "-")) {
			t.Errorf("%s: `%s %s`: the help of %s has no option %s", page, root.Name(), line, c.CommandPath(), m[1])
		}
	}
}

// knows reports whether a help text has an option.
func knows(help, name string) bool {
	return name == "help" || regexp.MustCompile(`(?m)(^|[\s,\[(|])--?`+regexp.QuoteMeta(name)+`($|[\s,=\[\])<|])`).MatchString(help)
}
