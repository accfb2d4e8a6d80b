package glob

import "testing"

func FuzzGlob(f *testing.F) {
	for _, s := range []string{"*", "a{b,c/d}e", "[a-z]?", `\[`, "[", "{", "[^]]", "{a,{b,c}/d}", "[é]", "é*", `[\d]`} {
		f.Add(s, "name")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		all, err := Expand(pattern)
		if err != nil {
			return
		}
		for _, alt := range all {
			match, literal, err := Compile(alt)
			if err != nil {
				continue
			}
			if match != nil {
				match.MatchString(name)
			} else if len(literal) > len(alt) {
				t.Fatalf("%q became %q", alt, literal)
			}
		}
		// A name of which every character is quoted matches itself and nothing else.
		quoted := ""
		for i := range len(name) {
			quoted += `\` + name[i:i+1]
		}
		if match, literal, err := Compile(quoted); err != nil || match != nil || literal != name {
			t.Fatalf("%q: got %v, %q, %v", quoted, match, literal, err)
		}
	})
}
