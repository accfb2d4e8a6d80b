package launch

import (
	"strings"
	"testing"
)

// unquote reads a word as bash does: one literal in double quotes. ok is false when it isn't one.
func unquote(word string) (s string, ok bool) {
	inner, ok := strings.CutPrefix(word, `"`)
	if !ok {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; c {
		case '"':
			return b.String(), i == len(inner)-1
		case '$', '`':
			return "", false // bash would expand something
		case '\\':
			i++
			if i == len(inner) || !strings.ContainsRune("\"\\$`", rune(inner[i])) {
				return "", false
			}
			b.WriteByte(inner[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", false
}

// Whatever a launch context says, there is a script or an error, and the names of resources and folders in it are taken
// literally: they are other people's, too.
func FuzzScript(f *testing.F) {
	f.Add("A", "$B:x", "B", "{{A}}<CPS><LOG_DIR>", "run {{A}} 1><LOG_DIR>/stdout", "job.jar", "/local/usercache/ann/filecache/10/job.jar", "/logs/c", true)
	f.Add("PATH", "$PATH", "", "", "exit 3", `lib/$(id)"; rm -rf /; "`, "/a\nb", "/logs/`id`", false)
	f.Add("X", "$X", "Y", "${X", "\x00\xff", "../x", "relative", "", true)
	f.Add("CONTAINER_ID", "other", "LD_PRELOAD", "\n", "{{{{}}}}", "a/b/c/*", "/t\\", "/l\"", false)
	f.Fuzz(func(t *testing.T, name, value, name2, value2, command, link, target, logDir string, debug bool) {
		x := Expander{LogDir: logDir, AddOpens: debug}
		vars := map[string]string{name: x.Expand(value), name2: x.Expand(value2)}
		e := Environment{
			App: vars, ContainerID: "container_1_1_1_1", User: "ann", WorkDir: "/work", LogDirs: []string{logDir},
			Whitelist: []string{"LANG", name}, Admin: name2 + "=" + value, ForcePath: value2,
			Own: func(string) (string, bool) { return value, true },
		}
		inherit, env := e.Vars()
		seen := make(map[string]int)
		for _, v := range env {
			seen[v.Name]++
			if v.Name == "CONTAINER_ID" && v.Value != e.ContainerID {
				t.Errorf("the container's id became %q", v.Value)
			}
		}
		for n := range vars {
			if seen[n] != 1 {
				t.Errorf("variable %q is set %d times", n, seen[n])
			}
		}
		s := Script{LogDir: logDir, Inherit: inherit, Env: env, Links: []Link{{Name: link, Target: target}}, Debug: debug, Command: []string{x.Expand(command)}}
		b, err := s.Bytes()
		if err != nil {
			if len(b) > 0 {
				t.Errorf("an error came with a script: %v", err)
			}
			return
		}
		if strings.ContainsRune(link+target, 0) {
			t.Errorf("a link %q to %q was taken", link, target)
		}
		for _, word := range []string{link, target, logDir} {
			q := quote(word)
			if got, ok := unquote(q); !ok || got != word {
				t.Errorf("%q is quoted as %s, which bash reads as %q (%v)", word, q, got, ok)
			}
			if word != logDir && !strings.Contains(string(b), q) {
				t.Errorf("%q isn't in the script", word)
			}
		}
	})
}

// Variables that refer to one another in a chain of any length cost no stack.
func TestAChainOfVariables(t *testing.T) {
	vars := make(map[string]string)
	const n = 200_000
	name := func(i int) string {
		const digits = "ABCDEFGHIJ"
		var b []byte
		for range 6 {
			b = append([]byte{digits[i%10]}, b...)
			i /= 10
		}
		return "V" + string(b)
	}
	for i := range n {
		vars[name(i)] = "$" + name(i+1)
	}
	out := ordered(vars)
	if len(out) != n {
		t.Fatalf("%d variables of %d", len(out), n)
	}
	// a short one is in the order of use, as ever
	short := ordered(map[string]string{"A": "$B", "B": "$C", "C": "1"})
	if short[0].Name != "C" || short[1].Name != "B" || short[2].Name != "A" {
		t.Errorf("order %v", short)
	}
}
