package frameworks

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

//go:embed testdata/hive.xml
var hivePOM []byte

// behind returns a command that runs a class with Hadoop's jars first, then those of some folders. What lies in conf comes
// before all.
func behind(l *hadooplab.Lab, conf string, folders []string, class string, args ...string) *exec.Cmd {
	cmd := l.JavaCommand(conf, class, args...)
	path := slices.Index(cmd.Args, "-cp") + 1
	for _, folder := range folders {
		cmd.Args[path] += ":" + filepath.Join(folder, "*")
	}
	return cmd
}

// hiveSite are the settings of a Hive that is on its own: its metastore is a Derby in dir, which makes its tables itself.
func hiveSite(dir, engine string) map[string]string {
	const opens = "-Xmx384m -XX:TieredStopAtLevel=1 --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.util=ALL-UNNAMED " +
		"--add-opens=java.base/java.net=ALL-UNNAMED --add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED"
	return map[string]string{
		"javax.jdo.option.ConnectionURL":        "jdbc:derby:;databaseName=" + filepath.Join(dir, "metastore") + ";create=true",
		"datanucleus.schema.autoCreateAll":      "true",
		"hive.metastore.schema.verification":    "false",
		"hive.in.test":                          "true", // the tables of transactions, too
		"hive.notification.event.poll.interval": "0",
		"hive.stats.autogather":                 "false",
		"hive.metastore.warehouse.dir":          "/hive/" + engine,
		"hive.exec.scratchdir":                  "/tmp/hive-" + engine,
		"hive.exec.local.scratchdir":            filepath.Join(dir, "scratch"),
		"hive.downloaded.resources.dir":         filepath.Join(dir, "resources"),
		"hive.user.install.directory":           "/hive-install",
		"hive.execution.engine":                 engine,
		"hive.auto.convert.join":                "false",
		"mapreduce.map.java.opts":               opens,
		"mapreduce.reduce.java.opts":            opens,
		"tez.lib.uris":                          "${fs.defaultFS}/tez",
		"tez.use.cluster.hadoop-libs":           "true",
		"tez.am.resource.memory.mb":             "512",
		"tez.am.launch.cmd-opts":                opens,
		"tez.task.launch.cmd-opts":              opens,
		"tez.runtime.io.sort.mb":                "50",
		"hive.tez.container.size":               "512",
		"hive.tez.java.opts":                    opens,
	}
}

// sales are rows of a table, key and number, and what a query for the keys' numbers of rows, and sums, returns.
func sales(rows int) (table, counts string) {
	random := rand.New(rand.NewPCG(7, 0))
	var b strings.Builder
	type sum struct{ n, total int }
	sums := map[string]sum{}
	for range rows {
		key, number := fmt.Sprintf("k%02d", random.IntN(12)), random.IntN(100)
		fmt.Fprintln(&b, key, number)
		sums[key] = sum{sums[key].n + 1, sums[key].total + number}
	}
	var lines []string
	for key, s := range sums {
		lines = append(lines, fmt.Sprintf("%s\t%d\t%d\n", key, s.n, s.total))
	}
	slices.Sort(lines)
	return b.String(), strings.Join(lines, "")
}

var hiveApplication = regexp.MustCompile(`Executing on YARN cluster with App id (application_\d+_\d+)|Starting Job = (job_\d+_\d+)`)

// TestHive fills, groups and joins tables by Hive's command line, whose jobs are MapReduce's or run in a session of Tez's.
// A jar that the session adds is in the tasks' class path: they fail without.
func TestHive(t *testing.T) {
	l := lab.Lab(t)
	tez(t, l)
	jars, err := hadooplab.Maven(t.Context(), "hive", hivePOM)
	if err != nil {
		t.Fatal("fetching Hive: ", err)
	}
	tezJars, err := hadooplab.Maven(t.Context(), "tez", tezPOM)
	if err != nil {
		t.Fatal(err)
	}
	table, want := sales(5000)
	for engine, applications := range map[string]int{"mr": 3, "tez": 1} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			rows, script := filepath.Join(dir, "rows"), filepath.Join(dir, "script.sql")
			if err := os.WriteFile(rows, []byte(table), 0o644); err != nil {
				t.Fatal(err)
			}
			queries := fmt.Sprintf(`ADD JAR %s;
CREATE TABLE sales (k STRING, n INT) ROW FORMAT DELIMITED FIELDS TERMINATED BY ' ' STORED AS TEXTFILE;
LOAD DATA LOCAL INPATH '%s' INTO TABLE sales;
CREATE TABLE sums STORED AS ORC AS SELECT k, count(*) AS n, sum(n) AS total FROM sales GROUP BY k;
SELECT a.k, a.n, b.total FROM sums a JOIN sums b ON a.k = b.k ORDER BY a.k;
`, filepath.Join(jars, "commons-collections-3.2.2.jar"), rows)
			if err := os.WriteFile(script, []byte(queries), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := hadooplab.WriteSite(filepath.Join(dir, "hive-site.xml"), hiveSite(dir, engine)); err != nil {
				t.Fatal(err)
			}
			cmd := behind(l, dir, []string{tezJars, jars}, "org.apache.hadoop.hive.cli.CliDriver", "-f", script)
			cmd.Dir = dir
			cmd.Env = append(cmd.Env, "JAVA_TOOL_OPTIONS=--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED")
			r := succeed(t, l, cmd)
			if got := r.Stdout; got != want {
				t.Errorf("%q, want %q", got, want)
			}
			var ids []string
			for _, m := range hiveApplication.FindAllStringSubmatch(r.Stderr, -1) {
				id := m[1] + strings.Replace(m[2], "job", "application", 1)
				if !slices.Contains(ids, id) {
					ids = append(ids, id)
				}
			}
			if len(ids) != applications {
				t.Fatalf("%d applications, want %d\n%s", len(ids), applications, r.Stderr)
			}
			for _, id := range ids {
				contains(t, l.Status(t, id), "Final-State : SUCCEEDED\n")
			}
		})
	}
}
