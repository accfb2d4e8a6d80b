package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents lists the files of the repository: the pages, and all others with a slash in front.
func documents(t *testing.T) (pages, files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || strings.HasPrefix(path.Base(name), ".") && name != root):
			return fs.SkipDir
		case strings.HasSuffix(name, ".md"):
			pages = append(pages, name)
		case !d.IsDir():
			files = append(files, "/"+name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, files
}

// filesInDocs are the source files that a document names in backticks, whole or by the end of their paths.
var filesInDocs = regexp.MustCompile("`([a-zA-Z0-9_./-]+\\.(?:go|proto|py))`")

// A document names no file that isn't there, so that whoever adds something by docs/architecture.md finds the places.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	pages, files := documents(t)
	named := 0
	for _, page := range pages {
		for _, m := range filesInDocs.FindAllStringSubmatch(text(t, page), -1) {
			named++
			if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
				t.Errorf("%s names %s, which is no file", page, m[1])
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d names of files were found in %d pages", named, len(pages))
	}
}

var (
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped  = regexp.MustCompile(`[^\pL\pN_ -]`) // of a heading in its anchor
)

// Links from one document to another, and to their headings, lead somewhere.
func TestLinksOfDocumentsLeadSomewhere(t *testing.T) {
	pages, _ := documents(t)
	followed := 0
	for _, page := range pages {
		for _, m := range links.FindAllStringSubmatch(text(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			name, anchor, _ := strings.Cut(m[1], "#")
			to := path.Join(path.Dir(page), name)
			if name == "" {
				to = page
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(text(t, to)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, m[1])
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were found in %d pages", followed, len(pages))
	}
}

// anchors are the names by which links lead to the headings of a page.
func anchors(page string) (names []string) {
	for _, m := range headings.FindAllStringSubmatch(page, -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

// A decision says what it answers, what was decided, what follows, and which tests hold it, in that order.
func TestDecisionsHaveTheirParts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs/decisions/*.md"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d decisions were found: %v", len(files), err)
	}
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		from, page := 0, text(t, name)
		for _, part := range []string{"Context", "Decision", "Consequences", "Tests"} {
			at := strings.Index(page[from:], "\n## "+part+"\n")
			if at < 0 {
				t.Errorf("%s lacks ## %s, or has it in another place", name, part)
				break
			}
			from += at + 1
		}
	}
}

// Patterns of what a decision names as its tests: commands, the packages and patterns in these, and functions by their names.
var (
	testCommands = regexp.MustCompile("`([^`]*go test [^`]*)`")
	testPackages = regexp.MustCompile(`\./[\w./]+`)
	testPatterns = regexp.MustCompile(`-(?:run|bench) (?:'([^']*)'|(\S+))`)
	testNames    = regexp.MustCompile("`((?:Test|Benchmark)[A-Z]\\w*)`")
	testFuncs    = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(`)
)

// The tests that decisions name exist: each part of a pattern names one in the packages of its command.
func TestDecisionsNameTestsThatExist(t *testing.T) {
	pages, files := documents(t)
	tests := map[string][]string{} // of packages, by their folders
	var all []string
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			for _, m := range testFuncs.FindAllStringSubmatch(text(t, f[1:]), -1) {
				dir := path.Dir(f[1:])
				tests[dir] = append(tests[dir], m[1])
				all = append(all, m[1])
			}
		}
	}
	named := 0
	for _, page := range pages {
		if path.Dir(page) != "docs/decisions" {
			continue
		}
		body := text(t, page)
		for _, m := range testNames.FindAllStringSubmatch(body, -1) {
			if named++; !slices.Contains(all, m[1]) {
				t.Errorf("%s names the test %s, which doesn't exist", page, m[1])
			}
		}
		for _, command := range testCommands.FindAllStringSubmatch(body, -1) {
			var here []string
			for _, p := range testPackages.FindAllString(command[1], -1) {
				found := testsOf(tests, strings.TrimPrefix(p, "./"))
				if len(found) == 0 {
					t.Errorf("%s names tests of %s, which has none", page, p)
				}
				here = append(here, found...)
			}
			for _, m := range testPatterns.FindAllStringSubmatch(command[1], -1) {
				for part := range strings.SplitSeq(strings.ReplaceAll(m[1]+m[2], `\|`, "|"), "|") {
					function, _, _ := strings.Cut(part, "/")
					named++
					if r := regexp.MustCompile(function); function != "^$" && !slices.ContainsFunc(here, r.MatchString) {
						t.Errorf("%s names a test %s, which none is called in the packages of %s", page, function, command[1])
					}
				}
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d names of tests were found", named)
	}
}

// testsOf returns the tests of a package, or of all below a folder if the name ends in /...
func testsOf(tests map[string][]string, name string) (found []string) {
	folder, below := strings.CutSuffix(name, "/...")
	for dir, names := range tests {
		if dir == folder || below && strings.HasPrefix(dir, folder+"/") {
			found = append(found, names...)
		}
	}
	return found
}

// othersErrors are texts of errors, and parts of them, that Go's libraries and the kernel have.
var othersErrors = []string{"tls: failed to verify", "certificate is valid", "Client sent an", "no such file"}

// quoted are the texts of errors in a cell of a table.
var quoted = regexp.MustCompile("\"([^\"]+)\"|`([^`]+)`")

// The errors that the pages on security explain are those that the code says: three words in a row of each stand in it.
func TestErrorsInDocumentsAreSaid(t *testing.T) {
	var code strings.Builder
	_, files := documents(t)
	for _, f := range files {
		if strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go") {
			code.WriteString(text(t, f[1:]))
		}
	}
	all := strings.Join(append(strings.Fields(code.String()), othersErrors...), " ")
	checked, errors := 0, false
	for line := range strings.Lines(text(t, "docs/secure.md") + text(t, "docs/https.md") + text(t, "docs/hdfs.md")) {
		cell, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		switch {
		case !strings.HasPrefix(line, "| ") || !row:
			errors = errors && strings.HasPrefix(line, "|--")
			continue
		case cell == "error" || cell == "message" || cell == "answer":
			errors = true
			continue
		case !errors:
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
			checked++
			if !said(all, m[1]+m[2]) {
				t.Errorf("a page on security explains %q, which nothing says", m[1]+m[2])
			}
		}
	}
	if checked < 25 {
		t.Errorf("only %d errors were found", checked)
	}
}

// said reports whether three words of a text, or all if it has fewer, stand in a row in another one.
func said(in, text string) bool {
	for part := range strings.SplitSeq(text, "…") {
		words := strings.Fields(part)
		for i := 0; i+3 <= len(words); i++ {
			if strings.Contains(in, strings.Join(words[i:i+3], " ")) {
				return true
			}
		}
		if n := len(words); n > 0 && n < 3 && len(part) > 8 && strings.Contains(in, strings.Join(words, " ")) {
			return true
		}
	}
	return false
}
