package dashes

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Flags with one dash are those with two.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"-trace\x00x\x00--mode=hawk", "-workers=-1", "-help", "---seed\x007", "-\x00--", "-eirene\x00rest", "-cutoff"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		flags := pflag.NewFlagSet("sim", pflag.ContinueOnError)
		flags.Usage = func() {}
		trace := flags.String("trace", "", "")
		flags.String("mode", "eagle", "")
		flags.Int("workers", 1, "")
		flags.Bool("eirene", false, "")
		help, err := Parse("heddle sim", flags, words)
		if err == nil && !help && len(flags.Args()) > 0 {
			t.Errorf("%q: %q is passed over", words, flags.Args())
		}
		if len(words) != 2 || words[0] != "-trace" && words[0] != "--trace" || words[1] == "" || words[1][0] == '-' {
			return
		}
		if help || *trace != words[1] || err != nil {
			t.Errorf("%q: help %v, trace %q, %v", words, help, *trace, err)
		}
	})
}
