package house

import (
	"go/ast"
	"go/token"
	"iter"
	"path"
	"regexp"
	"strings"
	"testing"
)

// ceilings are the words that a page may have; the first pattern that fits counts. Divide a page that needs more, or move to another what only some need.
var ceilings = []struct {
	pages string
	words int // 0: it is generated
}{
	{"docs/licences.md", 0},
	{"docs/packages.md", 0},
	{"docs/configuration.md", 0},
	{"docs/studies/README.md", 0},
	{"docs/migration.md", 1800},     // commands with their outputs, which integration/migration executes
	{"docs/compatibility.md", 1200}, // a row for each difference from YARN; integration/parity reads it
	{"docs/architecture.md", 1450},
	{"docs/decisions/*.md", 420},
	{"docs/studies/suspension.md", 480},
	{"docs/studies/*.md", 380},
	{"README.md", 500},
	{"*.md", 400},
	{"*/*.md", 950},
	{"*/*/*.md", 400},
	{"*/*/*/*.md", 400},
}

// allWords are those of all pages together that aren't generated. Lower it when there are fewer.
const allWords = 33600

// word is what has a letter or a digit between blanks: bars and rules of tables aren't words.
var word = regexp.MustCompile(`\S*[\pL\d]\S*`)

// Readers find what they look for: pages are short.
func TestPagesAreShort(t *testing.T) {
	pages, _ := documents(t)
	all := 0
	for _, page := range pages {
		words := len(word.FindAllString(text(t, page), -1))
		for _, c := range ceilings {
			if fits, err := path.Match(c.pages, page); err != nil {
				t.Fatal(err)
			} else if !fits {
				continue
			}
			if c.words > 0 {
				all += words
			}
			if c.words > 0 && words > c.words {
				t.Errorf("%s has %d words, and may have %d", page, words, c.words)
			}
			break
		}
	}
	if all > allWords || all < allWords*3/4 {
		t.Errorf("all pages that aren't generated have %d words, and may have %d", all, allWords)
	}
}

// Operators' and users' pages of more than 500 words begin with links to their sections.
func TestLongPagesHaveContents(t *testing.T) {
	pages, _ := documents(t)
	for _, page := range pages {
		if path.Dir(page) != "docs" || page == "docs/README.md" {
			continue
		}
		body := text(t, page)
		sections := regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(body, -1)
		if len(strings.Fields(body)) < 500 || len(sections) < 2 || strings.Contains(body, "This page is made from") || page == "docs/configuration.md" {
			continue
		}
		for _, s := range sections {
			if anchor := anchors("## " + s[1])[0]; !strings.Contains(body, "](#"+anchor+")") {
				t.Errorf("%s doesn't link to its section %q at its beginning", page, s[1])
			}
		}
	}
}

// What is asked first is two clicks from README.md: the contents, and the section that answers.
func TestQuestionsAreAnsweredInTwoClicks(t *testing.T) {
	if !strings.Contains(text(t, "README.md"), "](docs/README.md)") {
		t.Error("README.md doesn't link to docs/README.md")
	}
	contents := text(t, "docs/README.md")
	for _, q := range []struct{ question, says string }{
		{"A job waits: why?", "heddle app -why"},
		{"How do I replace a ResourceManager's disk?", "systemctl stop heddle-rm"},
		{"Where is the user limit computed?", "user_limits.go"},
		{"How do I add a node?", "systemctl enable --now heddle-nm"},
		{"Which of YARN's features lack?", "reservation plans"},
	} {
		m := regexp.MustCompile(`\| ` + regexp.QuoteMeta(q.question) + ` \| \[[^\]]*\]\(([^)#]*)#([^)]*)\)`).FindStringSubmatch(contents)
		if m == nil {
			t.Errorf("docs/README.md has no link that answers %q", q.question)
			continue
		}
		if section := sectionOf(text(t, "docs/"+m[1]), m[2]); !strings.Contains(section, q.says) {
			t.Errorf("%s#%s answers %q without %q", m[1], m[2], q.question, q.says)
		}
	}
}

// sectionOf returns a section of a page by its anchor, with what is below it.
func sectionOf(page, anchor string) string {
	found, depth := false, 0
	var b strings.Builder
	for line := range strings.Lines(page) {
		if m := headings.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			here := len(line) - len(strings.TrimLeft(line, "#"))
			if found && here <= depth {
				break
			}
			if anchors(line)[0] == anchor {
				found, depth = true, here
			}
		}
		if found {
			b.WriteString(line)
		}
	}
	return b.String()
}

// oneMeaning lists words that pages use in one meaning, as docs/architecture.md says: phrases with another one, and what to write instead.
var oneMeaning = []struct {
	word    string
	other   *regexp.Regexp
	allowed *regexp.Regexp // in which the word has its meaning, or is a name; nil: none
	use     string
}{
	{"stage: maps or reduces", regexp.MustCompile(`(?i)\bstag(ed|ing)\b|\bstages? (its|their|the) (inputs?|files?)\b`), nil, "preload (inputs), upload (users' files)"},
	{
		"level: how far a container is suspended", regexp.MustCompile(`(?i)\b(\d+|two|three|four|five|ten|speed) levels?\b|\blevels? (\d|of speed)|\bnodes? of (a|the) level\b|\bfor each level\b`),
		regexp.MustCompile(`the paper's level \d|\(level \d\)`), "speed class (nodes), layer, depth",
	},
	{"turn: the right to change a container", regexp.MustCompile(`(?i)\b(its|their|others'|probe's|job's|whose|all) turns?\b`), nil, "comes first, is served"},
	{"order: what is told to a node", regexp.MustCompile(`(?i)\borders? of (applications|queues|requests|probes|victims|users|service)\b`), nil, "ranking, ordering policy"},
	{"lent: the part of a node for short tasks", regexp.MustCompile(`(?i)\b(exclusive|partition|label|labels)\b[^.|\n]*\b(lent|lends?|lending)\b`), nil, "share, shared"},
	{"placement: the choice of a queue", regexp.MustCompile(`(?i)\bplacements?\b`), regexp.MustCompile(`(?i)\bplacement (rules?|constraints?)\b|\brules of placement\b|\*placement\*`), "the choice of a node; YARN's placement constraints keep their name"},
	{"driver: what runs the scheduler", regexp.MustCompile(`(?i)\bdrivers?\b`), regexp.MustCompile(`\b(Spark|skein)'s drivers?\b|\*driver\*|wraps the driver`), "Spark's driver"},
	{"machine: a computer", regexp.MustCompile(`(?i)\bstate machines?\b`), nil, "states"},
}

var (
	blocksOfCode = regexp.MustCompile("(?ms)^```.*?^```|^    .*?$")
	inlineCode   = regexp.MustCompile("`[^`\n]*`")
	targets      = regexp.MustCompile(`\]\([^)\s]*\)`)
)

// Pages use the words of the glossary in their one meaning.
func TestPagesUseWordsInOneMeaning(t *testing.T) {
	pages, _ := documents(t)
	for _, page := range pages {
		switch page {
		case "docs/licences.md", "docs/packages.md", "docs/configuration.md":
			continue
		case "docs/studies/README.md": // it names figures and runs in the papers' own words
			continue
		}
		prose := blocksOfCode.ReplaceAllStringFunc(text(t, page), func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		prose = targets.ReplaceAllString(inlineCode.ReplaceAllString(prose, "`"), "]")
		number := 0
		for line := range strings.Lines(prose) {
			number++
			for _, w := range oneMeaning {
				rest := line
				if w.allowed != nil {
					rest = w.allowed.ReplaceAllString(line, "")
				}
				if found := w.other.FindString(rest); found != "" {
					t.Errorf("%s:%d has %q. %s; otherwise write %s", page, number, found, w.word, w.use)
				}
			}
		}
	}
}

// otherMeanings are phrases in which messages would use such a word in another meaning.
var otherMeanings = regexp.MustCompile(`(?i)\b(is|are|not|has) staged\b|\bstag(ed|ing)( of)? (files?|inputs?)\b|\blevels? of speed\b|\bspeed levels?\b|\bhas its turn\b`)

// messages are the texts of a file for people: those of several words.
func messages(f *ast.File) iter.Seq[*ast.BasicLit] {
	return func(yield func(*ast.BasicLit) bool) {
		for n := range ast.Preorder(f) {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.Contains(lit.Value, " ") && !yield(lit) {
				return
			}
		}
	}
}

// Messages, helps and names of figures use the words of the glossary in their one meaning, too. The simulations of papers keep these papers' words.
func TestMessagesUseWordsInOneMeaning(t *testing.T) {
	seen := 0
	for _, p := range packages(t) {
		for file, f := range p.files {
			if strings.HasPrefix(file, "sim/") {
				continue
			}
			for lit := range messages(f) {
				seen++
				if found := otherMeanings.FindString(lit.Value); found != "" {
					t.Errorf("%s says %q: write preload (inputs), upload (users' files), speed class (nodes)", sources.Position(lit.Pos()), found)
				}
			}
		}
	}
	if seen < 1000 {
		t.Errorf("only %d messages were found", seen)
	}
}
