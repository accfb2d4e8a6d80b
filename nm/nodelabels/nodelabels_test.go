package nodelabels

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/nm/reported"
	"heddle/yarn/pb"
)

func quiet() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

// names are the labels of a message, "nothing" for none.
func names(m *pb.NodeLabels) string {
	if m == nil {
		return "nothing"
	}
	var all []string
	for _, l := range m.GetNodeLabels() {
		all = append(all, l.GetName())
	}
	return strings.Join(all, ",")
}

func TestWhereALabelComesFrom(t *testing.T) {
	on := []string{"yarn.node-labels.enabled=true", "yarn.node-labels.configuration-type=distributed"}
	for _, c := range []struct {
		set  []string
		ok   bool
		want Options
	}{
		{nil, false, Options{}},
		{on, false, Options{}},
		{append(on[:1:1], prefix+"provider=config"), false, Options{}}, // centralized
		{append(on[:2:2], prefix+"provider=config", prefix+"provider.configured-node-partition= x "), true, Options{Value: "x", Interval: 10 * time.Minute}},
		{append(on[:2:2], prefix+"provider=script", prefix+"provider.script.path=/s", prefix+"provider.fetch-interval-ms=-1"), true, Options{Script: "/s"}},
	} {
		conf, err := conf.Load(conf.Options{Overrides: c.set})
		if err != nil {
			t.Fatal(err)
		}
		o, ok := FromConf(conf)
		if ok != c.ok || ok && (o.Value != c.want.Value || o.Script != c.want.Script || o.Interval != c.want.Interval || o.Resync != 2*time.Minute || o.Timeout != 20*time.Minute) {
			t.Errorf("%q: %+v, %t", c.set, o, ok)
		}
	}
}

// The label is said when the node registers, and in a heartbeat when it has changed or some time has passed.
func TestAScriptSaysTheLabel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "label")
	script := filepath.Join(t.TempDir(), "script")
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(script, "#!/bin/sh\ncat "+file+"\n")
	changes := 0
	p, err := New(Options{Script: script, Timeout: time.Minute, Resync: time.Hour, Changed: func() { changes++ }, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	if got := names(p.Register()); got != "nothing" {
		t.Errorf("before it ran: %s", got)
	}
	for _, step := range []struct {
		output, beat string
		changes      int
	}{
		{"hello\nNODE_PARTITION:y\nNODE_PARTITION: x \n", "x", 1},
		{"NODE_PARTITION:x", "nothing", 1},
		{"NODE_PARTITION:z", "z", 2},
		{"no label", "", 3},
	} {
		write(file, step.output)
		p.label.Fetch(t.Context())
		said := p.Beat()
		if names(said) != step.beat || changes != step.changes {
			t.Errorf("after %q: %s, %d changes", step.output, names(said), changes)
		}
		if p.Told(said, true, ""); p.Beat() != nil || p.Register() == nil {
			t.Errorf("after %q it is said again in a heartbeat, or not in a registration", step.output)
		}
	}
	write(script, "#!/bin/sh\nexit 1\n")
	if p.label.Fetch(t.Context()); changes != 3 || p.Beat() != nil {
		t.Error("a script that fails changes the label")
	}
	if p.say(time.Now().Add(time.Hour), false) == nil {
		t.Error("after an hour it isn't said again")
	}
	if _, err := New(Options{Script: "/nowhere"}); err == nil || !strings.Contains(err.Error(), "script.path") {
		t.Errorf("a script that isn't there: %v", err)
	}
}

// Whatever a script prints, the label is one line of it at most, and little is kept.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nNODE_PARTITION:x\n"), 3)
	f.Add([]byte(strings.Repeat("NODE_PARTITION:", 200)), 100)
	f.Fuzz(func(t *testing.T, output []byte, at int) {
		whole, parts := marked, marked
		_, _ = whole.Write(output)
		at = min(max(at, 0), len(output))
		_, _ = parts.Write(output[:at])
		_, _ = parts.Write(output[at:])
		a, _ := read(whole.Found())
		if b, _ := read(parts.Found()); a != b || len(a) > reported.MaxLine || strings.Contains(a, "\n") {
			t.Errorf("%q, in parts %q", a, b)
		}
	})
}
