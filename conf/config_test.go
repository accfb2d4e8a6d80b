package conf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func load1(t *testing.T, o Options, files ...string) *Config {
	t.Helper()
	if len(files) > 0 {
		o.Dir = write(t, files...)
	}
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLayers(t *testing.T) {
	c := load1(t, Options{Overrides: []string{"e=command line", "d=", "yarn.acl.enable = true "}},
		"core-site.xml", configuration(property("a", "core"), property("b", "core"), "<property><name>c</name><value>core</value><final>true</final></property>"),
		"yarn-site.xml", configuration(property("b", "yarn"), property("c", "yarn"), property("d", "yarn"), property("e", "yarn")),
	)
	for key, want := range map[string]string{
		"a": "core", "b": "yarn", "c": "core", "e": "command line", "yarn.acl.enable": "true",
		"yarn.scheduler.minimum-allocation-mb": "1024", "yarn.resourcemanager.address": "0.0.0.0:8032",
		"yarn.sharedcache.root-dir": "/sharedcache", // not in the registry
	} {
		if got, _ := c.Get(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if v, ok := c.Get("d"); ok {
		t.Errorf("d was emptied on the command line and is %q", v)
	}
	c.Set("c", "set")
	if got, _ := c.Get("c"); got != "set" {
		t.Errorf("a final property that the program sets is still %q", got)
	}
	if at, ok := c.Where("b"); !ok || filepath.Base(at.File) != "yarn-site.xml" || at.Line != 3 {
		t.Errorf("b comes from %v", at)
	}
	if at, ok := c.Where("yarn.nodemanager.hostname"); ok {
		t.Errorf("a default comes from %v", at)
	}
}

func TestTypedGetters(t *testing.T) {
	c := load1(t, Options{}, "yarn-site.xml", configuration(
		property("yarn.scheduler.minimum-allocation-mb", " 0x200 "),
		property("yarn.nodemanager.resource-monitor.interval-ms", "2s"),
		property("yarn.nodemanager.vmem-pmem-ratio", "3.5f"),
		property("yarn.acl.enable", "TRUE"),
		property("dfs.blocksize", "64m"),
		property("yarn.nodemanager.local-dirs", "/a , file:///b/../c,file:/d"),
		property("yarn.resource-types", "gpu, disk"),
		property("yarn.nodemanager.address", "node:45454"),
		property("yarn.nodemanager.localizer.address", "node"),
		property("yarn.resourcemanager.connect.max-wait.ms", "-1"),
	))
	check := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	check("int", c.Int("yarn.scheduler.minimum-allocation-mb"), 512)
	check("default int", c.Int("yarn.scheduler.maximum-allocation-mb"), 8192)
	check("duration", c.Duration("yarn.nodemanager.resource-monitor.interval-ms"), 2*time.Second)
	check("default duration", c.Duration("yarn.am.liveness-monitor.expiry-interval-ms"), 15*time.Minute)
	check("for ever", c.Limit("yarn.resourcemanager.connect.max-wait.ms"), forever)
	check("limit", c.Limit("yarn.client.nodemanager-connect.max-wait-ms"), 3*time.Minute)
	check("float", c.Float("yarn.nodemanager.vmem-pmem-ratio"), 3.5)
	check("bool", c.Bool("yarn.acl.enable"), true)
	check("size", c.Size("dfs.blocksize"), int64(64<<20))
	check("paths", strings.Join(c.Paths("yarn.nodemanager.local-dirs"), " "), "/a /c /d")
	check("strings", strings.Join(c.Strings("yarn.resource-types"), " "), "gpu disk")
	check("address", c.Address("yarn.nodemanager.address"), Address{"node", 45454})
	check("address with the default port", c.Address("yarn.nodemanager.localizer.address"), Address{"node", 8040})
	check("no value", c.Text("yarn.nodemanager.bind-host"), "")
	check("no number", c.Int("yarn.client.failover-max-attempts"), 0)
}

func TestImpossibleValuesReadAsDefaults(t *testing.T) {
	c := fromMap(map[string]string{"yarn.scheduler.minimum-allocation-mb": "lots", "yarn.acl.enable": "${yarn.acl.enable}"})
	if got := c.Int("yarn.scheduler.minimum-allocation-mb"); got != 1024 {
		t.Errorf("got %d", got)
	}
	if c.Bool("yarn.acl.enable") {
		t.Error("a loop is true")
	}
}

func TestMisspeltKeysPanic(t *testing.T) {
	for name, f := range map[string]func(*Config){
		"unknown":       func(c *Config) { c.Int("yarn.scheduler.minimum-allocation") },
		"of other kind": func(c *Config) { c.Int("yarn.acl.enable") },
		"not an address": func(c *Config) {
			c.Set("yarn.resourcemanager.ha.enabled", "true")
			_, _ = c.RMAddress("yarn.acl.enable", "rm1")
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f(fromMap(nil))
		}()
	}
}

func TestLocate(t *testing.T) {
	env := func(v string) func(string) (string, bool) {
		return func(name string) (string, bool) { return v, name == "HADOOP_CONF_DIR" && v != "" }
	}
	for _, c := range []struct{ flag, env, want string }{{"/f", "/e", "/f"}, {"", "/e", "/e"}, {"", "", ""}} {
		if got := Locate(c.flag, env(c.env)); got != c.want {
			t.Errorf("--conf %q and $HADOOP_CONF_DIR %q lead to %q", c.flag, c.env, got)
		}
	}
}

func TestLoadFailsClearly(t *testing.T) {
	broken := write(t, "core-site.xml", "<configuration>", "yarn-site.xml", "<x/>")
	_, err := Load(Options{Dir: broken, Overrides: []string{"novalue", "=x"}})
	for _, want := range []string{"core-site.xml:1", "yarn-site.xml:1", `"novalue"`, `"=x"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s in it", err, want)
		}
	}
	if _, err := Load(Options{Dir: filepath.Join(broken, "nope")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: got %v", err)
	}
	if _, err := Load(Options{Dir: filepath.Join(broken, "core-site.xml")}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestWithAddsAFile(t *testing.T) {
	c := load1(t, Options{},
		"core-site.xml", configuration(property("pool", "big")),
		"capacity-scheduler.xml", configuration(property("yarn.scheduler.capacity.root.queues", "${pool},small")),
	)
	d, err := c.With("capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.WithPrefix("yarn.scheduler.capacity.")["root.queues"]; got != "big,small" {
		t.Errorf("got %q", got)
	}
	if _, ok := c.Get("yarn.scheduler.capacity.root.queues"); ok {
		t.Error("the original has the file's properties as well")
	}
	if _, err := c.With("nope.xml"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: got %v", err)
	}
}

func TestDirectoriesOfHadoopsScripts(t *testing.T) {
	env := map[string]string{}
	o := Options{
		Getenv:           func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		SystemProperties: map[string]string{"user.name": "yarn"},
	}
	for _, step := range []struct{ name, value, want string }{
		{"", "", "/tmp/hadoop-yarn/logs/userlogs"},
		{"HADOOP_HOME", "/opt/hadoop", "/opt/hadoop/logs/userlogs"},
		{"HADOOP_LOG_DIR", "/var/log/hadoop", "/var/log/hadoop/userlogs"},
		{"YARN_LOG_DIR", "/var/log/yarn", "/var/log/yarn/userlogs"},
	} {
		env[step.name] = step.value
		if got := load1(t, o).Paths("yarn.nodemanager.log-dirs"); !slices.Equal(got, []string{step.want}) {
			t.Errorf("with $%s=%s: got %v, want %s", step.name, step.value, got, step.want)
		}
	}
	if got := load1(t, o).StateDir("nm", "host:45454"); got != "/tmp/hadoop-yarn/heddle/nm-host_45454" {
		t.Errorf("state of a node is in %s", got)
	}
	if got := load1(t, o).StateDir("rm", "../../x"); got != "/tmp/hadoop-yarn/heddle/rm-.._.._x" {
		t.Errorf("an odd id leads to %s", got)
	}
}

func noSuchHost(context.Context, string) ([]string, error) { return nil, errors.New("no such host") }

func haConfig(t *testing.T, extra ...string) *Config {
	t.Helper()
	return load1(t, Options{
		LookupHost: func(_ context.Context, host string) ([]string, error) {
			if ip, ok := map[string]string{"here": "127.0.0.1", "there": "192.0.2.7"}[host]; ok {
				return []string{ip}, nil
			}
			return nil, errors.New("no such host")
		},
		Overrides: extra,
	}, "yarn-site.xml", configuration(
		property("yarn.resourcemanager.ha.enabled", "true"),
		property("yarn.resourcemanager.ha.rm-ids", "rm1, rm2,rm3"),
		property("yarn.resourcemanager.hostname.rm1", "there"),
		property("yarn.resourcemanager.hostname.rm2", "here"),
		property("yarn.resourcemanager.hostname.rm3", "192.0.2.9"),
		property("yarn.resourcemanager.scheduler.address.rm2", "other:9999"),
		property("heddle.raft.address.rm3", "192.0.2.9:9"),
	))
}

func TestAddressesOfSeveralResourceManagers(t *testing.T) {
	c := haConfig(t)
	for _, w := range []struct{ key, id, want string }{
		{"yarn.resourcemanager.address", "rm1", "there:8032"},
		{"yarn.resourcemanager.scheduler.address", "rm2", "other:9999"},
		{"yarn.resourcemanager.webapp.address", "rm2", "here:8088"},
		{"yarn.resourcemanager.webapp.https.address", "rm2", "here:8090"},
	} {
		if got, err := c.RMAddress(w.key, w.id); err != nil || got.String() != w.want {
			t.Errorf("%s of %s: got %v, %v; want %s", w.key, w.id, got, err, w.want)
		}
	}
	if a, err := c.RMAddress("yarn.resourcemanager.address", "rm4"); err == nil {
		t.Errorf("a ResourceManager that isn't there has address %v", a)
	}
	for id, want := range map[string]string{"rm1": "there:8034", "rm2": "here:8034", "rm3": "192.0.2.9:9"} {
		if got, err := c.RaftAddress(id); err != nil || got.String() != want {
			t.Errorf("raft of %s: got %v, %v; want %s", id, got, err, want)
		}
	}
	all, err := c.RMAddresses("yarn.resourcemanager.admin.address")
	if err != nil || !slices.Equal(all, []Address{{"there", 8033}, {"here", 8033}, {"192.0.2.9", 8033}}) {
		t.Errorf("got %v, %v", all, err)
	}
	c.Set("yarn.resourcemanager.bind-host", "0.0.0.0")
	if got, err := c.RMListen("yarn.resourcemanager.address", "rm1"); err != nil || got.String() != "0.0.0.0:8032" {
		t.Errorf("rm1 listens on %v, %v", got, err)
	}
}

func TestOwnRMID(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name, flag string
		extra      []string
		want       string // an id, or part of the error
	}{
		{"by address", "", nil, "rm2"},
		{"by flag", "rm3", []string{"yarn.resourcemanager.ha.id=rm1"}, "rm3"},
		{"by key", "", []string{"yarn.resourcemanager.ha.id=rm1"}, "rm1"},
		{"unknown", "rm9", nil, "not in yarn.resourcemanager.ha.rm-ids"},
		{"two here", "", []string{"yarn.resourcemanager.hostname.rm1=127.0.0.1"}, "rm1, rm2 all have"},
		{"none here", "", []string{"yarn.resourcemanager.hostname.rm2=there"}, "none of rm1, rm2, rm3"},
		{"alone", "", []string{"yarn.resourcemanager.ha.enabled=false"}, "rm1"},
		{"alone with an id", "x", []string{"yarn.resourcemanager.ha.enabled=false"}, "x"},
	} {
		got, err := haConfig(t, c.extra...).OwnRMID(ctx, c.flag)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || (err == nil && got != c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestConnectable(t *testing.T) {
	known := load1(t, Options{
		Hostname:   func() (string, error) { return "here", nil },
		LookupHost: func(context.Context, string) ([]string, error) { return []string{"192.0.2.1"}, nil },
	})
	unknown := load1(t, Options{Hostname: func() (string, error) { return "here", nil }, LookupHost: noSuchHost})
	nameless := load1(t, Options{Hostname: func() (string, error) { return "", errors.New("no name") }})
	for _, c := range []struct {
		conf     *Config
		in, want string
	}{
		{known, "0.0.0.0:8032", "here:8032"},
		{known, "[::]:8032", "here:8032"},
		{known, "rm:8032", "rm:8032"},
		{unknown, "0.0.0.0:8032", "127.0.0.1:8032"},
		{nameless, "0.0.0.0:8032", "127.0.0.1:8032"},
	} {
		a, err := ParseAddress(c.in, -1)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.conf.Connectable(a).String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestVerbatimKeepsBlanks(t *testing.T) {
	c := load1(t, Options{}, "yarn-site.xml", configuration(
		property("yarn.admin.acl", " "), property("who", "bob"), property("yarn.scheduler.capacity.root.a.acl", "${who} "),
	))
	if got, ok := c.Verbatim("yarn.admin.acl"); !ok || got != " " {
		t.Errorf("got %q, %v", got, ok)
	}
	if got := c.VerbatimWithPrefix("yarn.scheduler.capacity.")["root.a.acl"]; got != "bob " {
		t.Errorf("got %q", got)
	}
	if got, ok := c.Verbatim("yarn.acl.enable"); !ok || got != "false" {
		t.Errorf("default: got %q, %v", got, ok)
	}
}
