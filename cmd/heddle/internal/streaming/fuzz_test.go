package streaming

import (
	"errors"
	"flag"
	"strings"
	"testing"
)

// No command line of a streaming job makes the parser fall over. Errors say which command they are of.
func FuzzStreamingOptions(f *testing.F) {
	for _, line := range []string{
		"-input\x00x,y/{a,b}\x00-output\x00out\x00-mapper\x00cat", "-Da.b=c=d\x00-D\x00e=", "-cmdenv\x00K=v=w", "-cmdenv\x00=", "-D=x", "-D\x00",
		"-inputformat\x00a.b.CombineTextInputFormat", "-partitioner\x00x", "-numReduceTasks\x00-1", "--name\x00n\x00rest", "-help",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		o := New()
		err := o.Parse(words)
		switch {
		case errors.Is(err, flag.ErrHelp):
		case err != nil && !strings.HasPrefix(err.Error(), "mr: "):
			t.Errorf("%q: %v", words, err)
		case err == nil && (len(o.Settings) > len(o.Definitions) || len(o.Env) > len(o.environment) || o.ReducesGiven && !strings.Contains(line, "-numReduceTasks")):
			t.Errorf("%q: settings %q, environment %q; so many reduces: %t", words, o.Settings, o.Env, o.ReducesGiven)
		}
		for k := range o.Settings {
			if k == "" || strings.Contains(k, "=") || !strings.Contains(line, k) {
				t.Errorf("%q: the key %q", words, k)
			}
		}
	})
}
