package main

import (
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
)

// No command line of a streaming job makes the parser fall over. Errors say which command they are of.
func FuzzStreamingOptions(f *testing.F) {
	for _, line := range []string{
		"-input\x00x,y/{a,b}\x00-output\x00out\x00-mapper\x00cat", "-Da.b=c=d\x00-D\x00e=", "-cmdenv\x00K=v=w", "-cmdenv\x00=", "-D=x", "-D\x00",
		"-inputformat\x00a.b.CombineTextInputFormat", "-partitioner\x00x", "-numReduceTasks\x00-1", "--name\x00n\x00rest",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		o, s := mrOptions(), &source{}
		err := o.parse(s, words)
		switch {
		case errors.Is(err, flag.ErrHelp):
		case err != nil && !strings.HasPrefix(err.Error(), "mr: "):
			t.Errorf("%q: %v", words, err)
		case err == nil && (len(s.overrides) != len(o.definitions) || len(o.job.Settings) > len(o.definitions) || len(o.job.Env) > len(o.environment)):
			t.Errorf("%q: settings %q, environment %q", words, o.job.Settings, o.job.Env)
		}
		for k := range o.job.Settings {
			if k == "" || strings.Contains(k, "=") || !strings.Contains(line, k) {
				t.Errorf("%q: the key %q", words, k)
			}
		}
	})
}

// A replay ends at a line, at a time, or not before its end: never at both, and never before the first line.
func FuzzReplayBound(f *testing.F) {
	for _, text := range []string{"", "line:1200", "line:0", "1763622000000", "-1", "2026-11-20T08:30:00Z", "0001-01-01T00:00:00Z"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := parseBound(text)
		switch {
		case err != nil && (b != bound{} || !strings.Contains(err.Error(), text)):
			t.Errorf("%q: %+v, %v", text, b, err)
		case err == nil && (text == "") != (b == bound{}), b.line < 0, b.time < 0, b.line > 0 && b.time > 0, (b.line > 0) != (err == nil && strings.HasPrefix(text, "line:")):
			t.Errorf("%q: %+v", text, b)
		}
	})
}

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
