package migration

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// step is a command of the page, for a shell on some machines.
type step struct {
	line     int
	machines []string
	root     bool     // the prompt is #
	command  string   // with its continuation lines
	prints   []string // lines that must be in its output, in this order; … stands for anything
}

var prompt = regexp.MustCompile(`^((?:[a-z]+[0-9]+)(?:,[a-z]+[0-9]+)*)([#$]) (.+)$`)

// read returns the commands of a page of documentation: in indented blocks, each after the prompt of its machines. Every indented line is a
// command, goes on with one, or is what it prints.
func read(t *testing.T, path string) (steps []step) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open, indent, blank := false, 0, true
	for i, line := range strings.Split(string(b), "\n") {
		text := strings.TrimLeft(line, " ")
		here := len(line) - len(text)
		if text == "" {
			open, blank = false, true
			continue
		}
		if !open && blank && here >= 4 && !strings.HasPrefix(text, "- ") {
			open, indent = true, here
			if !prompt.MatchString(text) {
				t.Errorf("%s:%d: a block begins with no command of a machine: %s", path, i+1, text)
			}
		}
		blank = false
		if !open || here < indent {
			open = false
			continue
		}
		text = line[indent:]
		last := len(steps) - 1
		switch m := prompt.FindStringSubmatch(text); {
		case m != nil:
			steps = append(steps, step{line: i + 1, machines: strings.Split(m[1], ","), root: m[2] == "#", command: m[3]})
		case last >= 0 && strings.HasSuffix(steps[last].command, `\`):
			steps[last].command += "\n" + text
		case last >= 0:
			steps[last].prints = append(steps[last].prints, strings.TrimSpace(text))
		}
	}
	return steps
}

// missing returns the first line that an output must have and lacks; "" if it has all, in their order.
func missing(prints []string, output string) string {
	lines := strings.Split(output, "\n")
	for _, want := range prints {
		found := false
		for len(lines) > 0 && !found {
			found, lines = matches(want, lines[0]), lines[1:]
		}
		if !found {
			return want
		}
	}
	return ""
}

// matches compares words: tables have as many spaces between columns as their contents need. … stands for any characters.
func matches(want, line string) bool {
	pattern := regexp.QuoteMeta(strings.Join(strings.Fields(want), " "))
	pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, " … ", "( .*)? "), "…", ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(strings.Join(strings.Fields(line), " "))
}

func TestOutputsAreComparedByWords(t *testing.T) {
	const output = "log line\n   Id   State\n  rm1  active   0  v1\n  rm2 standby 0 v1\n"
	for want, fits := range map[string]bool{
		"Id State":          true,
		"rm1 active … ":     true,
		"rm1 … v1":          true,
		"rm1 standby …":     false,
		"rm1":               false,
		"rm2 standby 0 v1…": true,
	} {
		if got := missing([]string{want}, output) == ""; got != fits {
			t.Errorf("%q: %v", want, got)
		}
	}
	if got := missing([]string{"rm2 …", "rm1 …"}, output); got != "rm1 …" {
		t.Errorf("lines in another order: %q is missing", got)
	}
}

func TestCommandsAreReadWithWhatTheyPrint(t *testing.T) {
	path := t.TempDir() + "/page.md"
	page := "Text\n\n    rm1,rm2# sed 's|a|\\\n    b|' file\n    w1$ yarn node -list\n    Total\n      w1 RUNNING\n\n1. Step:\n\n       zk3# start\n   text\n"
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	steps := read(t, path)
	if len(steps) != 3 || steps[0].command != "sed 's|a|\\\nb|' file" || len(steps[0].machines) != 2 || !steps[0].root ||
		steps[1].root || strings.Join(steps[1].prints, ",") != "Total,w1 RUNNING" || steps[2].command != "start" || steps[2].prints != nil {
		t.Errorf("%+v", steps)
	}
}
