package secure

import (
	"archive/zip"
	"context"
	_ "embed"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

//go:embed testdata/native.xml
var nativePOM []byte

// native returns a folder with Hadoop's native library.
func native(t *testing.T) string {
	t.Helper()
	jars, err := hadooplab.Maven(t.Context(), "native", nativePOM)
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(jars, "*.jar"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	jar, err := zip.OpenReader(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	in, err := jar.Open("nativelib/Linux-amd64/libhadoop.so")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "libhadoop.so"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mixed is a cluster on a secured HDFS, of Heddle's daemons and maybe one of Hadoop's, with Hadoop's history server. Its jobs are of the account that NodeManagers run as:
// Hadoop's, without its setuid helper, can't make files of others.
type mixed struct {
	t *testing.T
	l *hadooplab.Lab
	r *realm
}

// allStock is a cluster of Hadoop's daemons alone.
const allStock = "all"

// newMixed starts one. more are further settings.
func newMixed(t *testing.T, stock, protection string, more map[string]string) mixed {
	t.Helper()
	r := newRealm(t, 10*time.Hour)
	t.Setenv("JAVA_TOOL_OPTIONS", os.Getenv("JAVA_TOOL_OPTIONS")+" -Djava.library.path="+native(t))
	site, keys := securedHDFS(r)
	history := "jhs/localhost@" + r.Realm
	maps.Copy(site, map[string]string{
		"hadoop.rpc.protection":                               protection,
		"dfs.data.transfer.protection":                        protection,
		"hadoop.security.auth_to_local":                       "RULE:[2:$1@$0](jhs@.*)s/.*/hdfs/ " + site["hadoop.security.auth_to_local"],
		"mapreduce.jobhistory.principal":                      history,
		"mapreduce.jobhistory.keytab":                         r.Keytab("jhs.keytab", history),
		"mapreduce.jobhistory.intermediate-done-dir":          "/coming",
		"mapreduce.jobhistory.done-dir":                       "/done",
		"yarn.nodemanager.env-whitelist":                      "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
		"yarn.resourcemanager.connect.max-wait.ms":            "150000",
		"yarn.app.mapreduce.am.resource.mb":                   "512",
		"mapreduce.map.memory.mb":                             "512",
		"mapreduce.reduce.memory.mb":                          "512",
		"yarn.scheduler.minimum-allocation-mb":                "256",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
	})
	delete(site, "mapreduce.jobhistory.address")
	maps.Copy(site, more)
	binary := heddle
	if stock == allStock {
		binary = ""
	}
	m := mixed{t, hadooplab.Start(t, hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, HistoryServer: true, Heddle: binary, Stock: stock, Site: site, Krb5: r.Conf}), r}
	r.Kinit(keys, "hdfs@"+r.Realm)
	m.run("", "hdfs", "dfs", "-mkdir", "-p", "/tmp", "/app-logs", "/user/root")
	m.run("", "hdfs", "dfs", "-chmod", "1777", "/tmp", "/app-logs")
	m.run("", "hdfs", "dfs", "-chown", "root", "/user/root")
	r.Kinit(r.Keytab("root.keytab", "root@"+r.Realm), "root@"+r.Realm)
	return m
}

// run runs a command, which must succeed and say something.
func (m mixed) run(want string, args ...string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), 5*time.Minute)
	defer cancel()
	res, err := m.l.Try(ctx, "", args...)
	if err != nil || res.Code != 0 || !strings.Contains(res.Stdout+res.Stderr, want) {
		logs, _ := filepath.Glob(filepath.Join(m.l.Dir(), "nodemanager1", "log", "*", "*_000001", "syslog"))
		for _, log := range logs {
			if b, err := os.ReadFile(log); err == nil {
				m.t.Logf("%s:\n%s", log, b[max(0, len(b)-8000):])
			}
		}
		m.t.Fatalf("%q: %v, exit code %d, want %q\n%s\n%s", args, err, res.Code, want, res.Stdout, res.Stderr)
	}
	return res.Stdout + res.Stderr
}

// Hadoop's examples on a secured HDFS, with each quality of protection, on Heddle's daemons, on a NodeManager of Hadoop's below Heddle's ResourceManager, and the other
// way round: their shuffle, their logs, and their history at Hadoop's server.
func TestMixedClustersOnSecuredHDFS(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for _, protection := range []string{"authentication", "integrity", "privacy"} {
		for stock, name := range map[string]string{"": "Heddle's daemons", "nm": "a NodeManager of Hadoop", "rm": "a ResourceManager of Hadoop"} {
			t.Run(protection+" with "+name, func(t *testing.T) { runExamples(newMixed(t, stock, protection, nil)) })
		}
	}
}

func runExamples(m mixed) {
	m.t.Helper()
	examples, err := m.l.Jar("hadoop-mapreduce-examples")
	if err != nil {
		m.t.Fatal(err)
	}
	job := func(want string, args ...string) string {
		m.t.Helper()
		return m.run(want, append([]string{"hadoop", "jar", examples}, args...)...)
	}
	job("Estimated value of Pi is 3.", "pi", "2", "10")
	in := filepath.Join(m.l.Dir(), "in")
	write(m.t, in, strings.Repeat("a line of text\n", 1000))
	m.run("", "hdfs", "dfs", "-put", in, "/user/root/in")
	out := job("completed successfully", "wordcount", "/user/root/in", "/user/root/words")
	if got := m.run("", "hdfs", "dfs", "-cat", "/user/root/words/part-r-00000"); !strings.Contains(got, "text\t1000\n") {
		m.t.Errorf("wordcount: %q", got)
	}
	job("", "teragen", "2000", "/user/root/tera")
	job("completed successfully", "terasort", "/user/root/tera", "/user/root/sorted")
	job("", "teravalidate", "/user/root/sorted", "/user/root/valid")
	if got := m.run("", "hdfs", "dfs", "-cat", "/user/root/valid/part-r-00000"); !strings.HasPrefix(got[strings.Index(got, "checksum"):], "checksum") || strings.Contains(got, "error") {
		m.t.Errorf("teravalidate: %q", got)
	}
	app := submitted.FindString(out)
	await.Slowly(m.t, "the logs of wordcount are there", func() bool {
		res, err := m.l.Try(m.t.Context(), "", "yarn", "logs", "-applicationId", app)
		return err == nil && res.Code == 0 && strings.Count(res.Stdout, "LogType:syslog\n") >= 3
	})
	await.Slowly(m.t, "its history is there", func() bool {
		res, err := m.l.Try(m.t.Context(), "", "mapred", "job", "-status", strings.Replace(app, "application", "job", 1))
		return err == nil && res.Code == 0 && strings.Contains(res.Stdout, "Job state: SUCCEEDED")
	})
}
