package spark

import (
	"regexp"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

var shellsApp = regexp.MustCompile(`application_\d+_\d+`)

// TestShells: those of Spark's commands that people type into, with an input that ends. pyspark isn't one of them: without a
// terminal Python doesn't run the file that makes its sc, whatever the cluster.
func TestShells(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	for name, shell := range map[string]struct {
		args   []string
		input  string
		output []string
	}{
		"spark-sql": {
			args: []string{
				"--conf", "spark.sql.warehouse.dir=" + l.URI() + "/warehouse",
				"-e", "create table counted (k int, v string) using parquet; insert into counted values (1, 'a'), (2, 'b'), (3, 'c'); " +
					"select count(*), sum(k) from counted; select v from counted order by v desc; drop table counted",
			},
			output: []string{"3\t6\n", "c\nb\na\n"},
		},
		"spark-shell": {
			input: "val total = sc.parallelize(1 to 1000, 2).map(_ * 2).sum\nprintln(\"in all \" + total)\n" +
				"println(\"run by \" + sc.applicationId)\n:quit\n",
			output: []string{"in all 1001000.0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := command(t, l, name, shell.args...)
			cmd.Stdin = strings.NewReader(shell.input)
			c, err := l.BeginCommand(cmd)
			if err != nil {
				t.Fatal(err)
			}
			a := end(t, c, "")
			for _, want := range shell.output {
				if !strings.Contains(a.Stdout, want) {
					t.Errorf("%q is missing", want)
				}
			}
			id := shellsApp.FindString(a.Stdout + a.Stderr)
			if a.Code != 0 || id == "" || t.Failed() {
				t.Fatalf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
			}
			if got := l.Status(t, id); !strings.Contains(got, "Final-State : SUCCEEDED") {
				t.Error(got)
			}
		})
	}
}
