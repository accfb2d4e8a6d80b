package conf

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fromMap is a configuration of these properties alone, with a fixed environment.
func fromMap(props map[string]string) *Config {
	env := map[string]string{"HOME": "/home/w", "EMPTY": ""}
	c := &Config{
		props:  newProperties(),
		getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		system: map[string]string{"user.name": "root", "user.home": "/home/w"},
	}
	for k, v := range props {
		c.Set(k, v)
	}
	return c
}

// What Hadoop 3.4.2's Configuration makes of the same values.
func TestExpansionAsHadoopDoesIt(t *testing.T) {
	for _, c := range []struct {
		value string
		more  map[string]string
		want  string
	}{
		{"1${b}", map[string]string{"b": "x"}, "1x"},
		{"${b}:${b}", map[string]string{"b": "x"}, "x:x"},
		{"${u}:${b}", map[string]string{"b": "x"}, "${u}:${b}"},
		{"${b}:${u}", map[string]string{"b": "x"}, "x:${u}"},
		{"${b${c}}", map[string]string{"bx": "yes", "c": "x"}, "yes"},
		{"${b", map[string]string{"b": "x"}, "${b"},
		{"${b }", map[string]string{"b": "x"}, "${b }"},
		{"${b c}${b}", map[string]string{"b": "x"}, "${b c}x"},
		{"${}", nil, "${}"},
		{"$${b}", map[string]string{"b": "x"}, "$x"},
		{"x${b}x", map[string]string{"b": "{c}", "c": "n"}, "x{c}x"},
		{"${x${b}", map[string]string{"b": "}", "x": "n"}, "n"},
		{"${env.HOME}|${env.NOPE}", nil, "/home/w|${env.NOPE}"},
		{"${env.NOPE:-d}|${env.EMPTY:-d}|${env.EMPTY-d}|${env.NOPE-d}|${env.HOME-d}", nil, "d|d||d|/home/w"},
		{"${env.NOPE:-${b}}", map[string]string{"b": "x"}, "x"},
		{"${env.NOPE-a-b}", nil, "a-b"},
		{"${env.}", map[string]string{"env.": "x"}, "x"},
		{"${env.NOPE}", map[string]string{"env.NOPE": "x"}, "x"},
		{"${user.name}", map[string]string{"user.name": "x"}, "root"},
		{"${fs.default.name}", map[string]string{"fs.defaultFS": "x"}, "x"},
		{"${dfs.replication}", nil, "3"}, // a default
	} {
		props := map[string]string{"a": c.value}
		for k, v := range c.more {
			props[k] = v
		}
		if got, ok := fromMap(props).Get("a"); !ok || got != c.want {
			t.Errorf("%q with %v: got %q, want %q", c.value, c.more, got, c.want)
		}
	}
}

func TestLoopsNameTheChain(t *testing.T) {
	c := fromMap(map[string]string{"a": "x${b}", "b": "y${c}", "c": "${b}", "self": "${self}"})
	for key, want := range map[string]string{"a": "a → b → c → b", "self": "self → self"} {
		if _, _, err := c.lookup(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want the chain %s", key, err, want)
		}
		if v, ok := c.Get(key); ok {
			t.Errorf("%s was read as %q", key, v)
		}
	}
}

func TestExpansionIsBounded(t *testing.T) {
	bomb := map[string]string{"x0": strings.Repeat("x", 1000)}
	for i := range 18 {
		bomb[fmt.Sprintf("x%d", i+1)] = fmt.Sprintf("${x%d}${x%d}", i, i)
	}
	if _, _, err := fromMap(bomb).lookup("x18"); err == nil {
		t.Error("a value of 2^18 parts was expanded")
	}
	chain := map[string]string{"k25": "end"}
	for i := range 25 {
		chain[fmt.Sprintf("k%d", i)] = fmt.Sprintf("${k%d}", i+1)
	}
	if _, _, err := fromMap(chain).lookup("k0"); err == nil {
		t.Error("25 variables within each other were expanded")
	}
	if v, ok := fromMap(chain).Get("k10"); !ok || v != "end" {
		t.Errorf("15 variables within each other: got %q", v)
	}
}

// Variables that only refer to later ones have a value, which a naive recursion can tell.
func TestExpansionOfAcyclicVariables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		props := map[string]string{}
		want := make([]string, n)
		for i := n - 1; i >= 0; i-- {
			var raw, expanded strings.Builder
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				if j := rapid.IntRange(i+1, n+2).Draw(t, "ref"); j < n && want[j] != "" {
					fmt.Fprintf(&raw, "${p.%d}", j)
					expanded.WriteString(want[j])
				} else {
					text := rapid.SampledFrom([]string{"x", "$", "{", "}", "$$", "/", " "}).Draw(t, "text")
					// a dollar before a brace would make a variable of what was none
					if s := raw.String() + text; !strings.HasSuffix(s, "${") && !strings.HasSuffix(expanded.String()+text, "${") {
						raw.WriteString(text)
						expanded.WriteString(text)
					}
				}
			}
			if strings.Contains(expanded.String(), "${") {
				t.Skip("parts joined into a variable")
			}
			want[i] = expanded.String()
			if want[i] != "" {
				props[fmt.Sprintf("p.%d", i)] = raw.String()
			}
		}
		c := fromMap(props)
		for i := range want {
			if want[i] == "" {
				continue
			}
			got, err := c.expandFor(props[fmt.Sprintf("p.%d", i)], []string{fmt.Sprintf("p.%d", i)})
			if err != nil || got != want[i] {
				t.Fatalf("p.%d = %q: got %q, %v; want %q", i, props[fmt.Sprintf("p.%d", i)], got, err, want[i])
			}
		}
	})
}

// Whatever properties refer to each other, expansion ends, with a value or an error.
func TestExpansionEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		props := rapid.MapOfN(
			rapid.SampledFrom([]string{"a", "b", "c", "d"}),
			rapid.StringMatching(`(\$\{[abcdu]\}|[abcd${}:-]|env\.|x){0,8}`), 1, 4,
		).Draw(t, "props")
		c := fromMap(props)
		for key := range props {
			if v, err := c.Expand("${" + key + "}"); err == nil && len(v) > maxExpandSize {
				t.Fatalf("%s expands to %d bytes", key, len(v))
			}
		}
	})
}
