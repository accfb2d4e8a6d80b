package plain

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWhatTerminalsWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"word count, größe 語 🎉": "word count, größe 語 🎉",
		"\x1b[2J\x1b]0;title\a": "�[2J�]0;title�",
		"\u009b2J":              "�2J", // the same in one character
		"back\b\b\bspace\x7f":   "back���space�",
		"\u202egpj.exe":         "�gpj.exe",
		"a\u2028b\u2029c":       "a�b�c",
		"\xff\x9b2J":            "��2J",
	} {
		if got := Cell(in); got != want {
			t.Errorf("cell %q: %q, want %q", in, got, want)
		}
		if got := Text(in); got != want {
			t.Errorf("text %q: %q, want %q", in, got, want)
		}
	}
	const lines = "first\n\tsecond\r\n"
	if got := Cell(lines); got != "first��second��" {
		t.Errorf("cell %q", got)
	}
	var b strings.Builder
	if n, err := (Writer{&b}).Write([]byte(lines)); n != len(lines) || err != nil || b.String() != "first\n\tsecond�\n" {
		t.Errorf("text %q, %d, %v", b.String(), n, err)
	}
}

// The characters of a document stay what they are.
func TestJSON(t *testing.T) {
	const name = "a\u009b\x7f\u202e\u2028\x1b語"
	b, err := json.MarshalIndent(map[string]string{"name": name}, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	text := escaped(string(b))
	if text != Text(text) {
		t.Errorf("%q", text)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(text), &got); err != nil || got["name"] != name {
		t.Errorf("%q, %v", got["name"], err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[1m\xff\n\t\u009b")
	f.Fuzz(func(t *testing.T, s string) {
		cell, text := Cell(s), Text(s)
		if !utf8.ValidString(text) || utf8.RuneCountInString(text) != utf8.RuneCountInString(s) || Text(text) != text || Cell(text) != cell {
			t.Fatalf("%q: %q and %q", s, text, cell)
		}
		if strings.ContainsAny(cell, "\n\t\x1b\a\b\r\x7f") {
			t.Fatalf("%q", cell)
		}
	})
}
