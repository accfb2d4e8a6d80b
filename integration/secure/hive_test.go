package secure

import (
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

//go:embed testdata/hivejdbc.xml
var hiveJDBC []byte

// hiveSite are the settings of a HiveServer2 with Kerberos, whose metastore is a Derby in its folder, and whose queries are MapReduce jobs of the users.
func hiveSite(m mixed, dir, jars, port string) map[string]string {
	const opens = "-Xmx384m -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.util=ALL-UNNAMED " +
		"--add-opens=java.base/java.net=ALL-UNNAMED --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED"
	account := "hive/localhost@" + m.r.Realm
	return map[string]string{
		"javax.jdo.option.ConnectionURL":                 "jdbc:derby:;databaseName=" + filepath.Join(dir, "metastore") + ";create=true",
		"datanucleus.schema.autoCreateAll":               "true",
		"hive.metastore.schema.verification":             "false",
		"hive.in.test":                                   "true", // the tables of transactions, too
		"hive.notification.event.poll.interval":          "0",
		"hive.metastore.event.db.notification.api.auth":  "false",
		"hive.stats.autogather":                          "false",
		"hive.metastore.warehouse.dir":                   "/hive",
		"hive.exec.scratchdir":                           "/tmp/hive",
		"hive.exec.local.scratchdir":                     filepath.Join(dir, "scratch"),
		"hive.downloaded.resources.dir":                  filepath.Join(dir, "resources"),
		"hive.aux.jars.path":                             "file://" + filepath.Join(jars, "commons-collections-3.2.2.jar"), // tasks need it
		"hive.execution.engine":                          "mr",
		"hive.auto.convert.join":                         "false",
		"mapreduce.map.java.opts":                        opens,
		"mapreduce.reduce.java.opts":                     opens,
		"hive.server2.thrift.bind.host":                  "localhost",
		"hive.server2.thrift.port":                       port,
		"hive.server2.webui.port":                        "0",
		"hive.server2.authentication":                    "KERBEROS",
		"hive.server2.authentication.kerberos.principal": account,
		"hive.server2.authentication.kerberos.keytab":    m.r.Keytab("hive.keytab", account),
		"hive.server2.enable.doAs":                       "true",
		"hive.server2.thrift.sasl.qop":                   "auth-conf",
		"hive.server2.logging.operation.enabled":         "false",
		"hive.server2.materializedviews.registry.impl":   "DUMMY",
		"hive.server2.metrics.enabled":                   "false",
		"hive.server2.support.dynamic.service.discovery": "false",
		"hive.security.authenticator.manager":            "org.apache.hadoop.hive.ql.security.SessionStateUserAuthenticator",
		"hive.server2.tez.initialize.default.sessions":   "false",
		"hive.txn.manager":                               "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager",
		"hive.support.concurrency":                       "false",
		"hive.strict.managed.tables":                     "false",
		"hive.create.as.insert.only":                     "false",
		"metastore.create.as.acid":                       "false",
		"metastore.metastore.transformer.class":          " ",
		"hive.server2.limit.connections.per.user":        "0",
		"hive.server2.session.check.interval":            "0",
		"hive.metastore.event.listeners":                 "",
		"hive.privilege.synchronizer":                    "false",
	}
}

// HiveServer2 with Kerberos runs the queries that a user with a ticket sends it as MapReduce jobs of that user's, for whom it gets delegation tokens of ResourceManager, HDFS and
// history server as a proxy.
func TestHiveServerWithKerberos(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	m := newMixed(t, "", "privacy", map[string]string{
		"hadoop.proxyuser.hive.hosts": "*", "hadoop.proxyuser.hive.users": "*",
	})
	l, dir := m.l, t.TempDir()
	pom, err := os.ReadFile("../frameworks/testdata/hive.xml")
	if err != nil {
		t.Fatal(err)
	}
	jars, err := hadooplab.Maven(t.Context(), "hive", pom)
	if err != nil {
		t.Fatal("fetching Hive: ", err)
	}
	driver, err := hadooplab.Maven(t.Context(), "hivejdbc", hiveJDBC)
	if err != nil {
		t.Fatal("fetching Hive's driver: ", err)
	}
	m.r.Kinit(filepath.Join(m.r.Dir, "hdfs.keytab"), "hdfs@"+m.r.Realm)
	m.run("", "hdfs", "dfs", "-mkdir", "-p", "/hive", "/tmp/hive")
	m.run("", "hdfs", "dfs", "-chmod", "1777", "/hive", "/tmp/hive")
	m.r.Kinit(filepath.Join(m.r.Dir, "root.keytab"), "root@"+m.r.Realm)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	if err := hadooplab.WriteSite(filepath.Join(dir, "hive-site.xml"), hiveSite(m, dir, jars, port)); err != nil {
		t.Fatal(err)
	}
	hive := func(class string, args ...string) *exec.Cmd {
		cmd := l.JavaCommand(dir, class, args...)
		path := slices.Index(cmd.Args, "-cp") + 1
		cmd.Args[path] += ":" + filepath.Join(jars, "*") + ":" + filepath.Join(driver, "*")
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "JAVA_TOOL_OPTIONS="+os.Getenv("JAVA_TOOL_OPTIONS")+" --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED")
		return cmd
	}
	server, err := l.BeginCommand(hive("org.apache.hive.service.server.HiveServer2"))
	if err != nil {
		t.Fatal(err)
	}
	server.EndWith(t)
	await.Slowly(t, "HiveServer2 listens", func() bool {
		if server.Ended() {
			t.Fatal(server.Stderr())
		}
		nc, err := net.Dial("tcp", "localhost:"+port)
		if err == nil {
			_ = nc.Close()
		}
		return err == nil
	})
	query, err := filepath.Abs("testdata/Query.java")
	if err != nil {
		t.Fatal(err)
	}
	at := fmt.Sprintf("jdbc:hive2://localhost:%s/default;principal=hive/localhost@%s;saslQop=auth-conf", port, m.r.Realm)
	client, err := l.BeginCommand(hive(query, at, "CREATE TABLE sales (k STRING, n INT) STORED AS TEXTFILE",
		"INSERT INTO sales VALUES ('a', 1), ('b', 2), ('a', 40)", "SELECT k, sum(n) FROM sales GROUP BY k ORDER BY k"))
	if err != nil {
		t.Fatal(err)
	}
	client.EndWith(t)
	got, err := client.Wait(t.Context())
	if err != nil || got.Code != 0 || !strings.Contains(got.Stdout, "a\t41\nb\t2\n") {
		t.Fatalf("%v, exit code %d\n%s\n%s\nThe server:\n%s", err, got.Code, got.Stdout, got.Stderr, server.Stderr())
	}
	if out, err := command(t, l, "app", "-list", "-appStates", "FINISHED"); err != nil || strings.Count(out, " root\t") < 2 {
		t.Errorf("its jobs aren't root's: %v\n%s", err, out)
	}
}
