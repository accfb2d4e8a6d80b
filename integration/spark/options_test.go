package spark

import (
	"archive/zip"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

const sparkPi = `
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;

public class SparkPi {
    public static void main(String[] args) {
        SparkSession spark = SparkSession.builder().appName("SparkPi").getOrCreate();
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 200000; i++) {
            numbers.add(i);
        }
        long inside = new JavaSparkContext(spark.sparkContext()).parallelize(numbers, 2).filter(i -> {
            double x = Math.random() * 2 - 1, y = Math.random() * 2 - 1;
            return x * x + y * y <= 1;
        }).count();
        System.out.printf("Pi is roughly %.5f%n", 4.0 * inside / numbers.size());
        spark.stop();
    }
}
`

// jar builds the jar of a program in Java.
func jar(t *testing.T, class, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, class+".java"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"javac", "-cp", filepath.Join(home(t, hadooplab.SparkVersion), "jars", "*"), class + ".java"},
		{"sh", "-c", "jar cf program.jar *.class"},
	} {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	return filepath.Join(dir, "program.jar")
}

func TestSparkPiInJava(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	program := jar(t, "SparkPi", sparkPi)
	a := submit(t, l, "--class", "SparkPi", program)
	if a.Code != 0 || !strings.Contains(a.Stdout, "Pi is roughly 3.1") {
		t.Errorf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
	}
	a = submit(t, l, "--deploy-mode", "cluster", "--class", "SparkPi", program)
	if a.Code != 0 || !strings.Contains(a.Stderr, "final status: SUCCEEDED") {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
}

const looks = `
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("looks").getOrCreate()
import helper
def look(_):
    import helper
    return helper.word() + open("side.txt").read() + open("packed/in/deep.txt").read()
found = spark.sparkContext.parallelize([1], 1).map(look).collect()
spark.stop()
assert found == ["helped aside deep"], found
assert sys.argv[1:] == ["x", "y"], sys.argv
`

func TestFilesAndYARNsOptions(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"helper.py": `def word(): return "helped "`, "side.txt": "aside "} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "packed.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.Create("in/deep.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "deep"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	a := submit(t, l, "--deploy-mode", "cluster", "--py-files", filepath.Join(dir, "helper.py"), "--files", filepath.Join(dir, "side.txt"),
		"--archives", archive+"#packed", "--queue", "default", "--conf", "spark.yarn.tags=red,blue", "--conf", "spark.yarn.maxAppAttempts=1",
		program(t, looks), "x", "y")
	if a.Code != 0 {
		t.Errorf("exit code %d\n%s", a.Code, a.Stderr)
	}
	out, err := l.Run(t.Context(), "yarn", "application", "-list", "-appStates", "FINISHED", "-appTags", "blue")
	if err != nil || !strings.Contains(out, a.id) {
		t.Errorf("%s, %v", out, err)
	}
}

// What a cluster doesn't have is refused at once, in words.
func TestRefusedSubmissions(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	for option, want := range map[string]string{
		"spark.yarn.am.nodeLabelExpression=gpu": "node label not enabled but request contains label expression",
		"spark.yarn.queue=nowhere":              "to unknown queue: nowhere",
	} {
		a := submit(t, l, "--deploy-mode", "cluster", "--conf", option, program(t, pi))
		if a.Code != 1 || !strings.Contains(a.Stderr, want) {
			t.Errorf("%s: exit code %d\n%s", option, a.Code, a.Stderr)
		}
	}
}

// Spark's own shuffle service has to be configured. Who needs it where it isn't hears what to set.
func TestShuffleServiceIsRefused(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("a stock NodeManager says less")
	}
	l := lab.Lab(t)
	c, id := begin(t, l, "--conf", "spark.shuffle.service.enabled=true", program(t, pi))
	if err := l.Daemon("nodemanager1").WaitLog(t.Context(), "The auxService:spark_shuffle does not exist: Spark's shuffle service isn't among yarn.nodemanager.aux-services of this node. "+
		"Add it (docs/java.md), or set spark.shuffle.service.enabled=false"); err != nil {
		t.Error(err)
	}
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", id); err != nil {
		t.Error(err)
	}
	if a := end(t, c, id); a.Code == 0 {
		t.Errorf("%+v", a)
	}
}

// The pages of a running driver are behind the proxy.
func TestPagesThroughTheProxy(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	c, id := begin(t, l, "--deploy-mode", "cluster", "--conf", "spark.ui.enabled=true", program(t, sleeps))
	url := fmt.Sprintf("http://localhost:%d/proxy/%s/jobs/", l.Port("rm-http"), id)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	await.Slowly(t, "the driver's page is there", func() bool {
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		page, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode == http.StatusOK && strings.Contains(string(page), "sleeps - Spark Jobs") && strings.Contains(string(page), "/proxy/"+id+"/static/")
	})
	if _, err := l.Run(t.Context(), "yarn", "application", "-kill", id); err != nil {
		t.Error(err)
	}
	end(t, c, id)
}
