package option

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func testSet() *Set {
	return NewSet(
		Option{Name: "list", Help: "lists"},
		Option{Name: "status", Arg: "ID", Help: "shows"},
		Option{Name: "kill", Arg: "IDs", Values: Unlimited, Help: "kills"},
		Option{Name: "states", Arg: "States", Values: Unlimited, Separator: ',', Help: "filters"},
		Option{Name: "lnl", Long: "list-node-labels", Help: "labels"},
		Option{Name: "size", Arg: "size", Help: "bytes"},
		Option{Name: "signal", Arg: "ID [Command]", Values: 2, Help: "signals"},
		Option{Name: "g", Arg: "timeout", Optional: true, Help: "gracefully"},
		Option{Name: "D", Arg: "k=v", Help: "sets"},
		Option{Name: "secret", Hidden: true},
	)
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line   string
		values map[string][]string
		args   []string
		err    error
	}{
		{line: "-list", values: map[string][]string{"list": nil}},
		{line: "--list", values: map[string][]string{"list": nil}},
		{line: "-list-node-labels", values: map[string][]string{"lnl": nil}},
		{line: "--list-node-labels", values: map[string][]string{"lnl": nil}},
		{line: "-status x y", values: map[string][]string{"status": {"x"}}, args: []string{"y"}},
		{line: "-status=x", values: map[string][]string{"status": {"x"}}},
		{line: "--status=x=y", values: map[string][]string{"status": {"x=y"}}},
		{line: "-kill a b -list", values: map[string][]string{"kill": {"a", "b"}, "list": nil}},
		{line: "-states A,B C -list", values: map[string][]string{"states": {"A", "B", "C"}, "list": nil}},
		{line: "-states A -states B", values: map[string][]string{"states": {"A", "B"}}},
		{line: "-status x -status y", values: map[string][]string{"status": {"x", "y"}}},
		{line: "-size -4096", values: map[string][]string{"size": {"-4096"}}},
		{line: "-size -", values: map[string][]string{"size": {"-"}}},
		{line: "-signal c S t", values: map[string][]string{"signal": {"c", "S"}}, args: []string{"t"}},
		{line: "-Dk=v -D k=w", values: map[string][]string{"D": {"k=v", "k=w"}}},
		{line: "-g -list", values: map[string][]string{"g": nil, "list": nil}},
		{line: "-g 5", values: map[string][]string{"g": {"5"}}},
		{line: "-list -- -status", values: map[string][]string{"list": nil}, args: []string{"-status"}},
		{line: `-status "x"`, values: map[string][]string{"status": {"x"}}},
		{line: "a b", values: map[string][]string{}, args: []string{"a", "b"}},
		{line: "-status", err: &MissingArgumentError{"status"}},
		{line: "-status -list", err: &MissingArgumentError{"status"}},
		{line: "-kill -list", err: &MissingArgumentError{"kill"}},
		{line: "-lis", err: &UnrecognizedError{"-lis", "-list"}},
		{line: "-list -bogus", err: &UnrecognizedError{Word: "-bogus"}},
	} {
		l, err := testSet().Parse(strings.Fields(c.line))
		if c.err != nil {
			if err == nil || err.Error() != c.err.Error() {
				t.Errorf("%q: error %v, want %v", c.line, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.line, err)
			continue
		}
		if diff := cmp.Diff(c.values, l.values); diff != "" {
			t.Errorf("%q: values (-want +got):\n%s", c.line, diff)
		}
		if diff := cmp.Diff(c.args, l.Args); diff != "" {
			t.Errorf("%q: arguments (-want +got):\n%s", c.line, diff)
		}
	}
}

// Whatever the words are, every one of them comes out once, as an option's name, a value or an argument, or is named in
// an error.
func TestNoWordIsLost(t *testing.T) {
	words := []string{"-list", "--states", "-status", "-kill", "x", "y,z", "-5", "--", "-", "-D", "-Da=b", "-nope", "-status=q", ""}
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.SliceOfN(rapid.SampledFrom(words), 0, 8).Draw(t, "args")
		l, err := testSet().Parse(args)
		var missing *MissingArgumentError
		var unknown *UnrecognizedError
		if err != nil {
			if !errors.As(err, &missing) && !errors.As(err, &unknown) {
				t.Fatalf("error %v", err)
			}
			return
		}
		all := strings.Join(l.Args, " ")
		for name, values := range l.values {
			all += " " + name + " " + strings.Join(values, ",")
		}
		for _, a := range args {
			for part := range strings.FieldsFuncSeq(strings.TrimLeft(a, "-"), func(r rune) bool { return r == ',' }) {
				if strings.HasPrefix(part, "status=") {
					part = "q"
				}
				if strings.HasPrefix(a, "-D") {
					part = strings.TrimPrefix(part, "D")
				}
				if !strings.Contains(all, part) {
					t.Fatalf("%q of %q is lost: %q", part, args, all)
				}
			}
		}
	})
}

func TestUsage(t *testing.T) {
	var b strings.Builder
	s := NewSet(
		Option{Name: "status", Arg: "ID", Help: "Shows " + strings.Repeat("very ", 25) + "much."},
		Option{Name: "a", Long: "all", Help: "All."}, Option{Name: "secret", Hidden: true},
	)
	if err := s.WriteUsage(&b, "thing"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if lines[0] != "usage: thing" || lines[1] != " -a,--all       All." || !strings.HasPrefix(lines[2], " -status <ID>   Shows very") {
		t.Errorf("usage:\n%s", &b)
	}
	for _, l := range lines {
		if len(l) > usageWidth {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	if strings.Contains(b.String(), "secret") {
		t.Errorf("a hidden option is shown:\n%s", &b)
	}
}
