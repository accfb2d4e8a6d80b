// Package dashes parses flags that may have one dash or two. It depends on nothing of the commands that have such flags, so that its fuzz
// target is small, and fast.
package dashes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Parse sets flags from the words of a command line. It reports whether these ask for help. Errors, other than those of the flags, name the
// command.
func Parse(command string, f *pflag.FlagSet, words []string) (help bool, err error) {
	given := make([]string, len(words))
	for i, w := range words {
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		if given[i] = w; strings.HasPrefix(w, "-") && f.Lookup(name) != nil {
			given[i] = "--" + strings.TrimLeft(w, "-")
		}
	}
	err = f.Parse(given)
	if errors.Is(err, pflag.ErrHelp) || err == nil && f.Changed("help") {
		return true, nil
	}
	if rest := f.Args(); err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s doesn't take the argument %q", command, rest[0])
	}
	return false, err
}
