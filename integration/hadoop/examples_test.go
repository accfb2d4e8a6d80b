package hadoop

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

func TestPi(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	j := succeed(t, l, example(t, l, "pi"), "2", "10")
	if !strings.Contains(j.Stdout, "Estimated value of Pi is 3.80000000000000000000") {
		t.Error(j.Stdout)
	}
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Shuffled Maps ": 2, "Failed Shuffles": 0})
}

// text is text whose words are easily counted.
func text(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "the w%d of w%d\n", i%7, i%11)
	}
	return b.String()
}

// wordCount counts the words of a text as the example's output would.
func wordCount(text string) string {
	counts := map[string]int{}
	for _, w := range strings.Fields(text) {
		counts[w]++
	}
	var b strings.Builder
	for _, w := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s\t%d\n", w, counts[w])
	}
	return b.String()
}

func TestWordCount(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	in := text(5000)
	l.Put(t, "/wordcount/in/a", in)
	l.Put(t, "/wordcount/in/b", in)
	want := wordCount(in + in)

	t.Run("compressed map output", func(t *testing.T) {
		j := succeed(t, l, example(t, l, "wordcount"), "-Dmapreduce.map.output.compress=true",
			"-Dmapreduce.map.output.compress.codec=org.apache.hadoop.io.compress.DeflateCodec", "/wordcount/in", "/wordcount/out")
		if got := cat(t, l, "/wordcount/out/part-*"); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		j.counts(t, map[string]int64{
			"Map input records": 10000, "Map output records": 40000, "Combine output records": 2 * int64(strings.Count(want, "\n")),
			"Reduce output records": int64(strings.Count(want, "\n")), "Merged Map outputs": 2, "Bytes Read": 2 * int64(len(in)), "Launched map tasks": 2,
		})
		if !strings.Contains(historyOf(t, l, j), `"state":"SUCCEEDED"`) {
			t.Error("the history server doesn't know of the job's success")
		}
		if onHeddle {
			if hadooplab.ReadAhead(t, l) == 0 { // while the ApplicationMaster was starting
				t.Error("nothing was read ahead")
			}
		}
	})
	t.Run("uber", func(t *testing.T) {
		j := succeed(t, l, example(t, l, "wordcount"), "-Dmapreduce.job.ubertask.enable=true", "/wordcount/in", "/wordcount/uber")
		if got := cat(t, l, "/wordcount/uber/part-*"); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		if !strings.Contains(j.Stderr, "running in uber mode : true") {
			t.Error(j.Stderr)
		}
		j.counts(t, map[string]int64{"TOTAL_LAUNCHED_UBERTASKS": 3, "NUM_UBER_SUBMAPS": 2, "Map input records": 10000})
	})
	t.Run("output exists", func(t *testing.T) {
		j := try(t, l, example(t, l, "wordcount"), "/wordcount/in", "/wordcount/out")
		if j.Code == 0 || j.app != "" || !strings.Contains(j.Stderr, "already exists") {
			t.Errorf("%d\n%s", j.Code, j.Stderr)
		}
	})
}

func TestGrep(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	l.Put(t, "/grep/in/a", text(1000))
	succeed(t, l, example(t, l, "grep"), "/grep/in", "/grep/out", "w[0-2]")
	if got := cat(t, l, "/grep/out/part-*"); !strings.Contains(got, "\tw0\n") || strings.Count(got, "\n") != 3 {
		t.Error(got)
	}
}

func TestSort(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	j := succeed(t, l, example(t, l, "randomwriter"), "-Dmapreduce.randomwriter.bytespermap=200000", "-Dmapreduce.randomwriter.mapsperhost=2", "/sort/in")
	j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": -1})
	records := j.counter("Map output records")
	j = succeed(t, l, example(t, l, "sort"), "-r", "1", "/sort/in", "/sort/out")
	j.counts(t, map[string]int64{"Map input records": records, "Reduce output records": records})
}

func TestTerasort(t *testing.T) {
	t.Parallel()
	l := lab.Lab(t)
	const rows = 20000
	succeed(t, l, example(t, l, "teragen"), "-Dmapreduce.job.maps=2", strconv.Itoa(rows), "/terasort/in")
	j := succeed(t, l, example(t, l, "terasort"), "-Dmapreduce.job.reduces=2", "/terasort/in", "/terasort/out")
	j.counts(t, map[string]int64{"Map input records": rows, "Reduce output records": rows, "Failed Shuffles": 0})
	succeed(t, l, example(t, l, "teravalidate"), "/terasort/out", "/terasort/report")
	if report := cat(t, l, "/terasort/report/part-*"); !strings.HasPrefix(report, "checksum\t") || strings.Count(report, "\n") != 1 {
		t.Errorf("misordered: %s", report)
	}
}

func TestSleep(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	t.Parallel()
	l := lab.Lab(t)
	j := succeed(t, l, sleeper, "-m", "3", "-r", "1", "-mt", "10", "-rt", "10")
	j.counts(t, map[string]int64{"Launched map tasks": 3, "Launched reduce tasks": 1})
	j = succeed(t, l, sleeper, "-m", "1", "-r", "0", "-mt", "10")
	j.counts(t, map[string]int64{"Launched map tasks": 1, "Launched reduce tasks": -1})
}
