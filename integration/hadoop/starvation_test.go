package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// Under a stage policy a job's reduces hold all room when one of its maps has to run again, as its output is lost. Meanwhile jobs come that don't fit
// the pattern: an uber job, one of maps only, one of reduces only, and one with many maps. All come to their end, with the right output.
func TestNoJobStarvesUnderStagePolicies(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop has no stage policies")
	}
	l := mixLab(t)
	words := []string{"1", "2", "3", "4"}
	for _, w := range words {
		l.Put(t, "/starve/words/"+w, w+"\n")
	}
	in := text(500)
	l.Put(t, "/starve/text/a", in)
	const many = 5
	for i := range many {
		l.Put(t, fmt.Sprint("/starve/many/", i), in)
	}
	if _, err := l.Run(t.Context(), "hdfs", "dfs", "-mkdir", "-p", "/starve/none"); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []string{"fresh", "omo"} {
		t.Run(policy, func(t *testing.T) {
			settings := append(slices.Clone(small), "-Dmapreduce.job.queuename="+policy, "-Dmapreduce.job.reduce.slowstart.completedmaps=0.05")
			out := func(name string) string { return "/starve/" + policy + "-" + name }
			g := newGate(t)
			repeated, app := begin(t, l, streaming(t, l), append(slices.Clone(settings), "-Dmapreduce.job.reduces=10", "-Dmapreduce.reduce.shuffle.maxfetchfailures=1",
				"-files", g.mapper(t), "-input", "/starve/words", "-output", out("repeated"), "-mapper", "wait.sh", "-reducer", "cat")...)
			loseOutput(t, l, app)
			g.open(t)
			await.Slowly(t, "reduces hold all room", func() bool {
				var m struct{ ClusterMetrics struct{ AvailableMB int64 } }
				if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/metrics", &m); err != nil {
					t.Fatal(err)
				}
				return m.ClusterMetrics.AvailableMB == 0 && len(of(processes(t, l), app)) == 10
			})

			type other struct {
				name    string
				program program
				args    []string
			}
			others := []other{
				{"uber", example(t, l, "wordcount"), []string{"-Dmapreduce.job.ubertask.enable=true", "-Dmapreduce.job.reduces=1", "/starve/text", out("uber")}},
				{"maps", streaming(t, l), []string{"-Dmapreduce.job.reduces=0", "-input", "/starve/many", "-output", out("maps"), "-mapper", "cat"}},
				{"reduces", example(t, l, "wordcount"), []string{"-Dmapreduce.job.reduces=2", "/starve/none", out("reduces")}},
				{"many", example(t, l, "wordcount"), []string{"-Dmapreduce.job.reduces=2", "/starve/many", out("many")}},
			}
			commands, apps := map[string]*hadooplab.Command{"repeated": repeated}, map[string]string{"repeated": app}
			for _, x := range others {
				commands[x.name], apps[x.name] = begin(t, l, x.program, append(slices.Clone(settings), x.args...)...)
			}
			ended := map[string]job{}
			for name, c := range commands {
				ended[name] = end(t, c, apps[name])
				if ended[name].Code != 0 {
					t.Fatalf("%s: exit code %d\n%s", name, ended[name].Code, ended[name].Stderr)
				}
			}
			if n := ended["repeated"].counter("Launched map tasks"); n < int64(len(words))+1 {
				t.Errorf("%d maps were launched, though the output of one was lost", n)
			}
			if !strings.Contains(ended["uber"].Stderr, "running in uber mode : true") {
				t.Errorf("no uber job:\n%s", ended["uber"].Stderr)
			}
			ended["reduces"].counts(t, map[string]int64{"Launched map tasks": -1, "Launched reduce tasks": 2, "Reduce output records": 0})
			ended["maps"].counts(t, map[string]int64{"Launched map tasks": many, "Launched reduce tasks": -1})
			for name, want := range map[string]string{"repeated": strings.Join(words, "\n") + "\n", "uber": wordCount(in), "maps": strings.Repeat(in, many), "many": wordCount(strings.Repeat(in, many))} {
				got := slices.Sorted(strings.Lines(strings.ReplaceAll(cat(t, l, out(name)+"/part-*"), "\t\n", "\n"))) // streaming ends its lines so
				if w := slices.Sorted(strings.Lines(want)); !slices.Equal(got, w) {
					t.Errorf("%s: %d lines instead of %d, or others", name, len(got), len(w))
				}
			}
		})
	}
}

// loseOutput waits for the output of a job's first map, and removes it from its node.
func loseOutput(t *testing.T, l *hadooplab.Lab, app string) {
	t.Helper()
	var outputs []string
	await.Slowly(t, "a map has ended", func() bool {
		outputs, _ = filepath.Glob(filepath.Join(l.Dir(), "nodemanager1", "local", "usercache", "*", "appcache", app, "output", "*", "file.out.index"))
		return len(outputs) == 1
	})
	if err := os.RemoveAll(filepath.Dir(outputs[0])); err != nil {
		t.Fatal(err)
	}
}
