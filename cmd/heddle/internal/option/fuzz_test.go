package option

import (
	"errors"
	"strings"
	"testing"
)

// No command line makes the parser fall over, and its errors are of the two kinds that it promises.
func FuzzParse(f *testing.F) {
	for _, line := range []string{"-list", "-status\x00x", "--status=x", "-states\x00A,B\x00-kill\x00a\x00b", "-Dk=v", "-\x00--\x00-x", "-size\x00-4096", "-g\x00\x00=", "--=-"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		l, err := testSet().Parse(args)
		var missing *MissingArgumentError
		var unknown *UnrecognizedError
		switch {
		case err == nil && l == nil:
			t.Fatalf("%q: neither a line nor an error", args)
		case err != nil && !errors.As(err, &missing) && !errors.As(err, &unknown):
			t.Fatalf("%q: %v", args, err)
		case err == nil && len(l.Values("status")) < len(l.Value("status")) && l.Value("status") == "":
			t.Fatalf("%q: %q", args, l.values)
		}
		if err == nil && len(l.Args) > len(args) {
			t.Fatalf("%q: %d arguments out of %d words", args, len(l.Args), len(args))
		}
	})
}
