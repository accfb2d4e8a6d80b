package migration

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/needs"
	"heddle/internal/publicdir"
)

var (
	//go:embed testdata/hadoop
	hadoopScript string
	//go:embed testdata/systemctl
	systemctl string
)

// scp copies to the folder of another machine.
const scp = "#!/bin/sh\nshift\ncp \"$1\" /tmp/machines/${2%%:*}${2#*:}\n"

// sudo runs a command as another user. Only -E keeps the environment.
const sudo = `#!/bin/sh
keep="env -i PATH=$PATH LANG=C.UTF-8"
[ "$1" != -E ] || { keep= && shift; }
user=$2
shift 2
exec setpriv --reuid $user --regid hadoop --init-groups $keep "$@"
`

// hadoopEnv is hadoop-env.sh, with variables that an environment of systemd's can't take over as they are.
const hadoopEnv = `export JAVA_HOME=%s
export HADOOP_HOME=/opt/hadoop
export HADOOP_OPTS="-Djava.net.preferIPv4Stack=true -Dtwo=words"
`

// folder is the cluster's configuration. Its mapred-site.xml is that of Hadoop's manual.
var folder = map[string]map[string]string{
	"core-site.xml": {
		"fs.defaultFS":   "hdfs://nn4.example.com:8020",
		"hadoop.tmp.dir": "/var/lib/hadoop/${user.name}",
	},
	"hdfs-site.xml": {
		"dfs.replication":           "1",
		"dfs.namenode.name.dir":     "/var/lib/hadoop/name",
		"dfs.datanode.data.dir":     "/var/lib/hadoop/data",
		"dfs.permissions.enabled":   "true",
		"dfs.webhdfs.enabled":       "false",
		"dfs.namenode.http-address": "nn4.example.com:9870",
	},
	"mapred-site.xml": {
		"mapreduce.framework.name":                   "yarn",
		"mapreduce.application.classpath":            "$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/*:$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/lib/*",
		"yarn.app.mapreduce.am.staging-dir":          "/user",
		"yarn.app.mapreduce.am.resource.mb":          "512",
		"mapreduce.map.memory.mb":                    "512",
		"mapreduce.reduce.memory.mb":                 "512",
		"mapred.child.java.opts":                     "-Xmx300m",
		"yarn.app.mapreduce.am.command-opts":         "-Xmx300m --add-opens=java.base/java.lang=ALL-UNNAMED",
		"mapreduce.jobhistory.intermediate-done-dir": "/tmp/history-intermediate",
		"mapreduce.jobhistory.done-dir":              "/tmp/history",
	},
	"capacity-scheduler.xml": {
		"yarn.scheduler.capacity.root.queues":                 "default,prod",
		"yarn.scheduler.capacity.root.default.capacity":       "60",
		"yarn.scheduler.capacity.root.prod.capacity":          "40",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
	},
	"yarn-site.xml": {
		"yarn.resourcemanager.ha.enabled":                                               "true",
		"yarn.resourcemanager.ha.rm-ids":                                                "rm1,rm2",
		"yarn.resourcemanager.cluster-id":                                               "walk",
		"yarn.resourcemanager.hostname.rm1":                                             "rm1.example.com",
		"yarn.resourcemanager.hostname.rm2":                                             "rm2.example.com",
		"yarn.resourcemanager.webapp.address.rm1":                                       "rm1.example.com:8088", // its default is unknown to MapReduce's web pages
		"yarn.resourcemanager.webapp.address.rm2":                                       "rm2.example.com:8088",
		"hadoop.zk.address":                                                             "zk3.example.com:2181",
		"yarn.resourcemanager.recovery.enabled":                                         "true",
		"yarn.resourcemanager.store.class":                                              "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore",
		"yarn.resourcemanager.nodes.include-path":                                       "/etc/hadoop/conf/yarn.include",
		"yarn.resourcemanager.nodes.exclude-path":                                       "/etc/hadoop/conf/yarn.exclude",
		"yarn.scheduler.minimum-allocation-mb":                                          "256",
		"yarn.nodemanager.resource.memory-mb":                                           "2560",
		"yarn.nodemanager.resource.cpu-vcores":                                          "8",
		"yarn.nodemanager.aux-services":                                                 "mapreduce_shuffle",
		"yarn.nodemanager.env-whitelist":                                                "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,HADOOP_YARN_HOME,HADOOP_HOME,PATH,LANG,TZ,HADOOP_MAPRED_HOME",
		"yarn.nodemanager.local-dirs":                                                   "/var/lib/hadoop-yarn/local",
		"yarn.nodemanager.log-dirs":                                                     "/var/lib/hadoop-yarn/logs",
		"yarn.nodemanager.vmem-check-enabled":                                           "false",
		"yarn.log-aggregation-enable":                                                   "true",
		"yarn.nodemanager.remote-app-log-dir":                                           "/app-logs",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
	},
}

// walk is the way along the page.
type walk struct {
	*machines
	t *testing.T
}

// A stock cluster with two ResourceManagers becomes Heddle's and YARN's again with the commands of docs/migration.md, and they print what it says. Jobs that run on the
// way succeed, on each mixture of daemons.
func TestThePageLeadsFromYARNToHeddleAndBack(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can make networks")
	}
	for _, program := range []string{"java", "ip", "nsenter", "setpriv"} {
		needs.Program(t, program)
	}
	steps := read(t, "../../docs/migration.md")
	heddle, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	lib, err := hadooplab.Jars(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the machines end with it
	defer runtime.UnlockOSThread()
	w := &walk{t: t}
	w.machines = start(t, publicdir.New(t, ""), lib)
	t.Cleanup(func() { w.logs(t) })
	w.install(heddle)
	w.startYARN()
	hooks := w.hooks()
	call := func(s step, before bool) {
		for len(hooks) > 0 && hooks[0].before == before && strings.Contains(s.command, hooks[0].at) {
			hooks[0].do()
			hooks = hooks[1:]
			if !before {
				return
			}
		}
	}
	for _, s := range steps {
		call(s, true)
		for _, name := range s.machines {
			w.take(s, name)
		}
		call(s, false)
	}
	if len(hooks) > 0 {
		t.Errorf("the page has no command %q where it was", hooks[0].at)
	}
}

// hook does something before or after the first command that has a text and follows those of the hooks before.
type hook struct {
	at     string
	before bool
	do     func()
}

// hooks are the jobs on the way, in the order of the page. Long ones run through the drains of nodes, and the others show that each mixture of daemons
// works: YARN's ResourceManager with one node of each kind, Heddle's with the same, all Heddle, and YARN's with Heddle's nodes.
func (w *walk) hooks() []*hook {
	var first, second, third *job
	return []*hook{
		{at: "yarn rmadmin -refreshNodes -g 3600", before: true, do: func() { first = w.running(sleeper) }},
		{at: "systemctl stop hadoop-yarn-nodemanager", do: func() { w.succeeds("a job that ran while YARN's node was drained", first) }},
		{at: "yarn node -list", do: func() { w.succeeds("a job on YARN's ResourceManager and a node of each kind", w.begin(pi)) }},
		{at: "heddle queue -status default", do: func() { w.succeeds("a job on Heddle's ResourceManagers and a node of each kind", w.begin(pi)) }},
		{at: "heddle rmadmin -refreshNodes -g 3600", before: true, do: func() { second = w.running(sleeper) }},
		{at: "systemctl stop hadoop-yarn-nodemanager", do: func() { w.succeeds("a job that ran while Heddle drained YARN's node", second) }},
		{at: "heddle.cluster.stock-daemons/d", before: true, do: func() { third = w.begin(pi) }},
		{at: "heddle.cluster.stock-daemons/d", do: func() { w.succeeds("a job on Heddle's nodes", third) }},
		{at: "systemctl restart heddle-rm", before: true, do: func() { third = w.running(sleeper) }},
		{at: "heddle node -list", do: func() { w.succeeds("a job that ran while the ResourceManagers restarted", third) }},
		{at: "yarn queue -status default", do: func() { w.succeeds("a job on YARN's ResourceManager and Heddle's nodes", w.begin(pi)) }},
		{at: "systemctl start hadoop-yarn-nodemanager", do: func() {}},
		{at: "yarn node -list", do: func() { w.succeeds("a job on the way back with a node of each kind", w.begin(pi)) }},
	}
}

// patience is how long a command of anybody's may take until it prints what it must.
const patience = 4 * time.Minute

// take runs a step on a machine. A step of anybody's only looks: it is repeated until it prints what it must.
func (w *walk) take(s step, name string) {
	w.t.Helper()
	user, end := "alice", time.Now().Add(patience)
	if s.root {
		user = "root"
	}
	for {
		out, err := w.run(w.t.Context(), name, user, s.command)
		lacks := missing(s.prints, out)
		if err == nil && lacks == "" {
			w.t.Logf("migration.md:%d: %s: %s\n%s", s.line, name, s.command, out)
			return
		}
		if s.root || time.Now().After(end) {
			w.t.Fatalf("docs/migration.md:%d: %s: %s: %v; it must print %q\n%s", s.line, name, s.command, err, lacks, out)
		}
		pauseFor(w.t.Context())
	}
}

func pauseFor(ctx context.Context) {
	select {
	case <-time.After(time.Second): // between two looks at a cluster
	case <-ctx.Done():
	}
}

// xml returns a configuration file.
func xml(settings map[string]string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	keys := make([]string, 0, len(settings))
	for key := range settings {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>\n", key, settings[key])
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// install gives all machines the configuration folder, Hadoop's scripts, and Heddle with its units.
func (w *walk) install(heddle string) {
	t := w.t
	t.Helper()
	binary, err := os.ReadFile(heddle)
	if err != nil {
		t.Fatal(err)
	}
	java, err := filepath.EvalSymlinks(needs.Program(t, "java"))
	if err != nil {
		t.Fatal(err)
	}
	units, err := filepath.Glob("../../docs/systemd/*.service")
	if err != nil || len(units) < 3 {
		t.Fatal(units, err)
	}
	for _, name := range names {
		for file, settings := range folder {
			w.write(t, name, "/etc/hadoop/conf/"+file, xml(settings), 0o644)
		}
		w.write(t, name, "/etc/hadoop/conf/yarn.include", "w1.example.com\nw2.example.com\n", 0o644)
		w.write(t, name, "/etc/hadoop/conf/yarn.exclude", "", 0o644)
		w.write(t, name, "/etc/hadoop/conf/hadoop-env.sh", fmt.Sprintf(hadoopEnv, filepath.Dir(filepath.Dir(java))), 0o644)
		w.write(t, name, "/etc/hadoop/conf/log4j.properties", log4j, 0o644)
		for _, program := range []string{"hadoop", "hdfs", "yarn"} {
			w.write(t, name, "/usr/local/bin/"+program, hadoopScript, 0o755)
		}
		w.write(t, name, "/usr/local/bin/systemctl", systemctl, 0o755)
		w.write(t, name, "/usr/local/bin/scp", scp, 0o755)
		w.write(t, name, "/usr/local/bin/sudo", sudo, 0o755)
		w.write(t, name, "/usr/local/bin/heddle", string(binary), 0o755)
		for _, unit := range units {
			b, err := os.ReadFile(unit)
			if err != nil {
				t.Fatal(err)
			}
			w.write(t, name, "/etc/systemd/system/"+filepath.Base(unit), string(b), 0o644)
		}
		for unit, command := range map[string]string{
			"hadoop-yarn-resourcemanager": "yarn:/usr/local/bin/yarn resourcemanager", "hadoop-yarn-nodemanager": "yarn:/usr/local/bin/yarn nodemanager",
			"zookeeper": "hdfs:/usr/local/bin/hdfs zookeeper 2181 /var/lib/hadoop/zookeeper", "namenode": "hdfs:/usr/local/bin/hdfs namenode", "datanode": "hdfs:/usr/local/bin/hdfs datanode",
		} {
			user, exec, _ := strings.Cut(command, ":")
			w.write(t, name, "/etc/systemd/system/"+unit+".service", "[Service]\nUser="+user+"\nGroup=hadoop\nExecStart="+exec+"\n", 0o644)
		}
		w.must(t, name, "root", "mkdir -p /var/lib/hadoop /var/lib/hadoop-yarn/local /var/lib/hadoop-yarn/logs; chmod 1777 /var/lib/hadoop; chown -R yarn:hadoop /var/lib/hadoop-yarn")
	}
}

const log4j = `log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
`

// startYARN starts HDFS, ZooKeeper and all of YARN, as a cluster that has run for long.
func (w *walk) startYARN() {
	t := w.t
	t.Helper()
	w.must(t, "zk3", "root", "systemctl start zookeeper")
	w.must(t, "nn4", "root", "mkdir -p /opt/hadoop-webapps; mkdir -p /etc/hadoop/conf/webapps/hdfs /etc/hadoop/conf/webapps/datanode")
	w.must(t, "nn4", "root", "setpriv --reuid hdfs --regid hadoop --init-groups hdfs namenode -format -nonInteractive -force")
	w.must(t, "nn4", "root", "systemctl start namenode; systemctl start datanode")
	await.Slowly(t, "HDFS is there", func() bool {
		_, err := w.run(t.Context(), "nn4", "hdfs", "hdfs dfs -mkdir -p /user/alice /app-logs /app-logs-ifile /tmp/two && hdfs dfs -chmod 1777 /tmp /app-logs /app-logs-ifile && hdfs dfs -chown alice /user/alice && "+
			"echo one | hdfs dfs -put -f - /tmp/two/1 && echo two | hdfs dfs -put -f - /tmp/two/2")
		return err == nil
	})
	w.must(t, "rm1", "root", "systemctl start hadoop-yarn-resourcemanager")
	w.must(t, "rm2", "root", "systemctl start hadoop-yarn-resourcemanager")
	w.must(t, "w1", "root", "systemctl start hadoop-yarn-nodemanager")
	w.must(t, "w2", "root", "systemctl start hadoop-yarn-nodemanager")
	await.Slowly(t, "both nodes are there", func() bool {
		out, _ := w.run(t.Context(), "rm1", "alice", "yarn node -list")
		return strings.Contains(out, "Total Nodes:2")
	})
}

// job is a job of alice's that runs.
type job struct {
	out  string
	err  error
	done chan struct{}
}

// begin starts a job on rm1.
func (w *walk) begin(args string) *job {
	j := &job{done: make(chan struct{})}
	go func() {
		defer close(j.done)
		j.out, j.err = w.run(w.t.Context(), "rm1", "alice", "hadoop "+args)
	}()
	return j
}

// running starts a job, and returns when its maps run.
func (w *walk) running(args string) *job {
	w.t.Helper()
	j := w.begin(args)
	await.Slowly(w.t, "a job's maps run", func() bool {
		select {
		case <-j.done:
			w.t.Errorf("a job that was to be long ended: %v\n%s", j.err, j.out)
			return true
		default:
		}
		out, _ := w.run(w.t.Context(), "rm1", "alice", "ls /tmp/machines/w?/tmp/running-* 2>/dev/null")
		return strings.Count(out, "running-") >= 2
	})
	w.must(w.t, "rm1", "root", "rm -f /tmp/machines/w?/tmp/running-*")
	return j
}

var succeeded = regexp.MustCompile(`Job job_\d+_\d+ completed successfully`)

func (w *walk) succeeds(what string, j *job) {
	w.t.Helper()
	<-j.done
	if j.err != nil || !succeeded.MatchString(j.out) {
		w.t.Errorf("%s: %v\n%s", what, j.err, j.out)
	}
}

// sleeper is a job of two maps, each of which says that it runs, and then runs for some time.
const sleeper = `jar /opt/jars/hadoop-streaming-` + hadooplab.Version + `.jar -Dmapreduce.job.queuename=prod -Dmapreduce.job.maps=2 -Dmapreduce.job.reduces=0 ` +
	`-input /tmp/two -output /tmp/out-$$ -mapper "sh -c 'mktemp /tmp/running-XXXXXX; sleep 30; cat'"`

const pi = "jar /opt/jars/hadoop-mapreduce-examples-" + hadooplab.Version + ".jar pi -Dmapreduce.job.queuename=prod 2 10"
