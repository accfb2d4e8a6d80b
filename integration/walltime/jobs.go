package walltime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Programs has the paths of the jobs' programs. Jobs without a path are left out.
type Programs struct {
	Heddle    bool     // the heddle command is available
	Examples  string   // hadoop-mapreduce-examples-….jar
	Streaming string   // hadoop-streaming-….jar
	Spark     string   // $SPARK_HOME
	SparkPi   string   // a jar with a class SparkPi, whose argument is the number of slices
	SparkArgs []string // for every spark-submit
}

// Sizes are the sizes of the jobs' inputs in MB.
type Sizes struct{ Text, Terasort int }

// Standard returns the jobs by which Heddle is measured, the most important ones first. Their inputs and outputs are in
// a folder of the clusters' file system; temp is a local folder.
func Standard(p Programs, s Sizes, folder, temp string) []Job {
	text := folder + "/text"
	var jobs []Job
	if p.Examples != "" {
		jobs = append(
			jobs,
			Job{Name: "wordcount", Usual: seconds(17), Preparing: seconds(5), Setup: putText(text, temp, s.Text), Command: func(out string) []string {
				return []string{"hadoop", "jar", p.Examples, "wordcount", text, out}
			}},
			Job{Name: "pi-2x10", Usual: seconds(17), Command: func(string) []string { return []string{"hadoop", "jar", p.Examples, "pi", "2", "10"} }},
		)
	}
	spark := func(name, mode string, program ...string) {
		submit := append([]string{"spark-submit", "--master", "yarn", "--deploy-mode", mode}, p.SparkArgs...)
		jobs = append(jobs, Job{Name: name + "-" + mode, Usual: seconds(18), Command: func(string) []string {
			return slices.Concat(submit, program, []string{"4"})
		}})
	}
	modes := []string{"client", "cluster"}
	if p.Spark != "" && p.SparkPi != "" {
		for _, mode := range modes {
			spark("SparkPi", mode, "--class", "SparkPi", p.SparkPi)
		}
	}
	if p.Examples != "" {
		jobs = append(jobs, Job{
			Name: "terasort", Long: true, Usual: seconds(float64(s.Terasort)*0.06 + 17), Preparing: seconds(float64(s.Terasort)*0.02 + 15),
			Setup: func(ctx context.Context, c Cluster) error {
				return c.Run(ctx, "hadoop", "jar", p.Examples, "teragen", fmt.Sprint(s.Terasort*10_000), folder+"/terasort")
			},
			Command: func(out string) []string {
				return []string{"hadoop", "jar", p.Examples, "terasort", folder + "/terasort", out}
			},
		})
	}
	if p.Heddle {
		jobs = append(jobs, Job{Name: "heddle-mr", Usual: seconds(4), Preparing: seconds(5), Setup: putText(text, temp, s.Text), Command: func(out string) []string {
			return []string{"heddle", "mr", "-quiet", "-input", text, "-output", out, "-mapper", `tr -cs A-Za-z '\n'`, "-reducer", "uniq -c"}
		}})
	}
	if p.Streaming != "" {
		mapper, reducer := filepath.Join(temp, "map.py"), filepath.Join(temp, "reduce.py")
		jobs = append(jobs, Job{Name: "streaming", Usual: seconds(19), Preparing: seconds(5), Setup: func(ctx context.Context, c Cluster) error {
			return errors.Join(putText(text, temp, s.Text)(ctx, c), os.WriteFile(mapper, []byte(mapPy), 0o755), os.WriteFile(reducer, []byte(reducePy), 0o755))
		}, Command: func(out string) []string {
			return []string{
				"hadoop", "jar", p.Streaming, "-files", "file://" + mapper + ",file://" + reducer, "-input", text, "-output", out,
				"-mapper", "python3 map.py", "-reducer", "python3 reduce.py",
			}
		}})
	}
	if p.Spark != "" {
		for _, mode := range modes {
			spark("pi.py", mode, filepath.Join(p.Spark, "examples/src/main/python/pi.py"))
		}
	}
	return jobs
}

// putText returns a function that writes a text of so many MB into a folder.
func putText(folder, temp string, size int) func(context.Context, Cluster) error {
	return func(ctx context.Context, c Cluster) error {
		local := filepath.Join(temp, "text")
		if err := writeText(local, size<<20); err != nil {
			return err
		}
		if err := c.Run(ctx, "hdfs", "dfs", "-mkdir", "-p", folder); err != nil {
			return err
		}
		return c.Run(ctx, "hdfs", "dfs", "-put", "-f", local, folder+"/part")
	}
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// The mapper and reducer that count words with Hadoop's streaming.
const (
	mapPy = `import sys
for line in sys.stdin:
    for word in line.split():
        print(word, 1, sep="\t")
`
	reducePy = `import sys
from itertools import groupby
for word, lines in groupby(sys.stdin, lambda line: line.split("\t")[0]):
    print(word, sum(int(line.split("\t")[1]) for line in lines), sep="\t")
`
)

// Only returns the jobs with the given names, in that order. Without names it returns all. It fails for a name that no
// job has.
func Only(jobs []Job, names []string) ([]Job, error) {
	if len(names) == 0 {
		return jobs, nil
	}
	var out []Job
	for _, n := range names {
		i := slices.IndexFunc(jobs, func(j Job) bool { return j.Name == n })
		if i < 0 {
			var known []string
			for _, j := range jobs {
				known = append(known, j.Name)
			}
			return nil, fmt.Errorf("no job is called %q, or its program is missing; there are %s", n, strings.Join(known, ", "))
		}
		out = append(out, jobs[i])
	}
	return out, nil
}

// writeText writes words whose frequencies fall as those of a natural language do.
func writeText(path string, size int) error {
	r := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(r, 1.2, 2, 50_000)
	b := make([]byte, 0, size+100)
	for len(b) < size {
		for range 12 {
			b = append(fmt.Appendf(b, "word%d", z.Uint64()), ' ')
		}
		b[len(b)-1] = '\n'
	}
	return os.WriteFile(path, b, 0o644)
}
