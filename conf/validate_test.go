package conf

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Configurations of a stock Hadoop: they must load unchanged and have nothing to complain about.
func TestStockConfigurationsAreFine(t *testing.T) {
	dirs, err := filepath.Glob("testdata/stock/*")
	if err != nil || len(dirs) < 8 {
		t.Fatalf("%d folders, %v", len(dirs), err)
	}
	for _, dir := range dirs {
		r := Check(dir)
		if !r.OK() {
			t.Errorf("%s: %v", dir, r.Err())
		}
		for _, p := range r.Problems {
			if p.Severity == Warning {
				t.Errorf("%s: %s", dir, p)
			}
		}
	}
	if r := Check(""); len(r.Problems) > 0 {
		t.Errorf("the defaults: %v", r.Problems)
	}
}

func TestValidation(t *testing.T) {
	const (
		rm  = "yarn.resourcemanager."
		nm  = "yarn.nodemanager."
		ha  = rm + "ha.enabled=true|" + rm + "ha.rm-ids=rm1,rm2,rm3|" + rm + "hostname.rm1=a|" + rm + "hostname.rm2=b|" + rm + "hostname.rm3=c"
		min = "yarn.scheduler.minimum-allocation-mb"
	)
	for _, c := range []struct {
		overrides string // separated by |
		severity  Severity
		key, want string // part of the problem's text
	}{
		{"heddle.state-dir=/x", Error, "heddle.state-dir", "did you mean heddle.state.dir?"},
		{"heddle.nonsense.of.some.kind=1", Error, "heddle.nonsense.of.some.kind", "no such key"},
		{min + "=lots", Error, min, "must be an integer; allowed: an integer from 0 to 2147483647"},
		{min + "=-5", Error, min, "from 0 to"},
		{min + "=9000", Error, min, "above the maximum of 8192"},
		{min + "=0", Error, min, "can't be empty"},
		{min + "=${nope}", Error, min, "nothing defines ${nope}"},
		{min + "= ", Error, min, "is blank"},
		{"a=${b}|b=${a}", Warning, "a", "a → b → a"}, // nobody reads it, and YARN starts
		{"yarn.nodemanager.local-dirs=${b}|b=${yarn.nodemanager.local-dirs}", Error, "yarn.nodemanager.local-dirs", "refers to itself"},
		{"yarn.acl.enable=yes", Warning, "yarn.acl.enable", "true or false, and counts as false, as in Hadoop"},
		{"heddle.container.run-as-root=yes", Error, "heddle.container.run-as-root", "true or false"},
		{"hadoop.rpc.protection=privacy,none", Error, "hadoop.rpc.protection", "list of authentication, integrity, privacy"},
		{"yarn.http.policy=https", Error, "yarn.http.policy", "list of HTTP_ONLY, HTTPS_ONLY"},
		{nm + "vmem-pmem-ratio=NaN", Error, nm + "vmem-pmem-ratio", "must be a number"},
		{"yarn.nm.liveness-monitor.expiry-interval-ms=10x", Error, "yarn.nm.liveness-monitor.expiry-interval-ms", "milliseconds"},
		{"yarn.nm.liveness-monitor.expiry-interval-ms=500", Error, "yarn.nm.liveness-monitor.expiry-interval-ms", "between two heartbeats"},
		{nm + "resource.memory-mb=0", Error, nm + "resource.memory-mb", "or -1"},
		{nm + "resource.memory-mb=512", Warning, nm + "resource.memory-mb", "refuse the node"},
		{nm + "local-dirs=/a,b", Error, nm + "local-dirs", `"b" is not absolute`},
		{nm + "local-dirs=hdfs://nn/a", Error, nm + "local-dirs", "not in the local file system"},
		{nm + "local-dirs=/a/${nope}", Error, nm + "local-dirs", "nothing defines ${nope}"},
		{"hadoop.tmp.dir=tmp", Error, nm + "local-dirs", "its default"},
		{nm + "address=node:99999", Error, nm + "address", "65535"},
		{nm + "localizer.address=0.0.0.0:8042", Error, nm + "webapp.address", "also that of yarn.nodemanager.localizer.address"},
		{nm + "aux-services=mapreduce_shuffle|mapreduce.shuffle.port=8042", Error, "mapreduce.shuffle.port", "port 8042"},
		{rm + "scheduler.address=x:8032|" + rm + "bind-host=0.0.0.0", Error, rm + "scheduler.address", "port 8032"},
		{rm + "scheduler.class=com.example.Mine", Error, rm + "scheduler.class", "CapacityScheduler"},
		{"fs.defaultFS=viewfs://x/", Warning, "fs.defaultFS", "hdfs: and file: only"},
		{"heddle.scheduler.stage-policy=omo|" + rm + "scheduler.class=fifo", Warning, "heddle.scheduler.stage-policy", "capacity or fair"},
		{"heddle.probes.memory-mb=512|heddle.probes.max-memory-mb=511", Error, "heddle.probes.max-memory-mb", "below heddle.probes.memory-mb (512)"},
		{"heddle.probes.max-vcores=2", Error, "heddle.probes.max-vcores", "heddle.probes.memory-mb is 0"},
		{"heddle.probes.users=anna:0", Error, "heddle.probes.users", "above 0"},
		{"heddle.scheduler.partition.task-times=root.a=soon", Error, "heddle.scheduler.partition.task-times", "QUEUE=TIME"},
		{"heddle.scheduler.partition.short-percent=10", Warning, "heddle.scheduler.partition.short-percent", "heddle.scheduler.partition.cutoff-ms"},
		{"heddle.scheduler.partition.rules=dice", Warning, "heddle.scheduler.partition.rules", "heddle.scheduler.partition.cutoff-ms"},
		{"heddle.nodemanager.staging.enabled=true", Warning, "heddle.nodemanager.staging.enabled", "set heddle.probes.memory-mb"},
		{"heddle.scheduler.partition.cutoff-ms=1|heddle.scheduler.partition.short-percent=10|heddle.scheduler.partition.max-percent=9", Error, "heddle.scheduler.partition.max-percent", "below"},
		{"heddle.probes.sizing=cubic", Error, "heddle.probes.sizing", "square"},
		{"heddle.scheduler.stage-policy=lazy", Error, "heddle.scheduler.stage-policy", "omo"},
		{"heddle.scheduler.preemption=suspend", Warning, "heddle.scheduler.preemption", rm + "scheduler.monitor.enable=true"},
		{"heddle.scheduler.preemption=suspend|" + rm + "scheduler.monitor.enable=true|" + rm + "scheduler.class=fair", Warning, "heddle.scheduler.preemption", "yarn.scheduler.fair.preemption=true"},
		{"fs.defaultFS=nn", Error, "fs.defaultFS", "URI"},
		{rm + "ha.enabled=true", Error, rm + "ha.rm-ids", "no ids"},
		{rm + "ha.enabled=true|" + rm + "ha.rm-ids=rm1,rm2|" + rm + "hostname.rm1=a", Error, rm + "ha.rm-ids", rm + "hostname.rm2"},
		{rm + "ha.enabled=true|" + rm + "ha.rm-ids=rm1,rm2|" + rm + "hostname.rm1=a|" + rm + "address.rm2=b", Error, rm + "admin.address.rm2", "neither"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm1", Error, rm + "ha.rm-ids", "named twice"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2", Warning, rm + "ha.rm-ids", "losing either of the two ResourceManagers stops the cluster: run a witness"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2|" + rm + "hostname.rm1=a|" + rm + "hostname.rm2=b", Warning, rm + "ha.rm-ids", "set heddle.raft.witness.address to HOST:8034 of that machine. Between machines they don't start without heddle.cluster.secret-file"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3|" + rm + "hostname.rm1=a|" + rm + "hostname.rm2=b|" + rm + "hostname.rm3=c", Warning, rm + "ha.rm-ids", "don't start without heddle.cluster.secret-file"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3,rm4|" + rm + "hostname.rm4=d", Warning, rm + "ha.rm-ids", "odd number"},
		{ha + "|" + rm + "ha.rm-ids=rm1,witness", Error, rm + "ha.rm-ids", `can have the id "witness"`},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3|heddle.raft.witness.address=zk1:8034", Error, "heddle.raft.witness.address", "survive the loss of one without it"},
		{"heddle.raft.witness.address=zk1:8034", Error, "heddle.raft.witness.address", "a single ResourceManager adds nothing"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2|heddle.raft.witness.address=0.0.0.0:8034", Error, "heddle.raft.witness.address", "name the witness's machine"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3|heddle.raft.never-lead=rm4", Error, "heddle.raft.never-lead", "is not an id"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3|heddle.raft.never-lead=rm1,rm2,rm3", Error, "heddle.raft.never-lead", "none would lead"},
		{ha + "|" + rm + "ha.rm-ids=rm1,rm2,rm3|heddle.raft.never-lead=rm2,rm3", Warning, "heddle.raft.never-lead", "only rm1 may lead"},
		{ha + "|" + rm + "ha.rm-ids=rm.1|" + rm + "hostname.rm.1=a", Error, rm + "ha.rm-ids", "can't have"},
		{ha + "|" + rm + "ha.id=rm4", Error, rm + "ha.id", "one of rm1, rm2, rm3"},
		{ha + "|" + rm + "address.rm4=x:1", Warning, rm + "address.rm4", "not an id"},
		{ha + "|heddle.raft.address.rm4=x:1", Error, "heddle.raft.address.rm4", "not an id"},
		{ha + "|" + rm + "address.rm1=a:b", Error, rm + "address.rm1", "host:port"},
		{ha + "|" + rm + "hostname.rm2=a", Error, "heddle.raft.address.rm2", "also the address of heddle.raft.address.rm1"},
		{"heddle.raft.lease-timeout-ms=500", Error, "heddle.raft.lease-timeout-ms", "two leaders"},
		{"heddle.raft.election-timeout-ms=100", Error, "heddle.raft.election-timeout-ms", "shorter"},
		{"heddle.raft.tls.cert=/c", Error, "heddle.raft.tls.cert", "heddle.raft.tls.key, heddle.raft.tls.ca"},
		{"heddle.log.level=loud", Error, "heddle.log.level", "one of trace, debug"},
		{"yarn.schedular.minimum-allocation-mb=1", Warning, "yarn.schedular.minimum-allocation-mb", "did you mean " + min + "?"},
		{"yarn.sharedcache.enabled=true", Info, "yarn.sharedcache.enabled", "no effect"},
		{"yarn.resourcemanager.reservation-system.enable=true", Info, "yarn.resourcemanager.reservation-system.enable", "no effect in Heddle yet"},
		{"yarn.resourcemanager.reservation-system.enable=perhaps", Warning, "yarn.resourcemanager.reservation-system.enable", "true or false"},
	} {
		_, r := CheckWith(Options{Overrides: strings.Split(c.overrides, "|")}, Everybody)
		if !slices.ContainsFunc(r.Problems, func(p Problem) bool {
			return p.Severity == c.severity && p.Key == c.key && strings.Contains(p.String(), c.want)
		}) {
			t.Errorf("%s: no %s about %s with %q, but %v", c.overrides, c.severity, c.key, c.want, r.Problems)
		}
		if r.OK() != (c.severity != Error) {
			t.Errorf("%s: OK is %v: %v", c.overrides, r.OK(), r.Err())
		}
	}
}

// Settings that must raise nothing at all.
func TestValidSettings(t *testing.T) {
	for _, overrides := range []string{
		"yarn.resourcemanager.reservation-system.enable=false", // as by default
		"yarn.sharedcache.enabled= false ",                     // likewise
		"mapreduce.map.memory.mb=x|my.own.key=${u}",            // not ours
		"yarn.app.mapreduce.am.staging-dir=/s",
		"yarn.scheduler.capacity.root.queues=a",
		"yarn.nodemanager.aux-services.spark_shuffle.class=org.apache.spark.network.yarn.YarnShuffleService",
		"yarn.nodemanager.aux-services=mapreduce_shuffle|yarn.nodemanager.webapp.address=127.0.0.1:0|mapreduce.shuffle.port=0",
		"yarn.resourcemanager.bind-host=0.0.0.0",
		"yarn.scheduler.minimum-allocation-mb=0|yarn.resourcemanager.scheduler.class=fair",
		"yarn.admin.acl= ",
		"yarn.am.liveness-monitor.expiry-interval-ms=10m",
		"fs.defaultFS=hdfs://nn:8020/|hadoop.tmp.dir=file:/x",
	} {
		if _, r := CheckWith(Options{Overrides: strings.Split(overrides, "|")}, Everybody); len(r.Problems) > 0 {
			t.Errorf("%s: %v", overrides, r.Problems)
		}
	}
}

func TestProblemsOfFiles(t *testing.T) {
	dir := write(t,
		"core-site.xml", configuration(
			property("a", "1"), property("a", "2"),
			"<property><name>b</name><value>1</value><final>true</final></property>",
			property("yarn.acl.enable", "true"),
			property("fs.default.name", "file:///"),
			"<propertie/>", "<property><value>x</value></property>",
		),
		"yarn-site.xml", configuration(property("b", "2"), property("heddle.nope", "x")),
		"mapred-site.xml", "<configuration>",
		"capacity-scheduler.xml", "nonsense",
	)
	var got []string
	for _, p := range Check(dir).Problems {
		rel, _ := filepath.Rel(dir, p.Source.File)
		p.Source.File = rel
		text := string(p.Severity) + " " + p.String()
		got = append(got, text[:min(len(text), 70)])
	}
	want := []string{
		"error mapred-site.xml:1: is not well-formed XML: unexpected EOF",
		`error yarn-site.xml:4: heddle.nope = "x": Heddle has no such key`,
		`warning core-site.xml:4: a = "2": is already set at `,
		`warning core-site.xml:5: yarn.acl.enable = "true": Hadoop ignores this`,
		`warning core-site.xml:6: fs.default.name = "file:///": this name is de`,
		"warning core-site.xml:7: <propertie> is not an element of a configurat",
		"warning core-site.xml:7: a property without a name is ignored",
		`warning yarn-site.xml:3: b = "2": is ignored: it is final at `,
	}
	if len(got) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

func TestEmptyFolderIsWarnedAbout(t *testing.T) {
	r := Check(t.TempDir())
	if !r.OK() || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, "core-site.xml") {
		t.Errorf("got %v", r.Problems)
	}
	if r := Check(filepath.Join(t.TempDir(), "nope")); r.OK() {
		t.Error("a missing folder is fine")
	}
}

func TestReportForms(t *testing.T) {
	dir := write(t, "yarn-site.xml", configuration(property("heddle.state-dir", "/x"), property("yarn.resourcemanager.reservation-system.enable", "true")))
	r := Check(dir)
	var text, js bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"error:   " + dir + "/yarn-site.xml:3: heddle.state-dir = \"/x\": Heddle has no such key; did you mean heddle.state.dir?\n",
		dir + " can't be used by any daemon: 1 error, 0 warnings, 1 further setting without effect\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK       bool
		Dir      string
		Problems []struct {
			Severity, File, Key, Value, Message, Suggestion string
			Line                                            int
		}
	}
	if err := json.Unmarshal(js.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || got.Dir != dir || len(got.Problems) != 2 {
		t.Fatalf("got %s", &js)
	}
	if p := got.Problems[0]; p.Severity != "error" || p.File != dir+"/yarn-site.xml" || p.Line != 3 || p.Key != "heddle.state-dir" ||
		p.Value != "/x" || p.Suggestion != "heddle.state.dir" {
		t.Errorf("got %+v", p)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c := fromMap(map[string]string{"yarn.federation.state-store.sql.password": "hush", "heddle.db.password": "hush"})
	var out bytes.Buffer
	if err := c.WriteXML(&out, ""); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteJSON(&out, "heddle.db.password"); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate().WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "hush") || !strings.Contains(s, redacted) || !strings.Contains(s, "<value>"+redactedXML+"<") {
		t.Errorf("got %s", s)
	}
}

func TestConfPage(t *testing.T) {
	c := load1(t, Options{SystemProperties: map[string]string{"user.name": "yarn"}, Overrides: []string{"o=1"}}, "yarn-site.xml", configuration(
		"<property><name>a</name><value>${hadoop.tmp.dir}&amp;</value><final>true</final></property>"))
	for _, w := range []struct {
		name, key, want string
		write           func(*Config, *bytes.Buffer, string) error
	}{
		{"one as JSON", "a", `{"property":{"key":"a","value":"/tmp/hadoop-yarn&","isFinal":true,"resource":"yarn-site.xml"}}` + "\n", asJSON},
		{"one as XML", "a", `<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n<property><name>a</name><value>${hadoop.tmp.dir}&amp;</value><final>true</final><source>yarn-site.xml</source></property>\n</configuration>\n", asXML},
		{"a default", "yarn.acl.enable", `{"property":{"key":"yarn.acl.enable","value":"false","isFinal":false,"resource":"yarn-default.xml"}}` + "\n", asJSON},
		{"an override", "o", `{"property":{"key":"o","value":"1","isFinal":false,"resource":"programmatically"}}` + "\n", asJSON},
	} {
		var out bytes.Buffer
		if err := w.write(c, &out, w.key); err != nil || out.String() != w.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", w.name, err, &out, w.want)
		}
	}
	var all bytes.Buffer
	if err := c.WriteJSON(&all, ""); err != nil {
		t.Fatal(err)
	}
	var page struct{ Properties []map[string]any }
	if err := json.Unmarshal(all.Bytes(), &page); err != nil || len(page.Properties) < 500 {
		t.Errorf("%d properties, %v", len(page.Properties), err)
	}
	if err := c.WriteXML(&all, "nope"); err == nil || err.Error() != "Property nope not found" {
		t.Errorf("got %v", err)
	}
}

func asJSON(c *Config, b *bytes.Buffer, key string) error { return c.WriteJSON(b, key) }
func asXML(c *Config, b *bytes.Buffer, key string) error  { return c.WriteXML(b, key) }

func TestReportSurvivesAnUnwritableFile(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := (Report{}).WriteText(f); err == nil {
		t.Error("writing to a file that is open for reading succeeded")
	}
}
