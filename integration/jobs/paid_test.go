package jobs

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

// throttle lets all containers of a node have so many ms of a core in a second; 0: all that they want.
func (c *cluster) throttle(node string, ms int) {
	c.t.Helper()
	state := sha256.Sum256([]byte(filepath.Join(c.Home(node), "state", "nm-"+node))) // tells its groups from those of other clusters
	hadooplab.Throttle(c.t, hadooplab.Groups(c.t, fmt.Sprintf("nm-%s-%x", node, state[:4])), ms)
}

// stood reports whether an ApplicationMaster has seen a container stand still: that may be over soon, if nobody takes the room.
func (c *cluster) stood(container string) bool {
	c.t.Helper()
	for _, log := range must(filepath.Glob(filepath.Join(c.dir, "nm*", "log", "*", "*_000001", "stderr"))) {
		for line := range strings.Lines(string(must(os.ReadFile(log)))) {
			if strings.Contains(line, "is suspended") && strings.Contains(line, container) {
				return true
			}
		}
	}
	return false
}

// A node becomes slow on a full cluster. eSplash copies its tasks in the room of others of the same job, which stand still meanwhile and go on; so does an
// original that its copy has overtaken, until the copy is done. A wrong guess costs nothing but time: if the original ends first, or its copy gets stuck, the
// original's result counts. Each line of the output is there once in any case. The second wave of maps begins when the node is slow, so that a copy
// overtakes its original however long the test takes to notice that wave.
func TestCopiesOfAStragglersTasksArePaidBySuspension(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	c := startFreezing(t, "1152", "127.0.0.1", "127.0.0.2", "127.0.0.3") // two containers, and what those are left that stand still
	const maps, lines = 25, 50
	in, want := c.input(maps, lines, 2)
	const work = `while read -r l; do i=0; while [ $i -lt 1500 ]; do i=$((i+1)); done; sleep 0.07; echo "$l"; done; exit 0`
	const firstWave = 5                              // one container is the ApplicationMaster's
	type counts struct{ originals, others, won int } // of attempts that have stood still and succeeded, and of copies that have won
	for _, x := range []struct {
		name, copy string // what a copy does
		recovers   bool   // the node, when a copy runs
		after      bool   // its copy has overtaken the original, which stands still
		good       func(counts) bool
	}{
		{"the guess is right", work, false, false, func(n counts) bool { return n.others > 0 && n.won > 0 }},
		{"the original ends first", "while :; do sleep 0.1; done", true, false, func(n counts) bool { return n.others > 0 && n.won == 0 }},
		{
			"the copy gets stuck when it has overtaken the original", "while [ ! -e $marks/overtaken ] && read -r l; do echo \"$l\"; sleep 0.2; done; while :; do sleep 0.1; done", true, true,
			func(n counts) bool { return n.originals > 0 && n.won == 0 },
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			c.t = t
			marks, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
			script := filepath.Join(t.TempDir(), "task")
			if err := os.WriteFile(script, []byte("marks="+marks+`
a=$mapreduce_task_attempt_id
case $a in *_0)
echo $CONTAINER_ID > $marks/begun.$a
[ $mapreduce_task_partition -lt `+fmt.Sprint(firstWave)+` ] || until [ -e $marks/slow ]; do sleep 0.1; done
`+work+`;;
esac
: > $marks/copy.$a
`+x.copy+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			j := c.mr("-speculation", "esplash", "-freeze", "-numReduceTasks", "0", "-input", in, "-output", out, "-mapper", "bash "+script,
				"-D", "mapreduce.input.fileinputformat.split.maxsize="+fmt.Sprint(lines*1007), "-D", "mapreduce.map.memory.mb=512", "-D", "yarn.app.mapreduce.am.resource.mb=512")
			id := "container_" + strings.TrimPrefix(j.application(), "application_")
			slow := ""
			await.Slowly(t, "the ApplicationMaster runs", func() bool {
				for i, node := range []string{"nm1", "nm2", "nm3"} {
					if len(c.on(node, processes("mr-master", id))) == 1 {
						slow = []string{"nm3", "nm1", "nm2"}[i]
					}
				}
				return slow != ""
			})
			count := func(pattern string) int { return len(must(filepath.Glob(filepath.Join(marks, pattern)))) }
			await.Slowly(t, "the second wave of maps runs", func() bool { return count("begun.*") == 2*firstWave })
			c.throttle(slow, 10)
			t.Cleanup(func() { c.throttle(slow, 0) })
			mark := func(name string) {
				if err := os.WriteFile(filepath.Join(marks, name), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			mark("slow")
			await.Slowly(t, "a copy runs", func() bool { return count("copy.*") > 0 })
			if x.after {
				name := filepath.Base(must(filepath.Glob(filepath.Join(marks, "copy.*")))[0])
				its := strings.TrimSpace(string(must(os.ReadFile(filepath.Join(marks, "begun"+strings.TrimPrefix(name, "copy")[:len(name)-len("copy")-1]+"0")))))
				await.Slowly(t, "the original has stood still", func() bool { return c.stood(its) })
				mark("overtaken")
			}
			if x.recovers {
				c.throttle(slow, 0)
			}
			r := j.end()
			if got := c.output(out); got != want {
				t.Errorf("%d lines instead of %d, or others", strings.Count(got, "\n"), maps*lines)
			}
			var n counts
			copied := map[int]bool{} // by map
			for _, a := range r.Tasks {
				if a.Copy {
					copied[a.ID.Index] = true
				}
			}
			for _, a := range r.Tasks {
				switch {
				case a.State != "succeeded":
				case a.Copy:
					n.won++
				case a.Stood > 0 && copied[a.ID.Index]:
					n.originals++
				case a.Stood > 0:
					n.others++
				}
			}
			if !x.good(n) || len(r.Failures) > 0 || r.Attempts != 1 {
				t.Errorf("%+v of %+v; %+v", n, r.Tasks, r.Failures)
			}
		})
	}
	c.t = t
}
