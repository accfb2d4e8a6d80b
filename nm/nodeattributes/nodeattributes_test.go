package nodeattributes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// text is what a message says, "nothing" for none.
func text(m *pb.NodeAttributes) string {
	if m == nil {
		return "nothing"
	}
	var all []string
	for _, a := range m.GetNodeAttributes() {
		all = append(all, a.GetAttributeKey().GetAttributePrefix()+"/"+a.GetAttributeKey().GetAttributeName()+"="+a.GetAttributeValue())
	}
	return strings.Join(all, " ")
}

func TestWhereAttributesComeFrom(t *testing.T) {
	const key = prefix + "provider.configured-node-attributes="
	config := prefix + "provider=config"
	for _, c := range []struct {
		set   []string
		ok    bool
		want  []Attribute
		error string
	}{
		{nil, false, nil, ""},
		{[]string{config}, true, nil, ""},
		{[]string{config, key + " os,STRING,linux:cores,STRING,8 : flag,STRING,"}, true, []Attribute{{"cores", "8"}, {"flag", ""}, {"os", "linux"}}, ""},
		{[]string{config, key + "os,STRING"}, true, nil, prefix + `provider.configured-node-attributes: "os,STRING" is not NAME,TYPE,VALUE`},
		{[]string{config, key + "os,LONG,1"}, true, nil, "STRING is the only one"},
		{[]string{config, key + ",STRING,1"}, true, nil, "has no name"},
		{[]string{config, key + "a,STRING,1:a,STRING,2"}, true, nil, "is there twice"},
		{[]string{prefix + "provider=script", prefix + "provider.script.path=/s"}, true, nil, ""},
	} {
		conf, err := conf.Load(conf.Options{Overrides: c.set})
		if err != nil {
			t.Fatal(err)
		}
		o, ok, err := FromConf(conf)
		if ok != c.ok || !slices.Equal(o.Value, c.want) || (c.error == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.error) {
			t.Errorf("%q: %+v, %t, %v", c.set, o, ok, err)
		}
		if ok && (o.Interval != 10*time.Minute || o.Timeout != 20*time.Minute || o.Resync != 2*time.Minute) {
			t.Errorf("%q: %+v", c.set, o)
		}
	}
}

// Attributes are said when the node registers, and in a heartbeat when they have changed or some time has passed.
func TestAScriptSaysTheAttributes(t *testing.T) {
	file, script := filepath.Join(t.TempDir(), "attributes"), filepath.Join(t.TempDir(), "script")
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
	if got := text(p.Register()); got != "nothing" {
		t.Errorf("before it ran: %s", got)
	}
	many := strings.Builder{}
	for i := range maxAttributes + 5 {
		fmt.Fprintf(&many, "NODE_ATTRIBUTE:a%d,STRING,1\n", i)
	}
	for _, step := range []struct {
		output, beat string
		changes      int
	}{
		{"hello\nNODE_ATTRIBUTE:os,STRING,linux\nNODE_ATTRIBUTE: gpu, STRING, a100 ", "nm.yarn.io/gpu=a100 nm.yarn.io/os=linux", 1},
		{"NODE_ATTRIBUTE:gpu,STRING,a100\nNODE_ATTRIBUTE:os,STRING,linux\n", "nothing", 1},
		{"NODE_ATTRIBUTE:os,STRING", "nothing", 1}, // no attribute: all stay
		{many.String(), "nothing", 1},
		{"NODE_ATTRIBUTE:os,STRING,bsd", "nm.yarn.io/os=bsd", 2},
		{"no attribute", "", 3},
	} {
		write(file, step.output)
		p.attributes.Fetch(t.Context())
		said := p.Beat()
		if text(said) != step.beat || changes != step.changes {
			t.Errorf("after %.80q: %s, %d changes", step.output, text(said), changes)
		}
		if p.Told(said, true, ""); p.Beat() != nil || p.Register() == nil {
			t.Errorf("after %.80q they are said again in a heartbeat, or not in a registration", step.output)
		}
	}
	write(script, "#!/bin/sh\nexit 1\n")
	if p.attributes.Fetch(t.Context()); changes != 3 || p.Beat() != nil {
		t.Error("a script that fails changes the attributes")
	}
	if p.say(time.Now().Add(time.Hour), false) == nil {
		t.Error("after an hour they aren't said again")
	}
	if _, err := New(Options{Script: "/nowhere"}); err == nil || !strings.Contains(err.Error(), "script.path") {
		t.Errorf("a script that isn't there: %v", err)
	}
}

// Whatever a script prints, attributes are few, short and named, and the same if the output comes in parts.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("a\nNODE_ATTRIBUTE:x,STRING,y\n"), 3)
	f.Add([]byte(strings.Repeat("NODE_ATTRIBUTE:", 200)), 100)
	f.Fuzz(func(t *testing.T, printed []byte, at int) {
		whole, parts := marked, marked
		_, _ = whole.Write(printed)
		at = min(max(at, 0), len(printed))
		_, _ = parts.Write(printed[:at])
		_, _ = parts.Write(printed[at:])
		a, err := Parse(whole.Found())
		if b, _ := Parse(parts.Found()); !slices.Equal(a, b) || err != nil && a != nil || len(a) > maxAttributes {
			t.Errorf("%q, in parts %q, %v", a, b, err)
		}
		for _, x := range a {
			if x.Name == "" || len(x.Name)+len(x.Value) > reported.MaxLine || strings.ContainsAny(x.Name+x.Value, "\n,") {
				t.Errorf("%q", x)
			}
		}
	})
}
