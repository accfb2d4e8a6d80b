package change

import "testing"

// FuzzWords: words of the command line are read or refused.
func FuzzWords(f *testing.F) {
	f.Add("+4@gpu")
	f.Add("2x")
	f.Add("root.a=root.b")
	f.Fuzz(func(t *testing.T, text string) {
		if more, err := parseNodes([]string{text}); err == nil && len(more) != 1 {
			t.Errorf("nodes %q: %v", text, more)
		}
		if speed, err := parseSpeed(text); err == nil && !(speed >= 0.01 && speed <= 100) {
			t.Errorf("speed %q: %v", text, speed)
		}
		if to, err := parseMap([]string{text}); err == nil && len(to) != 1 {
			t.Errorf("map %q: %v", text, to)
		}
	})
}
