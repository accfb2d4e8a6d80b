package secure

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

const flinkConf = `
taskmanager.numberOfTaskSlots: 1
restart-strategy.type: none
security.kerberos.login.principal: %s
security.kerberos.login.keytab: %s
security.kerberos.krb5-conf.path: %s
execution.checkpointing.dir: %s/user/alice/checkpoints
`

// outliving are settings of an HDFS whose delegation tokens live for two minutes.
func outliving() map[string]string {
	return map[string]string{
		"dfs.namenode.delegation.token.renew-interval": "60000",
		"dfs.namenode.delegation.token.max-lifetime":   "120000",
		"yarn.resourcemanager.connect.max-wait.ms":     "150000",
		"yarn.nodemanager.env-whitelist":               "PATH,JAVA_HOME,JAVA_TOOL_OPTIONS,HADOOP_CONF_DIR",
	}
}

// Flink with a keytab, and no tickets of kinit: its client submits a streaming program, whose JobManager logs in by itself and gets the TaskManagers new tokens. It writes to
// HDFS for longer than any of its delegation tokens lives.
func TestFlinkWithKeytab(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	r, l, run := clusterOnHDFS(t, outliving())
	conf, classes := t.TempDir(), t.TempDir()
	lib, err := hadooplab.Flink(t.Context(), conf, fmt.Sprintf(flinkConf, "alice@"+r.Realm, r.users, r.Conf, l.URI()))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(conf, "outlives.jar")
	do := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	do("javac", "--release", "11", "-cp", filepath.Join(lib, "*"), "-d", classes, "testdata/Outlives.java")
	do("jar", "--create", "--file", program, "-C", classes, ".")
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	client := l.JavaCommand(filepath.Join(lib, "*"), "org.apache.flink.client.cli.CliFrontend", "run", "-t", "yarn-application", "-c", "Outlives", program, l.URI()+"/user/alice/out", "180")
	client.Args = append([]string{client.Args[0], "-Dlog4j.configurationFile=file:" + filepath.Join(conf, "log4j.properties")}, client.Args[1:]...)
	client.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Conf(), "YARN_CONF_DIR="+l.Conf(), "FLINK_CONF_DIR="+conf, "FLINK_LIB_DIR="+lib, "FLINK_PLUGINS_DIR="+filepath.Join(conf, "none"),
		"FLINK_OPT_DIR="+filepath.Join(conf, "none"))
	out, err := client.CombinedOutput()
	id := submitted.FindString(string(out))
	if err != nil || id == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+r.Cache())
	await.Slowly(t, "the program writes", func() bool { return strings.Contains(l.Daemon("namenode").Log(), "src=/user/alice/out/") })
	succeeded(t, l, id)
	if got := strings.Fields(run("hdfs", "dfs", "-cat", "/user/alice/out/*/*")); len(got) != 180 {
		t.Errorf("%d numbers of 180 were written: %q", len(got), got)
	}
}

// succeeded waits until an application has ended, which must have succeeded.
func succeeded(t *testing.T, l *hadooplab.Lab, id string) {
	t.Helper()
	await.Slowly(t, id+" has ended", func() bool {
		out, err := command(t, l, "app", "-status", id)
		if strings.Contains(out, "Final-State : FAILED") || strings.Contains(out, "Final-State : KILLED") {
			logs, _ := command(t, l, "logs", "-applicationId", id)
			t.Fatalf("%s\n%s", out, logs)
		}
		return err == nil && strings.Contains(out, "Final-State : SUCCEEDED")
	})
}
