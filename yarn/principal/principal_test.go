package principal

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// answers are what Hadoop's own code answers: mechanism, rules, name, answer. The default realm is LAB.TEST.
func answers(t testing.TB) (all [][4]string) {
	raw, err := os.ReadFile("testdata/auth_to_local.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			t.Fatalf("%q", line)
		}
		all = append(all, [4]string{f[0], strings.ReplaceAll(f[1], `\n`, "\n"), f[2], f[3]})
	}
	return all
}

func answer(mechanism, rules, name string) string {
	r, err := Parse(rules, Mechanism(mechanism), "LAB.TEST")
	if err != nil {
		return "ERROR " + err.Error()
	}
	short, err := r.Short(name)
	if err != nil {
		return "ERROR " + err.Error()
	}
	return short
}

// Names with @ or / stayed as they are, or failed.
func TestShortNamesAreHadoops(t *testing.T) {
	all := answers(t)
	for _, a := range all {
		want := a[3]
		if class, text, ok := strings.Cut(want, ": "); ok && strings.HasPrefix(class, "ERROR ") {
			want = "ERROR " + text
		}
		if got := answer(a[0], a[1], a[2]); got != want {
			t.Errorf("%s, rules %q: %q is %q, want %q", a[0], a[1], a[2], got, want)
		}
	}
	if len(all) != 168 {
		t.Errorf("%d answers", len(all))
	}
}

func TestShortNamesWithoutKerberos(t *testing.T) {
	r, err := Parse(Simple, Hadoop, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"john": "john", "john@CORP.COM": "john", "x/y": "x", "x/y@CORP.COM": "x", "": "", "a/b/c": "a/b/c"} {
		if got, err := r.Short(name); err != nil || got != want {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
	if _, err := r.Short("a@b@c"); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

func TestLookAheadIsRefused(t *testing.T) {
	if _, err := Parse("RULE:[1:$1](?!x)", Hadoop, ""); err == nil || !strings.Contains(err.Error(), "RULE:[1:$1]") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, a := range answers(f) {
		f.Add(a[1], a[2])
	}
	f.Fuzz(func(t *testing.T, rules, name string) {
		for _, mechanism := range []Mechanism{Hadoop, MIT} {
			r, err := Parse(rules, mechanism, "LAB.TEST")
			if err != nil {
				return
			}
			short, err := r.Short(name)
			if e := (*Error)(nil); err != nil && !errors.As(err, &e) {
				t.Errorf("%v", err)
			}
			if mechanism == Hadoop && err == nil && strings.Contains(name, "@") && strings.ContainsAny(short, "/@") {
				t.Errorf("%q is %q", name, short)
			}
		}
	})
}

// Patterns that Java understands otherwise are refused when the configuration is read, by name. None takes long, whatever the name.
func TestPatternsOfJavaAlone(t *testing.T) {
	for rule, want := range map[string]string{
		`RULE:[1:$1](a.*)s/(?=b)x//`:           "look-around",
		`RULE:[1:$1](a.*)s/(?<!b)x//`:          "look-around",
		`RULE:[1:$1](a.*)s/(a)\1//`:            "references back",
		`RULE:[1:$1](a.*)s/a++//`:              "possessive",
		`RULE:[1:$1]([a-z&&[^b]]*)`:            "has [ or && within brackets",
		`RULE:[1:$1](.*)s/[[:alpha:]]//`:       "has [ or && within brackets",
		`RULE:[1:$1](.*)s/[a[bc]]//`:           "has [ or && within brackets",
		`RULE:[1:$1](.*)s/\p{javaLowerCase}//`: "invalid character class range",
		`RULE:[1:$1]([]a&\[]*)`:                "",
		`RULE:[1:$1]([^]a]*)s/[&]//`:           "",
		`RULE:[1:$1@$0](.*@A\.TEST)s/@.*///L`:  "",
	} {
		_, err := Parse(rule, Hadoop, "A.TEST")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", rule, err)
		}
	}
	rules, err := Parse(`RULE:[1:$1](.*)s/(x+x+)+y/z/g DEFAULT`, Hadoop, "A.TEST")
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("x", 50_000) + "@A.TEST" // Java's would take longer than the universe is old
	if short, err := rules.Short(name); err != nil || len(short) != 50_000 {
		t.Errorf("%d, %v", len(short), err)
	}
}
