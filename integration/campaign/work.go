package campaign

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// nobodyID is the user who runs jobs.
const nobodyID = 65534

// work is a job that runs again and again, with its expected result.
type work struct {
	dir, binary, conf string
	counts            map[string]int
	done              int
	left              int // runs whose clients were lost, and whose jobs may still be under way
	// runJob runs heddle with arguments as the jobs' user; output reads a job's output. If they return errGone, the run
	// doesn't count, because its client is lost.
	runJob func(ctx context.Context, args []string) (string, error)
	output func(ctx context.Context, dir string) (string, error)
}

// errGone says that a job's client is lost. That says nothing about the job.
var errGone = errors.New("the job's client is gone")

// Commands of the job. Each map takes half a second; the reducer adds up.
const (
	mapper  = `sleep 0.5; tr -cs a-z '\n'`
	reducer = `awk -F '\t' '$1 != "" { n[$1]++ } END { for (w in n) print w "\t" n[w] }'`
)

// newWork writes the job's input.
func newWork(binary, dir, conf string, r *rand.Rand) (*work, error) {
	w := &work{dir: filepath.Join(dir, "work"), binary: binary, conf: conf, counts: map[string]int{}}
	w.runJob, w.output = w.runHere, outputHere
	in := filepath.Join(w.dir, "in")
	if err := os.MkdirAll(in, 0o755); err != nil {
		return nil, err
	}
	for _, d := range []string{w.dir, filepath.Join(dir, "staging")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			return nil, err
		}
		if err := os.Chmod(d, 0o777|os.ModeSticky); err != nil {
			return nil, err
		}
	}
	for i := range 6 {
		var b strings.Builder
		for range 400 {
			word := string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26)))
			b.WriteString(word + "\n")
			w.counts[word]++
		}
		if err := os.WriteFile(filepath.Join(in, strconv.Itoa(i)), []byte(b.String()), 0o644); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// args returns heddle's arguments for the n-th run of the job.
func (w *work) args(n int) []string {
	set := map[string]string{
		"mapreduce.map.memory.mb": strconv.Itoa(jobMB), "mapreduce.reduce.memory.mb": strconv.Itoa(jobMB), "yarn.app.mapreduce.am.resource.mb": strconv.Itoa(jobMB),
		"mapreduce.job.queuename": "jobs", "mapreduce.am.max-attempts": "100", "mapreduce.map.maxattempts": "100", "mapreduce.reduce.maxattempts": "100",
		"mapreduce.input.fileinputformat.split.maxsize": "1200",
	}
	args := []string{"mr"}
	for k, v := range set {
		args = append(args, "-D", k+"="+v)
	}
	return append(args, "-input", "file://"+w.dir+"/in", "-output", "file://"+w.outputDir(n), "-mapper", mapper, "-reducer", reducer, "-numReduceTasks", "2")
}

func (w *work) outputDir(n int) string { return filepath.Join(w.dir, fmt.Sprintf("out%d", n)) }

// loop runs the job again and again until finish is closed. It completes the run under way.
func (w *work) loop(ctx context.Context, finish <-chan struct{}) error {
	for n := 0; ; n++ {
		select {
		case <-finish:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		default:
		}
		err := w.run(ctx, n, finish)
		if errors.Is(err, errGone) {
			w.left++
			continue
		}
		if err != nil {
			return fmt.Errorf("run %d of the job: %w", n, err)
		}
		w.done++
	}
}

// run runs the job. It may take as long as faults happen, and patience afterwards, for itself and each job that was left without a client: those are in
// the queue before it, and two of them fill the node.
func (w *work) run(ctx context.Context, n int, finish <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	long := patience * time.Duration(1+w.left)
	go func() {
		select {
		case <-finish:
			pause(ctx, long)
			cancel(fmt.Errorf("it has not ended %v after all faults were undone", long))
		case <-ctx.Done():
		}
	}()
	out, err := w.runJob(ctx, w.args(n))
	if err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, context.Cause(ctx)), out)
	}
	result, err := w.output(ctx, w.outputDir(n))
	if err != nil {
		return err
	}
	return w.verify(result)
}

// runHere runs a job's client in this machine.
func (w *work) runHere(ctx context.Context, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, w.binary, args...)
	cmd.Dir = "/"
	cmd.Env = []string{"HADOOP_CONF_DIR=" + w.conf, "PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "HADOOP_USER_NAME=nobody"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}, Setpgid: true}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func outputHere(_ context.Context, dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		all.Write(raw)
	}
	return all.String(), nil
}

// verify compares the job's output with the expected one.
func (w *work) verify(output string) error {
	got := map[string]int{}
	for in := bufio.NewScanner(strings.NewReader(output)); in.Scan(); {
		word, n, _ := strings.Cut(in.Text(), "\t")
		count, err := strconv.Atoi(n)
		if err != nil {
			return fmt.Errorf("the job's output has the line %q", in.Text())
		}
		got[word] += count
	}
	if !maps.Equal(got, w.counts) {
		return fmt.Errorf("the job succeeded with a wrong result: %d words of %d different ones; it should be %d of %d", sum(got), len(got), sum(w.counts), len(w.counts))
	}
	return nil
}

func sum(m map[string]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// hang bounds the time of a request over HTTP.
const hang = 5 * time.Second
