package topology

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/conf"
)

func mapping(t *testing.T, key, file, content string) *Mapping {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		c.Set(key, path)
	}
	log := logrus.New()
	log.SetOutput(io.Discard)
	m, err := New(c, logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRacks(t *testing.T) {
	const table = "net.topology.table.file.name"
	const script = "net.topology.script.file.name"
	for name, c := range map[string]struct{ key, content, host, want string }{
		"nothing configured":     {"", "", "a", DefaultRack},
		"in the table":           {table, "# racks\na /r1\nb\t/r2\n\nodd line here\n", "b", "/r2"},
		"not in the table":       {table, "a /r1\n", "c", DefaultRack},
		"from the script":        {script, "#!/bin/sh\necho /dc1/$1\n", "a", "/dc1/a"},
		"script prints nothing":  {script, "#!/bin/sh\n", "a", DefaultRack},
		"script prints too much": {script, "#!/bin/sh\necho /a /b\n", "a", DefaultRack},
		"script fails":           {script, "#!/bin/sh\necho /a\nexit 1\n", "a", DefaultRack},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mapping(t, c.key, "racks", c.content).Rack(c.host); got != c.want {
				t.Errorf("rack of %s is %s, want %s", c.host, got, c.want)
			}
		})
	}
}

func TestScriptRunsOncePerHost(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	m := mapping(t, "net.topology.script.file.name", "racks", "#!/bin/sh\necho x >> "+count+"\necho /r\n")
	for range 3 {
		if got := m.Rack("a"); got != "/r" {
			t.Fatal(got)
		}
	}
	if raw, err := os.ReadFile(count); err != nil || len(raw) != 2 {
		t.Errorf("the script ran %d times, %v", len(raw)/2, err)
	}
}

func TestMissingTableIsAnError(t *testing.T) {
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Set("net.topology.table.file.name", "/nowhere/racks")
	if _, err := New(c, nil); err == nil {
		t.Error("accepted")
	}
}

// A script that takes its time about one host keeps nobody waiting who asks about another, and is run once for all who ask about the
// same one.
func TestSlowScriptHoldsUpNobodyElse(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m := mapping(t, "net.topology.script.file.name", "racks",
		"#!/bin/sh\nif [ $1 = slow ]; then echo x >> "+dir+"/runs; read line < "+fifo+"; fi\necho /rack-of-$1\n")
	slow := make(chan string, 2)
	for range 2 {
		go func() { slow <- m.Rack("slow") }()
	}
	if got := m.Rack("quick"); got != "/rack-of-quick" {
		t.Errorf("rack of another host: %s", got)
	}
	if err := os.WriteFile(fifo, []byte("\n"), 0); err != nil { // waits for the script to read
		t.Fatal(err)
	}
	for range 2 {
		if got := <-slow; got != "/rack-of-slow" {
			t.Errorf("rack of the slow one: %s", got)
		}
	}
	if raw, err := os.ReadFile(dir + "/runs"); err != nil || len(raw) != 2 {
		t.Errorf("the script ran %d times, %v", len(raw)/2, err)
	}
}
