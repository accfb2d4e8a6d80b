package hadoop

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
)

const ordering = "yarn.scheduler.capacity.root.default.ordering-policy"

// setPolicy changes the policy of the queue as YARN's administrators do: in the file, and by yarn rmadmin.
func setPolicy(t *testing.T, l *hadooplab.Lab, policy string) {
	t.Helper()
	file := filepath.Join(l.Conf(), "capacity-scheduler.xml")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	entry := regexp.MustCompile(`(<name>` + regexp.QuoteMeta(ordering) + `</name>\s*<value>)\w+(</value>)`)
	if !entry.Match(before) {
		t.Fatalf("%s doesn't name a policy: %s", file, before)
	}
	if err := os.WriteFile(file, entry.ReplaceAll(before, []byte("${1}"+policy+"${2}")), 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Try(t.Context(), "", "yarn", "rmadmin", "-refreshQueues"); err != nil || r.Code != 0 {
		t.Fatalf("%v, %d: %s", err, r.Code, r.Stderr)
	}
}

// throttle lets all containers of one of a lab's nodes have a quarter of a core.
func throttle(t *testing.T, l *hadooplab.Lab) {
	t.Helper()
	nodes := slices.DeleteFunc(hadooplab.Groups(t, "nm-"), func(dir string) bool { return !strings.Contains(dir, "heddle-"+filepath.Base(l.Dir())+"/") })
	if len(nodes) == 0 {
		t.Fatal("no node has a group")
	}
	slices.SortFunc(nodes, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	first := filepath.Base(nodes[0])
	hadooplab.Throttle(t, slices.DeleteFunc(nodes, func(dir string) bool { return filepath.Base(dir) != first }), 250)
}

// Hadoop's examples, which know nothing of policies, run under Eunomia and Hopper on two nodes, of which one is slow. The policies are switched while a job waits, when people
// read what each says of it, and while a word count and a sort run.
func TestStockJobsUnderPoliciesThatAreSwitched(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("Hadoop has no stage policies")
	}
	o := options
	o.NodeManagers, o.HistoryServer = 2, false
	o.Site = maps.Clone(options.Site)
	maps.Copy(o.Site, map[string]string{
		"yarn.scheduler.capacity.root.default.user-limit-factor": "100", "yarn.scheduler.capacity.maximum-am-resource-percent": "1", ordering: "hopper",
		"yarn.nodemanager.resource.memory-mb": "4096", "yarn.nodemanager.vmem-check-enabled": "false", "yarn.app.mapreduce.am.resource.mb": "512",
	})
	l := hadooplab.Start(t, o)
	throttle(t, l)
	for i := range 12 {
		l.Put(t, fmt.Sprintf("/held/in/%d", i), "x\n")
	}
	g := newGate(t)
	held, app := begin(t, l, streaming(t, l), "-Dmapreduce.job.reduces=1", "-Dmapreduce.map.memory.mb=1024", "-files", g.mapper(t), "-input", "/held/in",
		"-output", "/held/out", "-mapper", "wait.sh", "-reducer", "cat")
	for _, policy := range []string{"hopper", "eunomia", "fifo", "eunomia", "hopper"} {
		setPolicy(t, l, policy)
		await.Slowly(t, "people read of the policy "+policy, func() bool {
			text := explanation(t, l, app)
			for name, sentence := range hadooplab.Sentences {
				if sentence.MatchString(text) != (name == policy) {
					return false
				}
			}
			return strings.Contains(text, "1024")
		})
	}
	g.open(t)
	in := text(3000)
	l.Put(t, "/words/in/a", in)
	l.Put(t, "/words/in/b", in)
	const rows = 20000
	succeed(t, l, example(t, l, "teragen"), "-Dmapreduce.job.maps=4", strconv.Itoa(rows), "/rows")
	count, countApp := begin(t, l, example(t, l, "wordcount"), "-Dmapreduce.job.reduces=2", "/words/in", "/words/out")
	sort, sortApp := begin(t, l, example(t, l, "terasort"), "-Dmapreduce.job.reduces=2", "/rows", "/sorted")
	for i := 0; !count.Ended() || !sort.Ended(); i++ {
		setPolicy(t, l, []string{"eunomia", "hopper", "fair"}[i%3])
	}
	for command, id := range map[*hadooplab.Command]string{held: app, count: countApp, sort: sortApp} {
		if j := end(t, command, id); j.Code != 0 {
			t.Errorf("%s: exit code %d\n%s\n%s", id, j.Code, j.Stdout, j.Stderr)
		} else if command == sort {
			j.counts(t, map[string]int64{"Map input records": rows, "Reduce output records": rows})
		}
	}
	got := slices.Sorted(strings.Lines(cat(t, l, "/words/out/part-*")))
	if want := slices.Sorted(strings.Lines(wordCount(in + in))); !slices.Equal(got, want) {
		t.Errorf("%d words, want %d", len(got), len(want))
	}
	if got := strings.Count(cat(t, l, "/held/out/part-*"), "x"); got != 12 {
		t.Errorf("%d of 12 lines", got)
	}
	succeed(t, l, example(t, l, "teravalidate"), "/sorted", "/report")
}
