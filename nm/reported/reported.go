// Package reported keeps what a node says of itself to its ResourceManager: the configuration names it, or a script prints it (Hadoop:
// NodeDescriptorsProvider). It is said when the node registers, and in heartbeats when it has changed or some time has passed.
package reported

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/scripts"
)

// Options say where a value comes from.
type Options[T any] struct {
	Value  T      // without a script
	Script string // path of a program
	Args   []string
	// Interval is the time between two runs of the script; 0: it runs once. Timeout is what one may take.
	Interval, Timeout time.Duration
	// Resync is the time after which the ResourceManager is told again; 0: never.
	Resync  time.Duration
	Changed func() // called when there is something to tell
	Log     *logrus.Entry
}

// FromConf reads times and the script, if a script is the provider, from the keys behind prefix. The rest is the caller's.
func FromConf[T any](c *conf.Config, prefix string) Options[T] {
	o := Options[T]{
		Interval: max(c.Duration(prefix+"provider.fetch-interval-ms"), 0),
		Timeout:  c.Duration(prefix + "provider.fetch-timeout-ms"),
		Resync:   max(c.Duration(prefix+"resync-interval-ms"), 0),
	}
	if c.Text(prefix+"provider") == "script" {
		o.Script, o.Args = c.Text(prefix+"provider.script.path"), c.Strings(prefix+"provider.script.opts")
	}
	return o
}

// Kind says what a value is.
type Kind[T any] struct {
	Prefix string // of its keys
	Name   string // in the log, such as label
	Lines  Lines  // of a script's output that count
	Read   func(lines []string) (T, error)
	Equal  func(a, b T) bool
}

// Value is safe for concurrent use.
type Value[T any] struct {
	Options[T]
	kind Kind[T]

	mu    sync.Mutex
	known bool
	value T
	told  bool // since it last changed
	at    time.Time
}

// New returns a value. One that the configuration names is known at once.
func New[T any](kind Kind[T], o Options[T]) (*Value[T], error) {
	if o.Script != "" {
		if _, err := exec.LookPath(o.Script); err != nil {
			return nil, fmt.Errorf("%sprovider.script.path: %w", kind.Prefix, err)
		}
	}
	return &Value[T]{Options: o, kind: kind, value: o.Value, known: o.Script == ""}, nil
}

// Run runs the script until ctx ends, if there is one.
func (v *Value[T]) Run(ctx context.Context) {
	if v.Script == "" {
		return
	}
	v.Fetch(ctx)
	if v.Interval == 0 {
		return
	}
	tick := time.NewTicker(v.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			v.Fetch(ctx)
		}
	}
}

// Fetch runs the script. If it fails, or prints what can't be read, the value stays as it was.
func (v *Value[T]) Fetch(ctx context.Context) {
	out := v.kind.Lines
	err := scripts.Run(ctx, v.Timeout, &out, v.Script, v.Args...)
	var found T
	if err == nil {
		found, err = v.kind.Read(out.Found())
	}
	if err != nil {
		if ctx.Err() == nil {
			v.Log.WithError(err).WithField("script", v.Script).Warnf("the script of the node's %[1]s has failed; the node keeps the %[1]s that it has", v.kind.Name)
		}
		return
	}
	v.mu.Lock()
	changed := !v.known || !v.kind.Equal(found, v.value)
	if changed {
		v.known, v.value, v.told = true, found, false
	}
	v.mu.Unlock()
	if changed && v.Changed != nil {
		v.Changed()
	}
}

// Due returns the value if it is to be said: when the node registers as soon as it is known, else if the ResourceManager wasn't told of it for Resync.
func (v *Value[T]) Due(now time.Time, registers bool) (value T, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.known || !registers && v.told && (v.Resync == 0 || now.Sub(v.at) < v.Resync) {
		return value, false
	}
	return v.value, true
}

// Told notes that the ResourceManager has answered to what was said. shown stands for that in the log.
func (v *Value[T]) Told(accepted bool, shown any, why string) {
	v.mu.Lock()
	v.told, v.at = true, time.Now()
	v.mu.Unlock()
	if !accepted {
		v.Log.WithField(v.kind.Name, shown).WithField("reason", why).Errorf("the ResourceManager doesn't accept the node's %s", v.kind.Name)
	}
}

// MaxLine bounds what is kept of a line of output, in bytes.
const MaxLine = 1 << 10

// Lines are those of an output that begin with Mark, without it; the newest Max of them are kept. Endless output takes no memory.
type Lines struct {
	Mark string
	Max  int

	line  []byte
	found []string
}

// Write implements io.Writer; it never fails.
func (l *Lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		l.line = append(l.line, line[:min(len(line), MaxLine-len(l.line))]...)
		if ends {
			l.end()
		}
		rest = after
	}
	return len(p), nil
}

func (l *Lines) end() {
	if text, is := bytes.CutPrefix(l.line, []byte(l.Mark)); is {
		if len(l.found) == l.Max {
			l.found = append(l.found[:0], l.found[1:]...)
		}
		l.found = append(l.found, string(text))
	}
	l.line = l.line[:0]
}

// Found returns the lines once the output has ended.
func (l *Lines) Found() []string {
	l.end()
	return l.found
}
