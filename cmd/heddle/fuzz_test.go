package main

import (
	"io"
	"strings"
	"testing"
)

// Flags with one dash are those with two.
func FuzzDashes(f *testing.F) {
	for _, line := range []string{"-trace\x00x\x00--mode=hawk", "-workers=-1", "-help", "---seed\x007", "-\x00--", "-eirene\x00rest", "-cutoff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		parse := func(words []string) (bool, string, error) {
			c := newSimHybrid()
			c.SetOut(io.Discard)
			c.SetErr(io.Discard)
			help, err := parseDashes(c, words)
			trace, _ := c.Flags().GetString("trace")
			return help, trace, err
		}
		help, trace, err := parse(words)
		if len(words) != 2 || words[0] != "-trace" && words[0] != "--trace" || words[1] == "" || words[1][0] == '-' {
			return
		}
		if help || trace != words[1] || err != nil {
			t.Errorf("%q: help %v, trace %q, %v", words, help, trace, err)
		}
	})
}
