package house

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// glossary lists phrases that comments avoid, with the word to use instead. A word has one meaning: containers are suspended and resume, programs
// are "it", limits begin with max.
var glossary = []struct {
	name   string
	phrase *regexp.Regexp
	use    string
	max    int // how many comments may have it; lower it when there are fewer
}{
	{"stands still", regexp.MustCompile(`\b([Ss]tands?|[Ss]tood|[Ss]tanding) still\b`), "is suspended", 1},
	{"anew", regexp.MustCompile(`\banew\b`), "again, new", 2},
	{"goes on", regexp.MustCompile(`\b(goes|went|gone|going) on\b`), "resumes (containers), continues", 2},
	{"takes note", regexp.MustCompile(`\b(takes?|took|taken) note\b`), "records", 0},
	{"he", regexp.MustCompile(`\b(he|his|him|himself)\b`), "it, they, the user", 3},
	{"nobody", regexp.MustCompile(`\b([Nn]obody|[Ss]omebody|[Ee]verybody|[Aa]nybody)\b`), "no user, a caller, all members", 13},
	{"whoever", regexp.MustCompile(`\b[Ww]hoever\b`), "a caller that", 2},
	{"who", regexp.MustCompile(`(^//|[.:;]) (Who|He who|That which|Those who) `), "name the caller first", 6},
	{"is what", regexp.MustCompile(`^// \w+ (is|are) (that|what|whether) `), "X returns, X reports whether, X holds; name the thing", 240},
}

// Comments say things in the words of the glossary.
func TestCommentsUseTheGlossary(t *testing.T) {
	found := make([]int, len(glossary))
	where := make([][]string, len(glossary))
	for _, p := range packages(t) {
		for name, f := range p.files {
			if ast.IsGenerated(f) {
				continue
			}
			for _, group := range f.Comments {
				for _, c := range group.List {
					for i, g := range glossary {
						if n := len(g.phrase.FindAllString(c.Text, -1)); n > 0 {
							found[i] += n
							where[i] = append(where[i], name+":"+strconv.Itoa(sources.Position(c.Pos()).Line))
						}
					}
				}
			}
		}
	}
	for i, g := range glossary {
		if found[i] > g.max {
			slices.Sort(where[i])
			t.Errorf("%q is in %d comments, and may be in %d: write %s\n%s", g.name, found[i], g.max, g.use, strings.Join(where[i], "\n"))
		}
	}
}

// maxOldMessages is how many messages, helps and names of figures may have phrases of the glossary; lower it when there are fewer.
const maxOldMessages = 15

// Messages say things in the words of the glossary, too.
func TestMessagesUseTheGlossary(t *testing.T) {
	var old []string
	for _, p := range packages(t) {
		for _, f := range p.files {
			for lit := range messages(f) {
				for _, g := range glossary {
					if found := g.phrase.FindString(lit.Value); found != "" {
						old = append(old, sources.Position(lit.Pos()).String()+" "+found+": write "+g.use)
					}
				}
			}
		}
	}
	if slices.Sort(old); len(old) > maxOldMessages {
		t.Errorf("%d messages have phrases that the glossary replaces, and %d may\n%s", len(old), maxOldMessages, strings.Join(old, "\n"))
	}
}

// notNames are names of fields, variables, constants and functions that explain nothing, with what to call them.
var notNames = map[string]string{
	"foot":    "what it is the lowest of",
	"clings":  "unreclaimable",
	"tells":   "what it reports",
	"said":    "who said it and what: sent, told, printed",
	"any":     "which one, or of what",
	"not":     "what it isn't",
	"unheard": "what was not acknowledged, or runWithoutReply",
}

// most begins the names of limits in old code. They begin with max; the number is how many may be left.
var (
	most    = regexp.MustCompile(`^most[A-Z]`)
	oldMost = 35
)

// Names explain themselves, and limits begin with max.
func TestNamesExplainThemselves(t *testing.T) {
	var limits []string
	for _, p := range packages(t) {
		for file, f := range p.files {
			for _, id := range namesOf(f) {
				at := file + ":" + strconv.Itoa(sources.Position(id.Pos()).Line)
				if use := notNames[id.Name]; use != "" && file != "yarn/wire/conn.go" && !strings.HasPrefix(file, "yarn/wire/loss_") {
					t.Errorf("%s declares %s: call it %s", at, id.Name, use)
				}
				if most.MatchString(id.Name) {
					limits = append(limits, at+" "+id.Name)
				}
			}
		}
	}
	if len(limits) > oldMost {
		slices.Sort(limits)
		t.Errorf("%d names begin with most, and %d may: limits begin with max\n%s", len(limits), oldMost, strings.Join(limits, "\n"))
	}
}

// namesOf returns the names of a file's fields, constants, variables and functions outside of bodies.
func namesOf(f *ast.File) (names []*ast.Ident) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name)
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.Field:
					names = append(names, n.Names...)
				case *ast.ValueSpec:
					names = append(names, n.Names...)
				}
				return true
			})
		}
	}
	return names
}

// logFields maps names that a field of a log message must not have to the one that it has everywhere.
var logFields = map[string]string{
	"app": "application", "appId": "application", "applicationId": "application", "application_id": "application", "cont": "container",
	"containerId": "container", "container_id": "container", "nodeId": "node", "node_id": "node", "attemptId": "attempt", "usr": "user",
	"dir": "folder", "directory": "folder", "addr": "address", "err": "error (WithError)", "error": "error (WithError)",
}

// A field of log messages has one name, so that a search finds all of an application, container or node.
func TestLogFieldsHaveOneName(t *testing.T) {
	seen := 0
	check := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		seen++
		name, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		if use := logFields[name]; use != "" {
			t.Errorf("%s: the log field %q is called %s elsewhere", sources.Position(lit.Pos()), name, use)
		}
	}
	for _, p := range packages(t) {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "WithField" && len(n.Args) == 2 {
						check(n.Args[0])
					}
				case *ast.CompositeLit:
					if s, ok := n.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Fields" {
						for _, e := range n.Elts {
							if kv, ok := e.(*ast.KeyValueExpr); ok {
								check(kv.Key)
							}
						}
					}
				}
				return true
			})
		}
	}
	if seen < 100 {
		t.Errorf("only %d fields of log messages were found", seen)
	}
}

// properNames begin with a capital letter inside a sentence, too. YARN's own messages keep theirs.
var properNames = []string{"ResourceManager", "NodeManager", "ApplicationMaster", "NameNode", "DataNode", "HDFS", "Kerberos", "YARN", "Hadoop", "Heddle", "Java", "Application", "Container"}

// Log messages begin with a lower-case letter.
func TestLogMessagesAreLowerCase(t *testing.T) {
	const max = 8 // that are left
	var upper []string
	seen := 0
	for _, p := range packages(t) {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				message, at := logMessage(n)
				if message == "" {
					return true
				}
				seen++
				first, _ := utf8.DecodeRuneInString(message)
				word, _, _ := strings.Cut(message, " ")
				proper := slices.ContainsFunc(properNames, func(name string) bool { return strings.HasPrefix(word, name) }) || word == strings.ToUpper(word)
				if unicode.IsUpper(first) && !proper {
					upper = append(upper, sources.Position(at).String()+" "+message)
				}
				return true
			})
		}
	}
	if slices.Sort(upper); len(upper) > max {
		t.Errorf("%d log messages begin with a capital letter, and %d may\n%s", len(upper), max, strings.Join(upper, "\n"))
	}
	if seen < 200 {
		t.Errorf("only %d log messages were found", seen)
	}
}

// logMessage returns the message of a call of a logger, as far as it can be told: of one that WithField or WithError returns, or that is called log.
func logMessage(n ast.Node) (string, token.Pos) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", 0
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error", "Debugf", "Infof", "Warnf", "Errorf"}, s.Sel.Name) {
		return "", 0
	}
	logger := ""
	switch x := s.X.(type) {
	case *ast.Ident:
		logger = x.Name
	case *ast.SelectorExpr:
		logger = x.Sel.Name
	case *ast.CallExpr:
		if f, ok := x.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(f.Sel.Name, "With") {
			logger = "log"
		}
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING || strings.ToLower(logger) != "log" {
		return "", 0
	}
	message, err := strconv.Unquote(lit.Value)
	if err != nil {
		return "", 0
	}
	return message, call.Pos()
}

// An order is told to a node; what sorts queues, applications, requests, victims and probes is a ranking, or YARN's ordering policy. The part of a node for
// short tasks is lent; a partition that isn't exclusive shares its nodes.
func TestNamesUseWordsInOneMeaning(t *testing.T) {
	word := regexp.MustCompile(`^Orders?([A-Z]|$)|[a-z]Orders?([A-Z]|$)`)
	lent := regexp.MustCompile(`^([Ll]end|[Ll]ent)|[a-z]Len(d|t)(s|er|ers|ing)?([A-Z]|$)`)
	seen := 0
	for name, p := range packages(t) {
		if !strings.HasPrefix(name, "rm/scheduler") && !strings.HasPrefix(name, "rm/queue") && name != "nm/probe" {
			continue
		}
		if path.Base(name) == "order" {
			t.Errorf("package %s: what sorts is a ranking", name)
		}
		for _, f := range p.files {
			for _, id := range append(namesOf(f), typesOf(f)...) {
				if seen++; word.MatchString(id.Name) && id.Name != "inOrder" {
					t.Errorf("%s: %s: an order is told to a node; what sorts is a ranking, or an ordering policy", sources.Position(id.Pos()), id.Name)
				}
				if strings.HasPrefix(name, "rm/scheduler") && lent.MatchString(id.Name) {
					t.Errorf("%s: %s: the part of a node for short tasks is lent; a partition shares its nodes", sources.Position(id.Pos()), id.Name)
				}
			}
		}
	}
	if seen < 1000 {
		t.Errorf("only %d names were found", seen)
	}
}
