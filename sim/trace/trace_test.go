package trace_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/sim"
	"heddle/sim/trace"
	"heddle/yarn/records"
)

const second = sim.Time(1e9)

var (
	slot    = records.NewResource(1024, 1)
	options = trace.Options{Slot: slot, Queue: "root.default", User: "somebody", BlockMB: 128, RateMB: 1}
)

func tasks(durations ...sim.Time) (all []sim.Task) {
	for _, d := range durations {
		all = append(all, sim.Task{Duration: d})
	}
	return all
}

func TestOpen(t *testing.T) {
	job := func(name string, submit, estimate sim.Time, stages ...sim.Stage) sim.Job {
		return sim.Job{Name: name, Submit: submit, Queue: "root.default", User: "somebody", Estimate: estimate, Stages: stages}
	}
	one := func(durations ...sim.Time) sim.Stage {
		return sim.Stage{Priority: 1, Resource: slot, Tasks: tasks(durations...)}
	}
	block := 129 * second / 2
	local := sim.Task{Duration: 1500e6, Host: "n1", Rack: "/r1"}
	b := job("b", 2*second, (1000e6+1500e6+700e6+700e6)/4,
		sim.Stage{Priority: 20, Resource: slot, Tasks: append([]sim.Task{local}, tasks(700e6, 700e6)...)},
		sim.Stage{Priority: 10, Resource: records.NewResource(2048, 1), Tasks: []sim.Task{{Duration: second, Host: "n1", Rack: "/r1"}}})
	b.Queue, b.User = "q", "u"
	swim := job("job1", 5*second, 0,
		sim.Stage{Priority: 20, Resource: slot, Tasks: tasks(block, block)},
		sim.Stage{Priority: 10, Resource: slot, Tasks: tasks(2 * second)})
	for file, want := range map[string][]sim.Job{
		"small.tr": {
			job("job3", 0, 10*second, one(10*second, 10*second, 10*second)),
			job("job1", 10500e6, 3*second, one(2500e6, 3500e6)),
			job("job2", 10510e6, 900e6, one(900e6)),
		},
		"small.tsv": {job("job0", 0, 0, sim.Stage{Priority: 20, Resource: slot, Tasks: tasks(0)}), swim},
		"small.json": {
			{Name: "job2-1", Queue: "root.default", User: "somebody", Stages: []sim.Stage{}},
			{Name: "job2-2", Queue: "root.default", User: "somebody", Stages: []sim.Stage{}},
			b,
		},
	} {
		got, err := trace.Open("testdata/"+file, options)
		if err != nil {
			t.Error(err)
			continue
		}
		// the bytes of one block and one byte more don't make whole seconds
		near := cmp.Comparer(func(a, b sim.Time) bool { return a-b < 1000 && b-a < 1000 })
		for i := range got {
			if file == "small.tsv" {
				got[i].Estimate, want[i].Estimate = 0, 0
			}
		}
		if d := cmp.Diff(want, got, near); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// Compressed files are told by how they begin, whatever their names are. Jobs of one time come 10 ms after each other, also if others stand between them.
func TestCompressedAndUnsorted(t *testing.T) {
	dir := t.TempDir()
	const text = "7 1 1 1\n5 1 2 2\n7 1 3 3\n7 1 4 4\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"a.tr": []byte(text), "b.tr.gz": packed.Bytes(), "c.tr": packed.Bytes(), "d.tr.gz": []byte(text)} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		jobs, err := trace.Open(file, options)
		if err != nil {
			t.Error(err)
			continue
		}
		var at []sim.Time
		for _, j := range jobs {
			at = append(at, j.Submit)
		}
		if want := []sim.Time{0, 2 * second, 2010e6, 2020e6}; !slices.Equal(at, want) {
			t.Errorf("%s: jobs come at %v, not %v", name, at, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "e.tr"), packed.Bytes()[:packed.Len()-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Open(filepath.Join(dir, "e.tr"), options); err == nil || !strings.Contains(err.Error(), "e.tr: ") {
		t.Errorf("a part of a file: %v", err)
	}
}

func TestWhole(t *testing.T) {
	o := options
	o.Whole = true
	jobs, err := trace.Open("testdata/small.tr", o)
	if err != nil {
		t.Fatal(err)
	}
	if got := jobs[1].Stages[0].Tasks; got[0].Duration != 2*second || got[1].Duration != 3*second || jobs[2].Estimate != 0 {
		t.Errorf("durations are not cut: %v", got)
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ format, text string }{
		"fewer tasks than announced": {"hawk", "1 2 3 4"},
		"a negative duration":        {"hawk", "1 1 3 -4"},
		"an endless duration":        {"hawk", "1 1 3 Inf"},
		"no time":                    {"hawk", "NaN 1 3 4"},
		"a short line":               {"swim", "job\t1\t2"},
		"too many blocks":            {"swim", "j\t1\t1\t1e30\t0\t0"},
		"no JSON":                    {"sls", "{"},
		"too many tasks":             {"sls", `{"job.tasks":[{"duration.ms":1,"count":999999999}]}`},
		"too much memory":            {"sls", `{"job.tasks":[{"duration.ms":1,"container.memory":1e300}]}`},
		"too many vcores":            {"sls", `{"job.tasks":[{"duration.ms":1,"container.vcores":9223372036854775807}]}`},
		"a SYNTH trace of nothing":   {"synth", `{"num_jobs": 1}`},
		"a SYNTH task of ages":       {"synth", `{"num_jobs":1,"workloads":[{"job_classes":[{"tasks":[{"count":{"val":1},"time":{"val":1e99}}]}],"time_distribution":[{"time":1}]}]}`},
		"too many SYNTH tasks":       {"synth", `{"num_jobs":1,"workloads":[{"job_classes":[{"tasks":[{"count":{"val":1e99}}]}],"time_distribution":[{"time":1}]}]}`},
		"SYNTH tasks without end":    {"synth", `{"num_jobs":1000000,"workloads":[{"job_classes":[{"tasks":[{"count":{"val":1000000},"time":{"val":1}}]}],"time_distribution":[{"time":1}]}]}`},
		"a task that ends too early": {"rumen", `{"mapTasks": [{"startTime": 2, "finishTime": 1}]}`},
		"a format that isn't":        {"pdf", ""},
	} {
		o := options
		o.Format = c.format
		if jobs, err := trace.Read(strings.NewReader(c.text), o); err == nil {
			t.Errorf("%s is read as %v", name, jobs)
		}
	}
}

// A broken trace is named with its file, line and reason.
func TestBrokenLinesAreNamed(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"a.tr":   {"1 1 3 3\n\n2 2 3 4\n", "a.tr: line 3: announces 2 tasks but has 1 durations"},
		"b.tr":   {"1 1 3 x\n", `b.tr: line 1: duration of task 1: "x" is not a number`},
		"i.tr":   {"\ufeff1 2 3 4 NaN\n", "i.tr: line 1: duration of task 2: NaN s is not between 0 and 100 years"},
		"j.tr":   {"1 1 -3 4\n", "j.tr: line 1: mean duration: -3 s is not"},
		"k.tr":   {"1 1.5 3 4\n", `k.tr: line 1: "1.5" is not a number of tasks`},
		"l.tr":   {"1e999 1 3 4\n", "l.tr: line 1: submission: +Inf s is not"},
		"m.tsv":  {"j\t1\t1\t5\t-1\t1\n", "m.tsv: line 1: field 5: -1 bytes is less than nothing"},
		"c.tsv":  {"j\t1\t1\t1\t1\t1\nj\t1\t1\tz\t1\t1\n", "c.tsv: line 2: field 4: "},
		"d.json": {"{\"job.tasks\": []}\n{\n\"job.start.ms\": -5}\n", "d.json: line 2: job.start.ms: "},
		"e.json": {"{\"jobID\": \"a\"}\n{\n\"jobID\": }\n", "e.json: line 3: invalid character"},
		"g.tr":   {"\n", "g.tr: it has no jobs of the format hawk"},
		"h.json": {"", "h.json: it has no jobs"},
		"f.json": {"{\"workloads\": [\n", "f.json: line 2: the file ends within a JSON object"},
		"n.json": {"{\"job.tasks\": []}\n{\"job.tasks\": [\n{\"duration.ms\": \"x\"}]}", "n.json: line 3: job.tasks.duration.ms: has string, where a number is needed"},
		"o.json": {"[1]", "o.json: line 1: has array, where an object is needed"},
		"p.json": {"{\"workloads\": [],\n\"num_jobs\": 1.5}", "p.json: line 2: num_jobs: has number 1.5, where an integer within its limits is needed"},
		"q.json": {"{\"job.tasks\": []}\n{\"jobs\": []}", "q.json: line 2: has no job.tasks"},
		"r.json": {"{\"job.tasks\": [{\"duration.ms\": 1}, {\"container.start.ms\": 1}]}", "r.json: line 1: duration of task 2: -0.001 s"},
		"s.tsv":  {"j 1 1 5 1 1\n", "s.tsv: line 1: has 1 fields; at least 6 are needed, with tabs between them"},
		"t.tsv":  {"j\t1\t1\t5\t1e15\t1\n", "t.tsv: line 1: field 5: 1e+15 bytes are more than 1000000 blocks of"},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := trace.Open(file, options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %s", name, err, c.want)
		}
	}
}

func TestAFolderIsNoTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.tr")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Open(dir, options); err == nil || !strings.HasSuffix(err.Error(), "x.tr is a folder: name a file") {
		t.Error(err)
	}
}

// A text may begin with the mark of the order of its bytes, and its lines may end as on other systems.
func TestMarksAndEndsOfLines(t *testing.T) {
	for format, text := range map[string]string{"hawk": "1 1 3 3\r\n2\t1  3 4", "swim": "j\t1\t1\t1\t1\t1\r\nk\t1\t1\t1\t1\t1\r\n", "sls": "{\"job.tasks\": []}\r\n{\"job.tasks\": []}"} {
		o := options
		o.Format = format
		if jobs, err := trace.Read(strings.NewReader("\ufeff"+text), o); err != nil || len(jobs) != 2 {
			t.Errorf("%s: %v, %v", format, jobs, err)
		}
	}
}

// A compressed trace that was cut off isn't taken for one with a broken line, nor for a shorter one.
func TestCutOff(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for i := range 1000 {
		fmt.Fprintf(w, "%d 2 3 %d %d\n", i, i*i%97, i*i%89)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "x.tr.gz")
	for _, n := range []int{packed.Len() / 2, packed.Len() - 9, packed.Len() - 1} {
		if err := os.WriteFile(file, packed.Bytes()[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if jobs, err := trace.Open(file, options); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%d of %d bytes: %d jobs, %v", n, packed.Len(), len(jobs), err)
		}
	}
}

func TestRumen(t *testing.T) {
	jobs, err := trace.Open("testdata/rumen.json", options)
	if err != nil {
		t.Fatal(err)
	}
	want := []sim.Job{{
		Name: "job_1_0001", Queue: "q", User: "u", Estimate: 7 * second / 3,
		Stages: []sim.Stage{
			{Priority: 20, Resource: slot, Tasks: []sim.Task{{Duration: 2 * second, Host: "n1", Rack: "/r"}, {Duration: second}}},
			{Priority: 10, Resource: slot, Tasks: tasks(4 * second)},
		},
	}}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Error(d)
	}
}

func TestSynth(t *testing.T) {
	jobs, err := trace.Open("testdata/synth.json", options)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := trace.Open("testdata/synth.json", options)
	if d := cmp.Diff(jobs, again); d != "" {
		t.Errorf("the same seed: %s", d)
	}
	sum, n, late, heavy := 0., 0, 0, 0
	for _, j := range jobs {
		if len(j.Stages) != 2 || j.Stages[0].Priority != 20 || j.Stages[1].Resource != records.NewResource(2048, 2) {
			t.Fatalf("%+v", j)
		}
		for _, x := range j.Stages[0].Tasks {
			sum += x.Duration.Seconds()
			n++
		}
		if len(j.Stages[1].Tasks) == 7 {
			heavy++
		}
		if j.Submit > 60*second {
			late++
		}
	}
	// Arrivals between 0 and 60 s have three times the weight of those between 60 and 120 s. Reduces are 7 in one of five jobs, else 3.
	if mean := sum / float64(n); len(jobs) != 400 || mean < 9.8 || mean > 10.2 || late < 70 || late > 130 || heavy < 55 || heavy > 105 {
		t.Errorf("%d jobs, %d late, %d heavy; a task lasts %g s", len(jobs), late, heavy, mean)
	}
}

func FuzzRead(f *testing.F) {
	// Short ones: it takes long to minimize what grows out of the others.
	for _, s := range []struct{ format, text string }{
		{"hawk", "100.5 2 3.0 2.5 3.5\n90 3 10 10 10.0 1e1\n"},
		{"swim", "job1	5	5	134217729	1048576	1048576	in	out\n"},
		{"sls", `{"job.id":"b","job.tasks":[{"container.host":"/r/n","container.start.ms":3,"container.end.ms":4}]}`},
		{"rumen", `{"jobID":"j","submitTime":5,"mapTasks":[{"attempts":[{"result":"SUCCESS","hostName":"/r/n","startTime":3,"finishTime":9}]}]}`},
		{"synth", `{"num_jobs":2,"workloads":[{"workload_weight":1,"job_classes":[{"class_weight":1,"tasks":[{"count":{"val":2},"time":{"val":1,"std":1}}]}],"time_distribution":[{"time":1,"weight":1},{"time":2}]}]}`},
		{"sls", `{"job.start.ms":2,"job.count":2,"job.tasks":[{"duration.ms":7,"count":2}]}`},
	} {
		f.Add(s.format, []byte(s.text))
	}
	f.Fuzz(func(t *testing.T, format string, text []byte) {
		o := options
		o.Format, o.BlockMB = format, 1<<20
		jobs, err := trace.Read(bytes.NewReader(text), o)
		if err != nil {
			return
		}
		for i, j := range jobs {
			if j.Submit < 0 || i > 0 && j.Submit < jobs[i-1].Submit {
				t.Fatalf("job %d is submitted at %d", i, j.Submit)
			}
			for _, s := range j.Stages {
				for _, task := range s.Tasks {
					if task.Duration < 0 {
						t.Fatalf("job %d has a task of %d ns", i, task.Duration)
					}
				}
			}
		}
	})
}
