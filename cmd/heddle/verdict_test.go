package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/cmd/heddle/internal/verdict"
	"heddle/conf"
	"heddle/nm"
	"heddle/rm"
)

// fault is one thing that is wrong with a configuration folder, or odd.
type fault struct {
	name  string
	set   []string // KEY=VALUE of yarn-site.xml
	files map[string]string
}

// faults returns one fault for each key that has a kind of values, or half of them in a short run, and each other refusal of a daemon.
func faults() (all []fault) {
	every := 2
	if os.Getenv("HEDDLE_TEST_FULL") != "" {
		every = 1
	}
	n := 0
	for k := range conf.Keys() {
		if n++; n%every != 0 {
			continue
		}
		wrong := "no such value"
		switch k.Kind {
		case conf.Text, conf.List, conf.URI, conf.Class:
			continue
		case conf.Path, conf.Paths:
			wrong = "relative"
		case conf.Hostport:
			wrong = "host:port"
		}
		if k.Kind == conf.Path && k.Name == "heddle.state.dir" {
			wrong = "s3a://bucket/state"
		}
		key := strings.NewReplacer("<id>", "rm1", "<type>", "gpu", "<", "", ">", "").Replace(k.Name)
		all = append(all, fault{name: "a wrong " + key, set: []string{key + "=" + wrong}})
	}
	lce := "yarn.nodemanager.container-executor.class=org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"
	ha := []string{
		"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2", "yarn.resourcemanager.ha.id=rm1", "yarn.resourcemanager.hostname.rm2=127.0.0.1",
		"yarn.resourcemanager.address.rm2=127.0.0.1:1", "yarn.resourcemanager.scheduler.address.rm2=127.0.0.1:2", "yarn.resourcemanager.resource-tracker.address.rm2=127.0.0.1:3",
		"yarn.resourcemanager.admin.address.rm2=127.0.0.1:4", "yarn.resourcemanager.webapp.address.rm2=127.0.0.1:5", "heddle.raft.address.rm2=127.0.0.1:6",
	}
	for _, key := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		ha = append(ha, "yarn.resourcemanager."+key+".rm1=127.0.0.1:0")
	}
	with := func(more ...string) []string { return append(slices.Clone(ha), more...) }
	for name, set := range map[string][]string{
		"nothing wrong":                      nil,
		"a topology script that is missing":  {"net.topology.script.file.name=/nowhere"},
		"a topology table that is missing":   {"net.topology.table.file.name=/nowhere"},
		"no signature secret":                {"hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer", "hadoop.http.authentication.signature.secret.file=/nowhere"},
		"web authentication by Kerberos":     {"hadoop.http.filter.initializers=org.apache.hadoop.security.AuthenticationFilterInitializer", "hadoop.http.authentication.type=kerberos"},
		"another web filter":                 {"hadoop.http.filter.initializers=com.example.Filter"},
		"no cluster secret":                  {"heddle.cluster.secret-file=/nowhere"},
		"a folder as the secret":             {"heddle.cluster.secret-file=/tmp"},
		"strangers refused, no secret":       {"heddle.cluster.stock-daemons=refuse"},
		"two members without a secret":       with("heddle.raft.address.rm1=0.0.0.0:0"),
		"two members of one machine":         with("heddle.raft.address.rm1=127.0.0.1:0"),
		"an id of nobody":                    with("heddle.raft.address.rm1=127.0.0.1:0", "yarn.resourcemanager.ha.id=rm3"),
		"no member may lead":                 with("heddle.raft.address.rm1=127.0.0.1:0", "heddle.raft.never-lead=rm1,rm2"),
		"half of TLS":                        {"heddle.raft.tls.cert=/nowhere"},
		"certificates that are missing":      {"heddle.raft.tls.cert=/nowhere", "heddle.raft.tls.key=/nowhere", "heddle.raft.tls.ca=/nowhere"},
		"a witness beside one":               {"heddle.raft.witness.address=127.0.0.1:9"},
		"overrides of groups":                {"hadoop.user.group.static.mapping.overrides=nonsense"},
		"a header's size":                    {"hadoop.http.max.request.header.size=large"},
		"patterns of browsers":               {"yarn.resourcemanager.webapp.rest-csrf.enabled=true", "yarn.resourcemanager.webapp.rest-csrf.browser-useragents-regex=("},
		"patterns of browsers of nodes":      {"yarn.nodemanager.webapp.rest-csrf.enabled=true", "yarn.nodemanager.webapp.rest-csrf.browser-useragents-regex=("},
		"descriptors":                        {"heddle.connections.reserved-descriptors=2000000000"},
		"an unknown scheduler":               {"yarn.resourcemanager.scheduler.class=com.example.Scheduler"},
		"another default file system":        {"fs.defaultFS=s3a://bucket"},
		"HDFS without a NameNode":            {"fs.defaultFS=hdfs:///"},
		"a default file system that is none": {"fs.defaultFS=somewhere"},
		"GPUs without their type":            {"yarn.nodemanager.resource-plugins=yarn.io/gpu"},
		"GPUs that are none":                 {"yarn.nodemanager.resource-plugins=yarn.io/gpu", "yarn.resource-types=yarn.io/gpu", "yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices=x"},
		"modes of log folders":               {"yarn.nodemanager.default-container-executor.log-dirs.permissions=9"},
		"shares of users":                    {"heddle.probes.users=joe"},
		"an amount of no type":               {"yarn.nodemanager.resource-type.fpga=1"},
		"an amount that is none":             {"yarn.resource-types=fpga", "yarn.nodemanager.resource-type.fpga=many"},
		"a bad type":                         {"yarn.resource-types=memory"},
		"another executor":                   {"yarn.nodemanager.container-executor.class=com.example.Executor"},
		"a pattern of users":                 {lce, "yarn.nodemanager.linux-container-executor.nonsecure-mode.user-pattern=("},
		"a group that nobody has":            {lce, "yarn.nodemanager.linux-container-executor.group=no-such-group"},
		"containers of users":                {lce},
		"a policy of logs":                   {"yarn.log-aggregation-enable=true", "yarn.nodemanager.log-aggregation.policy.class=com.example.Policy"},
		"a format of logs":                   {"yarn.log-aggregation-enable=true", "yarn.log-aggregation.file-formats=ORC"},
		"Kerberos":                           {"hadoop.security.authentication=kerberos"},
		"protection that is none":            {"hadoop.rpc.protection=encrypted"},
		"HTTPS":                              {"yarn.http.policy=HTTPS_ONLY"},
		"TLS of the shuffle":                 {"mapreduce.shuffle.ssl.enabled=true"},
		"csrf of the timeline server":        {"yarn.timeline-service.webapp.rest-csrf.enabled=true"},
		"protection of HDFS":                 {"dfs.data.transfer.protection=encrypted"},
		"service ACLs":                       {"hadoop.security.authorization=true", "security.resourcetracker.protocol.acl=yarn"},
		"a property that refers to itself":   {"my.own=${my.own}"},
		"local folders that do so":           {"yarn.nodemanager.local-dirs=${yarn.nodemanager.local-dirs}"},
		"ports twice":                        {"yarn.resourcemanager.address=127.0.0.1:7", "yarn.resourcemanager.admin.address=127.0.0.1:7"},
		"ports of a node twice":              {"yarn.nodemanager.address=127.0.0.1:7", "yarn.nodemanager.webapp.address=127.0.0.1:7"},
		"the localizer's port":               {"yarn.nodemanager.localizer.address=127.0.0.1:7", "mapreduce.shuffle.port=7"},
		"maxima below minima":                {"yarn.scheduler.minimum-allocation-mb=2000", "yarn.scheduler.maximum-allocation-mb=1000"},
		"expiry between heartbeats":          {"yarn.nm.liveness-monitor.expiry-interval-ms=10"},
		"an include list that is missing":    {"yarn.resourcemanager.nodes.include-path=/nowhere"},
		"a key of Heddle's that is none":     {"heddle.nothing=1"},
		"labels":                             {"yarn.node-labels.enabled=true"},
		"no local folders":                   {"yarn.nodemanager.local-dirs=,"},
		"users can't pass to local folders":  {lce, "yarn.nodemanager.local-dirs=DIR/closed/a,DIR/closed/b"},
		"users can't pass to log folders":    {lce, "yarn.nodemanager.log-dirs=DIR/closed/logs"},
		"users can pass to one of two":       {lce, "yarn.nodemanager.local-dirs=DIR/closed/a,DIR/open"},
		"all are one user":                   {"yarn.nodemanager.local-dirs=DIR/closed/a"},
	} {
		all = append(all, fault{name: name, set: set})
	}
	for name, files := range map[string]map[string]string{
		"no XML":                         {"core-site.xml": "<configuration"},
		"queues that are no XML":         {"capacity-scheduler.xml": "<configuration"},
		"the other scheduler's file":     {"fair-scheduler.xml": "<allocations"},
		"sums":                           {"capacity-scheduler.xml": properties("yarn.scheduler.capacity.", "root.queues a\nroot.a.capacity 90")},
		"an unknown resource of a queue": {"capacity-scheduler.xml": properties("yarn.scheduler.capacity.", "root.queues a\nroot.a.capacity [memory=1024,vcores=1,gpu=1]")},
		"a maximum of 200":               {"capacity-scheduler.xml": properties("yarn.scheduler.capacity.", "root.queues a\nroot.a.capacity 100\nroot.a.maximum-capacity 200")},
	} {
		all = append(all, fault{name: name, files: files})
	}
	slices.SortFunc(all, func(a, b fault) int { return strings.Compare(a.name, b.name) })
	return all
}

// folder writes a configuration with a fault, in which daemons of this test can start.
func (f fault) folder(t *testing.T) string {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // containers' users pass through
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	set := map[string]string{
		"heddle.state.dir": at("state"), "yarn.nodemanager.local-dirs": at("local"), "yarn.nodemanager.log-dirs": at("logs"), "heddle.cgroup.kind": "none",
		"heddle.container.run-as-root": "true", "yarn.resourcemanager.hostname": "127.0.0.1", "yarn.nodemanager.hostname": "127.0.0.1", "yarn.nodemanager.webapp.address": "127.0.0.1:0",
		"yarn.nodemanager.localizer.address": "127.0.0.1:0",
	}
	for _, key := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		set["yarn.resourcemanager."+key] = "127.0.0.1:0"
	}
	for _, s := range f.set {
		key, value, _ := strings.Cut(s, "=")
		set[key] = strings.ReplaceAll(value, "DIR", dir)
	}
	if err := os.Mkdir(at("closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		lines = append(lines, key+" "+set[key])
	}
	files := map[string]string{"yarn-site.xml": properties("", strings.Join(lines, "\n"))}
	maps.Copy(files, f.files)
	for name, text := range files {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// daemon starts what a command would, and stops it.
func daemon(dir string, role conf.Role) error {
	s := &source{dir: dir, overrides: []string{"heddle.log.level=error"}}
	c, log, err := s.loadRole(role, "")
	if err != nil {
		return err
	}
	if role == conf.ResourceManager {
		r, err := rm.New(rm.Options{Conf: c, Log: log, Web: webPort})
		if err != nil {
			return fmt.Errorf("after the check: %w", err)
		}
		return r.Close()
	}
	n, err := nm.New(nm.Options{Conf: c, Log: log})
	if err != nil {
		return fmt.Errorf("after the check: %w", err)
	}
	n.Close()
	return nil
}

// heddle conf check said "is fine" where a daemon then refused to start, and refused what a daemon takes.
func TestConfCheckSaysWhatDaemonsDo(t *testing.T) {
	all := faults()
	if len(all) < 200 {
		t.Errorf("only %d faults", len(all))
	}
	if _, err := os.Stat("/dev/shm"); err == nil {
		t.Setenv("TMPDIR", "/dev/shm") // hundreds of daemons wait for their disk otherwise
	}
	refused := map[conf.Role]int{}
	for _, f := range all {
		dir := f.folder(t)
		for _, role := range []conf.Role{conf.ResourceManager, conf.NodeManager} {
			_, _, report := verdict.Of(conf.Options{Dir: dir, Overrides: []string{"heddle.log.level=error"}}, role, "")
			err := daemon(dir, role)
			if report.OK() != (err == nil) {
				t.Errorf("%s: check says fine: %v (%v), and %v: %v", f.name, report.OK(), report.Err(), role, err)
			}
			if err != nil {
				refused[role]++
			}
			_, _, both := verdict.Of(conf.Options{Dir: dir, Overrides: []string{"heddle.log.level=error"}}, verdict.Daemons, "")
			if by := both.ErrFor(role); (by == nil) != (err == nil) {
				t.Errorf("%s: check of both daemons says of %v: %v, and it says: %v", f.name, role, by, err)
			}
		}
		if err := os.RemoveAll(dir); err != nil { // all together take gigabytes
			t.Error(err)
		}
	}
	if refused[conf.ResourceManager] < 40 || refused[conf.NodeManager] < 40 {
		t.Errorf("refused: %v", refused)
	}
}

// A ResourceManager refused settings that concern nodes alone, or nobody here; and a default file system that no node can use passed.
func TestADaemonRefusesWhatConcernsIt(t *testing.T) {
	for _, x := range []struct {
		set    string // with | between settings
		role   conf.Role
		says   string // once; of the daemon that refuses, or of the warning
		starts bool
	}{
		{"yarn.intermediate-data-encryption.enable=true", conf.ResourceManager, "is not encrypted", true},
		{"yarn.intermediate-data-encryption.enable=true", conf.NodeManager, "yarn.intermediate-data-encryption.enable", false},
		{"yarn.timeline-service.webapp.rest-csrf.enabled=true", conf.ResourceManager, "there is no timeline server", true},
		{"yarn.timeline-service.webapp.rest-csrf.enabled=true", conf.NodeManager, "there is no timeline server", true},
		{"fs.defaultFS=s3a://bucket", conf.NodeManager, "fs.defaultFS = ", false},
		{"fs.defaultFS=viewfs://all/", conf.NodeManager, "fs.defaultFS = ", false},
		{"fs.defaultFS=hdfs:///", conf.NodeManager, "fs.defaultFS = ", false},
		{"yarn.nodemanager.remote-app-log-dir=s3a://bucket/logs|yarn.log-aggregation-enable=true", conf.NodeManager, "others by Java", false},
		{"fs.defaultFS=s3a://bucket", conf.ResourceManager, "can't reach paths", true},
	} {
		dir := fault{set: strings.Split(x.set, "|")}.folder(t)
		_, _, report := verdict.Of(conf.Options{Dir: dir, Overrides: []string{"heddle.log.level=error"}}, x.role, "")
		err := daemon(dir, x.role)
		if (err == nil) != x.starts {
			t.Errorf("%s: %v starts: %v", x.set, x.role, err)
			continue
		}
		said := ""
		if err != nil {
			said = err.Error()
		}
		for _, p := range report.Problems {
			if x.starts && p.Severity == conf.Warning {
				said += p.Message + "\n"
			}
		}
		if strings.Count(said, x.says) != 1 {
			t.Errorf("%s: %v says: %s", x.set, x.role, said)
		}
	}
}

// without returns what conf check says of a key that it takes for one without effect, "" of others.
func without(t *testing.T, key string) string {
	c, err := conf.Load(conf.Options{Overrides: []string{key + "=1234567"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Validate().Problems {
		if p.Key == key && p.Severity == conf.Info {
			return p.Message
		}
	}
	return ""
}

// An error in a key that a daemon doesn't read kept it from starting; and one in a key that it does read must.
func TestDaemonsReadTheKeysThatTheyCheck(t *testing.T) {
	for _, role := range []conf.Role{conf.ResourceManager, conf.NodeManager} {
		dir := fault{}.folder(t)
		read, on := map[string]bool{}, false
		c, err := conf.Load(conf.Options{Dir: dir, Read: func(key string) {
			if on {
				read[key] = true
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		on = true
		log := logger(c)
		if role == conf.ResourceManager {
			r, err := rm.New(rm.Options{Conf: c, Log: log, Web: webPort})
			if err != nil {
				t.Fatal(err)
			}
			err = r.Close()
			if err != nil {
				t.Fatal(err)
			}
		} else {
			n, err := nm.New(nm.Options{Conf: c, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			n.Close()
		}
		on = false
		for key := range read {
			if _, registered := conf.FindKey(key); registered && conf.ReadBy(key)&role == 0 {
				t.Errorf("%v reads %s, and doesn't check it", role, key)
			}
			if why := without(t, key); why != "" {
				t.Errorf("%v reads %s, and it %s", role, key, why)
			}
		}
		if len(read) < 50 {
			t.Errorf("%v reads %d keys", role, len(read))
		}
	}
}
