package topology

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/conf"
	"heddle/internal/await"
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
	return New(c, quiet())
}

const warning = conf.Warning

func quiet() *logrus.Entry {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return logrus.NewEntry(log)
}

// A class of the site's own found the racks on YARN. Heddle said nothing, and all nodes were in one rack.
func TestClassesThatFindRacksAreNotLostSilently(t *testing.T) {
	const mine, table = "com.example.RackMapping", "org.apache.hadoop.net.TableMapping"
	for name, test := range map[string]struct {
		set  map[string]string
		says string // empty: nothing
	}{
		"by default":           {nil, ""},
		"a class of one's own": {map[string]string{classKey: mine}, "no Java class is run: all hosts are in /default-rack"},
		"beside a table":       {map[string]string{classKey: mine, tableKey: "TABLE"}, ""},
		"Hadoop's table":       {map[string]string{classKey: table, tableKey: "TABLE", scriptKey: "/nowhere"}, ""},
		"Hadoop's script":      {map[string]string{classKey: "org.apache.hadoop.net.ScriptBasedMapping"}, ""},
	} {
		c, err := conf.Load(conf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "racks")
		if err := os.WriteFile(file, []byte("n1 /r1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for key, value := range test.set {
			c.Set(key, strings.ReplaceAll(value, "TABLE", file))
		}
		found := Problems(c)
		if test.says == "" && len(found) > 0 || test.says != "" && (len(found) != 1 || found[0].Severity != conf.Warning || !strings.Contains(found[0].Message, test.says)) {
			t.Errorf("%s: %v", name, found)
		}
		if rack := New(c, quiet()).Rack("n1"); test.set[tableKey] != "" && rack != "/r1" {
			t.Errorf("%s: n1 is in %s", name, rack)
		}
	}
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
		"a comment":              {table, "#a /r1\n", "#a", DefaultRack},
		"a long line":            {table, strings.Repeat("x", 100_000) + "\na /r1\n", "a", "/r1"},
		"script prints no rack":  {script, "#!/bin/sh\necho r1\n", "a", DefaultRack},
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

// YARN starts with racks that it can't find, and a ResourceManager didn't.
func TestUselessSettingsAreWarnings(t *testing.T) {
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "racks")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const table = "net.topology.table.file.name"
	const script = "net.topology.script.file.name"
	for name, c := range map[string]struct{ key, path, want string }{
		"no table":              {table, "/nowhere/racks", "no such file"},
		"a folder":              {table, t.TempDir(), "is a directory"},
		"a rack without slash":  {table, write("a /r1\nb r2\n"), `line 2: the rack "r2" must begin with a slash`},
		"a line without end":    {table, write("a /r1\nb /" + strings.Repeat("r", maxLine)), "line 2: "},
		"no script":             {script, "/nowhere/racks", "no such file"},
		"a script without mode": {script, write("#!/bin/sh\necho /r\n"), "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, err := conf.Load(conf.Options{})
			if err != nil {
				t.Fatal(err)
			}
			conf.Set(c.key, c.path)
			found := Problems(conf)
			if len(found) != 1 || found[0].Severity != warning || found[0].Key != c.key || !strings.Contains(found[0].Message, c.want) {
				t.Errorf("%v, want a warning of %s with %q", found, c.key, c.want)
			}
			if rack := New(conf, quiet()).Rack("b"); rack != DefaultRack {
				t.Errorf("a host is in %s", rack)
			}
		})
	}
}

// A table is any bytes. What comes out can be asked for.
func FuzzParseTable(f *testing.F) {
	f.Add([]byte("# racks\na /r1\nb\t/r2\n\nodd line here\n"))
	f.Add([]byte("a r1\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		table, _ := parseTable(bytes.NewReader(raw)) // lines that are right count, also beside others
		for host, rack := range table {
			if host == "" || host[0] == '#' || rack[0] != '/' || !bytes.Contains(raw, []byte(host)) {
				t.Errorf("%q is in rack %q", host, rack)
			}
		}
	})
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

// A script that doesn't end is killed. Its host is in the default rack until it is asked about again, and others are looked up meanwhile.
func TestScriptThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	m := mapping(t, "net.topology.script.file.name", "racks",
		"#!/bin/sh\nif [ ! -e "+dir+"/asked ]; then echo $$ > "+dir+"/asked; exec sleep 1000; fi\necho /rack-of-$1\n")
	m.patience = 500 * time.Millisecond
	if got := m.Rack("stuck"); got != DefaultRack {
		t.Errorf("rack of the host whose script hangs: %s", got)
	}
	raw, err := os.ReadFile(dir + "/asked")
	if err != nil {
		t.Fatalf("the script wasn't started in time: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil || syscall.Kill(pid, 0) != syscall.ESRCH {
		t.Errorf("the script %q is still there: %v", raw, err)
	}
	m.patience = scriptPatience
	for _, host := range []string{"stuck", "other"} {
		if got := m.Rack(host); got != "/rack-of-"+host {
			t.Errorf("rack of %s afterwards: %s", host, got)
		}
	}
}

// However many hosts are asked about, only so many scripts run at once.
func TestScriptsAtOnce(t *testing.T) {
	const hosts = maxScripts + 8
	dir := t.TempDir()
	m := mapping(t, "net.topology.script.file.name", "racks",
		"#!/bin/sh\necho begin >> "+dir+"/runs\nwhile [ ! -e "+dir+"/go ]; do sleep 0.05; done\necho end >> "+dir+"/runs\necho /r\n")
	racks := make(chan string, hosts)
	for i := range hosts {
		go func() { racks <- m.Rack("n" + strconv.Itoa(i)) }()
	}
	runs := func() []string {
		raw, _ := os.ReadFile(dir + "/runs")
		return strings.Fields(string(raw))
	}
	await.Until(t, "as many scripts run as may", func() bool { return len(runs()) >= maxScripts })
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range hosts {
		if got := <-racks; got != "/r" {
			t.Errorf("a host is in %s", got)
		}
	}
	now, most := 0, 0
	for _, x := range runs() {
		if now++; x == "end" {
			now -= 2
		}
		most = max(most, now)
	}
	if most != maxScripts {
		t.Errorf("%d scripts ran at once, not %d", most, maxScripts)
	}
}
