package walltime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"time"

	"heddle/integration/hadooplab"
)

// Configured returns a running cluster by its configuration folder. programs has the paths of commands that aren't
// looked up in PATH.
func Configured(name, conf string, programs map[string]string, env ...string) Cluster {
	return Cluster{Name: name, Run: func(ctx context.Context, command ...string) error {
		return execute(ctx, conf, programs, env, command)
	}}
}

func execute(ctx context.Context, conf string, programs map[string]string, env, command []string) error {
	path := command[0]
	if p := programs[path]; p != "" {
		path = p
	}
	cmd := exec.CommandContext(ctx, path, command[1:]...)
	cmd.Env = append(append(os.Environ(), "HADOOP_CONF_DIR="+conf), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command[0], err, out.Bytes()[max(0, out.Len()-4000):])
	}
	return nil
}

// Labs are a stock Hadoop, a Heddle, and a Heddle that keeps archives of Java classes, on this machine, with one HDFS.
type Labs struct {
	Clusters []Cluster // in this order
	Programs Programs
	labs     []*hadooplab.Lab
	temp     string
}

// StartLabs starts them. heddle is the path of the binary; spark is $SPARK_HOME, or "". Close ends them.
func StartLabs(ctx context.Context, heddle, spark string) (_ *Labs, err error) {
	l := &Labs{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if l.temp, err = os.MkdirTemp("", "heddle-bench-"); err != nil {
		return nil, err
	}
	start := func(o hadooplab.Options) (*hadooplab.Lab, error) {
		lab, err := hadooplab.New(ctx, o)
		if err == nil {
			l.labs = append(l.labs, lab)
		}
		return lab, err
	}
	stock, err := start(hadooplab.Options{DataNodes: 1, ResourceManager: true, NodeManagers: 1, OwnJVM: true})
	if err != nil {
		return nil, fmt.Errorf("a stock Hadoop: %w", err)
	}
	archives := filepath.Join(l.temp, "archives")
	var ours [2]*hadooplab.Lab
	for i := range ours {
		site := map[string]string{"fs.defaultFS": stock.URI(), "dfs.client.use.datanode.hostname": "true"}
		if i == 1 {
			site["heddle.nodemanager.jvm-archive.enabled"], site["heddle.nodemanager.jvm-archive.dir"] = "true", archives
		}
		if ours[i], err = start(hadooplab.Options{ResourceManager: true, NodeManagers: 1, Heddle: heddle, OwnJVM: true, Site: site}); err != nil {
			return nil, fmt.Errorf("a Heddle: %w", err)
		}
	}
	l.Programs = Programs{Heddle: true, Spark: spark}
	if l.Programs.Examples, err = stock.Jar("hadoop-mapreduce-examples"); err != nil {
		return nil, err
	}
	if l.Programs.Streaming, err = stock.Jar("hadoop-streaming"); err != nil {
		return nil, err
	}
	programs := map[string]string{"heddle": heddle}
	var env []string
	if spark != "" {
		if l.Programs.SparkPi, err = sparkPi(ctx, spark, l.temp); err != nil {
			return nil, err
		}
		programs["spark-submit"] = filepath.Join(spark, "bin", "spark-submit")
		env = []string{"SPARK_HOME=" + spark, "PYTHONPATH=" + filepath.Dir(spark), "PYSPARK_PYTHON=python3", "SPARK_LOCAL_IP=127.0.0.1"}
		l.Programs.SparkArgs = []string{
			"--driver-memory", "512m", "--executor-memory", "512m", "--num-executors", "1", "--executor-cores", "2",
			"--conf", "spark.yarn.jars=local:" + spark + "/jars/*", // instead of copying 300 MB
			"--conf", "spark.yarn.am.memory=512m", "--conf", "spark.ui.enabled=false",
		}
	}
	cluster := func(name string, lab *hadooplab.Lab) Cluster {
		clear := func(ctx context.Context) error {
			return endApplications(ctx, fmt.Sprintf("http://localhost:%d", lab.Port("rm-http")))
		}
		return Cluster{Name: name, Clear: clear, Run: func(ctx context.Context, command ...string) error {
			switch command[0] {
			case "hadoop", "hdfs", "yarn", "mapred":
				_, err := lab.Run(ctx, command...)
				return err
			}
			return execute(ctx, lab.Conf(), programs, env, command)
		}}
	}
	l.Clusters = []Cluster{cluster("stock", stock), cluster("heddle", ours[0]), cluster("heddle with archives", ours[1])}
	l.Clusters[2].Settle = func(ctx context.Context) error { return settle(ctx, archives) }
	return l, nil
}

// settle waits until no archive is being made.
func settle(ctx context.Context, archives string) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for quiet := 0; quiet < 6; {
		building, err := filepath.Glob(filepath.Join(archives, "*", ".build-*"))
		if err != nil {
			return err
		}
		if quiet++; len(building) > 0 {
			quiet = 0
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// endApplications kills the running applications of a cluster by its REST API.
func endApplications(ctx context.Context, rm string) error {
	me, err := user.Current()
	if err != nil {
		return err
	}
	apps := rm + "/ws/v1/cluster/apps"
	var found struct {
		Apps struct {
			App []struct{ ID string }
		}
	}
	if err := call(ctx, http.MethodGet, apps+"?states=NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING", "", &found); err != nil {
		return err
	}
	for _, a := range found.Apps.App {
		err = errors.Join(err, call(ctx, http.MethodPut, apps+"/"+a.ID+"/state?user.name="+me.Username, `{"state":"KILLED"}`, nil))
	}
	return err
}

func call(ctx context.Context, method, url, body string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s", method, url, resp.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// sparkPiSource computes pi as Spark's example of that name does.
const sparkPiSource = `import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.*;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

public class SparkPi {
	static int inside() {
		double x = ThreadLocalRandom.current().nextDouble() * 2 - 1, y = ThreadLocalRandom.current().nextDouble() * 2 - 1;
		return x * x + y * y <= 1 ? 1 : 0;
	}
	public static void main(String[] args) {
		int slices = Integer.parseInt(args[0]), n = 100000 * slices;
		SparkSession spark = SparkSession.builder().appName("SparkPi").getOrCreate();
		JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
		int count = context.parallelize(IntStream.range(0, n).boxed().collect(Collectors.toList()), slices)
			.map(i -> inside()).reduce((a, b) -> a + b);
		System.out.println("Pi is roughly " + 4.0 * count / n);
		spark.stop();
	}
}
`

// sparkPi compiles the program above, and returns its jar.
func sparkPi(ctx context.Context, spark, temp string) (string, error) {
	source, classes, jar := filepath.Join(temp, "SparkPi.java"), filepath.Join(temp, "classes"), filepath.Join(temp, "spark-pi.jar")
	if err := os.WriteFile(source, []byte(sparkPiSource), 0o644); err != nil {
		return "", err
	}
	for _, command := range [][]string{
		{"javac", "-nowarn", "-proc:none", "-cp", filepath.Join(spark, "jars", "*"), "-d", classes, source},
		{"jar", "--create", "--file", jar, "-C", classes, "."},
	} {
		if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out)
		}
	}
	return jar, nil
}

// Temp returns a folder that Close removes.
func (l *Labs) Temp() string { return l.temp }

// Close ends everything and removes the files.
func (l *Labs) Close() error {
	var errs []error
	for i := len(l.labs) - 1; i >= 0; i-- {
		errs = append(errs, l.labs[i].Close())
	}
	if l.temp != "" {
		errs = append(errs, os.RemoveAll(l.temp))
	}
	return errors.Join(errs...)
}
