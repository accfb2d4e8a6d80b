// Package dashes parses flags that may have one dash or two. It depends on nothing of the commands that have such flags, so that its fuzz
// target is small, and fast.
package dashes

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"heddle/internal/nearness"
)

// Parse sets flags from the words of a command line. It reports whether these ask for help. Errors, other than those of the flags, name the
// command.
func Parse(command string, f *pflag.FlagSet, words []string) (help bool, err error) {
	given := make([]string, len(words))
	for i, w := range words {
		name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
		given[i] = w
		if !strings.HasPrefix(w, "-") {
			continue
		}
		misspelt := len(name) > 1 && f.ShorthandLookup(name[:1]) == nil // else the error would be about its first letter
		if f.Lookup(name) != nil || misspelt && name[0] > '9' && w[:2] != "--" {
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

// Meant adds to the error of an unknown flag which one of a command's is most like it.
func Meant(err error, command string, f *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	meant := nearness.Nearest(unknown.GetSpecifiedName(), func(yield func(string) bool) {
		more := true
		f.VisitAll(func(f *pflag.Flag) { more = more && (f.Hidden || yield(f.Name)) })
	})
	if meant == "" {
		return fmt.Errorf("%w: %s --help lists the flags", err, command)
	}
	return fmt.Errorf("%w: did you mean --%s?", err, meant)
}
