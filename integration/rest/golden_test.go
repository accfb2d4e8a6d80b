package rest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/internal/needs"
	"heddle/internal/publicdir"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role := roles[os.Args[1]]; role != nil {
			if err := role(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// profiles are the configurations that were recorded, those first that tell most.

var profiles = []string{"capacity", "mutable", "acl", "anon", "auth", "fifo", "fair"}

// TestAgainstRecordings compares what Heddle answers with what a stock Hadoop answered. A difference that isn't listed in
// testdata/differences fails it, and so does one that is listed and gone. REST_RECORDINGS names a folder that the recordings
// of Heddle and the differences found are kept in.
func TestAgainstRecordings(t *testing.T) {
	python := needs.Program(t, "python3") // it makes the recorded requests
	tools := publicdir.New(t, "")
	heddle, self := filepath.Join(tools, "heddle"), filepath.Join(tools, "job")
	if out, err := exec.Command("go", "build", "-o", heddle, "heddle/cmd/heddle").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	copySelf(t, self)
	for _, profile := range profiles {
		t.Run(profile, func(t *testing.T) { compare(t, python, heddle, self, profile) })
	}
}

// copySelf puts this program where the users of containers may run it.
func copySelf(t *testing.T, to string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, python, heddle, self, profile string) {
	dir := publicdir.New(t, "")
	c := start(t, heddle, dir, profile)
	recording := filepath.Join(dir, profile+".json")
	scenario := exec.Command(python, "testdata/scenario.py", "--rm", c.rm, "--nm", c.nm, "--profile", profile,
		"--out", recording, "--budget", "1000", "--submit-cmd", self+" job {queue} {end} {tags}")
	scenario.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.conf, "PYTHONDONTWRITEBYTECODE=1")
	out, err := scenario.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	found := differences(t, python, filepath.Join("testdata", "golden", profile+".json"), recording)
	if keep := os.Getenv("REST_RECORDINGS"); keep != "" {
		b, err := os.ReadFile(recording)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(keep, profile+".json"), b)
		write(t, filepath.Join(keep, profile+".txt"), []byte(strings.Join(found, "\n")+"\n"))
	}
	for _, d := range readList(t, filepath.Join("testdata", "differences", profile+".txt")).check(found) {
		t.Error(d)
	}
}

// differences are what compare.py finds, as "exchange: path: what".
func differences(t *testing.T, python, golden, recording string) (found []string) {
	t.Helper()
	cmd := exec.Command(python, "testdata/compare.py", "--quiet", "--lenient", "--max", "1000000", golden, recording)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("compare.py: %v\n%s", err, out)
	}
	name := ""
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if what, ok := strings.CutPrefix(line, "  - "); ok {
			found = append(found, name+": "+what)
			continue
		}
		if diff, ok := strings.CutPrefix(line, "DIFF "); ok {
			if name, _, ok = strings.Cut(diff, " ("); !ok {
				found = append(found, diff) // not recorded, or a wait that ran out
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

// list is what differs and is known to. A line is a pattern for the exchange, a bar, and a pattern for where in the answer;
// * stands for any text. A line with ? before it stands for something that happens at times. # begins a comment.
type list struct {
	file  string
	lines []*known
}

type known struct {
	line            string
	exchange, place string
	sometimes, seen bool
}

func readList(t *testing.T, file string) *list {
	t.Helper()
	l := &list{file: file}
	b, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		k := &known{line: line}
		line, k.sometimes = strings.CutPrefix(line, "?")
		exchange, place, ok := strings.Cut(line, "|")
		if !ok {
			t.Fatalf("%s: %q has no bar", file, k.line)
		}
		k.exchange, k.place = strings.TrimSpace(exchange), strings.TrimSpace(place)
		l.lines = append(l.lines, k)
	}
	return l
}

// check returns what is wrong: differences that aren't known, and known ones that didn't occur.
func (l *list) check(found []string) []string {
	return l.checkBy(func(difference string) (exchange, place string) {
		exchange, what, _ := strings.Cut(difference, ": ")
		place, _, _ = strings.Cut(what, ": ")
		return exchange, place
	}, found)
}

// checkBy is check with what patterns are compared with.
func (l *list) checkBy(split func(difference string) (exchange, place string), found []string) (wrong []string) {
	for _, f := range found {
		exchange, place := split(f)
		i := slices.IndexFunc(l.lines, func(k *known) bool { return like(k.exchange, exchange) && like(k.place, place) })
		if i < 0 {
			wrong = append(wrong, "differs: "+f)
			continue
		}
		l.lines[i].seen = true
	}
	for _, k := range l.lines {
		if !k.seen && !k.sometimes {
			wrong = append(wrong, fmt.Sprintf("%s: %q differs no more: take it off the list", l.file, k.line))
		}
	}
	return wrong
}

// like compares with a pattern in which only * is special.
func like(pattern, s string) bool {
	quoted := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `?`, `\?`).Replace(pattern)
	ok, err := path.Match(strings.ReplaceAll(quoted, "/", "\x00"), strings.ReplaceAll(s, "/", "\x00"))
	return ok && err == nil
}

func TestList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	write(t, file, []byte("# why\nempty * | body.a[*].b\n? never | *\ngone | x\n"))
	got := readList(t, file).check([]string{"empty apps: body.a[<x/y>].b: is 1, expected 2", "other: status: 404, expected 200"})
	want := []string{"differs: other: status: 404, expected 200", file + `: "gone | x" differs no more: take it off the list`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
