package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The job's commands, which would give the same result in a pipe. The mapper writes a word a line; the reducer adds up
// lines of a word, or of a word and a number. Numbers such as 0x1F, names such as x86, and single letters don't count
// as words.
const (
	mapper  = `tr -cs A-Za-z0-9_ '\n' | sed -n '/^[A-Za-z][A-Za-z]*[A-Za-z]$/p'`
	reducer = `awk -F '\t' '$1 != "" { n[$1] += NF > 1 ? $2 : 1 } END { for (w in n) print w "\t" n[w] }'`
)

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// show runs the job, kills the leader in its middle, and prints the result.
func (c *cluster) show(ctx context.Context, input string) error {
	text := filepath.Join(c.Dir(), "text")
	files, bytes, err := gather(input, text)
	if err != nil {
		return err
	}
	out := filepath.Join(c.Dir(), "words")
	say("\nCounting the words of %s: %d files of Go, %d MB", input, files, bytes>>20)
	say("  heddle mr -input %s -output %s -mapper \"%s\" -combiner … -reducer …\n", text, out, mapper)

	began := time.Now()
	job := c.submit(ctx, text, out)
	middle := &watch{to: os.Stdout, seen: make(chan struct{})}
	job.Stdout, job.Stderr = middle, middle
	struck := make(chan error, 1)
	jobCtx, ended := context.WithCancel(ctx)
	go func() { struck <- c.strike(jobCtx, middle.seen) }()
	err = job.Run()
	took := time.Since(began)
	ended()
	if err := errors.Join(<-struck, describe("heddle mr", err)); err != nil {
		return err
	}
	counts, err := readCounts(out)
	if err != nil {
		return err
	}
	say("\nThe job took %.1f s, the loss of a leader included. The ten commonest words:\n", took.Seconds())
	for _, w := range counts.commonest(10) {
		say("%10d  %s", counts[w], w)
	}
	if err := compare(text, counts); err != nil {
		return err
	}
	say("\n%d words, %d different: exactly what a single process counts in the same files.", counts.total(), len(counts))
	return nil
}

func describe(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// submit returns the command that a user would type for the job.
func (c *cluster) submit(ctx context.Context, input, output string) *exec.Cmd {
	return c.mr(ctx,
		"-D", "mapreduce.job.name=words of Go",
		"-inputformat", "CombineTextInputFormat", // it doesn't matter which file has a word
		"-input", "file://"+input, "-output", "file://"+output,
		"-mapper", mapper, "-combiner", reducer, "-reducer", reducer, "-numReduceTasks", "2")
}

// mr returns a command heddle mr on the cluster.
func (c *cluster) mr(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.options.heddle, append([]string{"mr"}, args...)...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+c.Conf())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// watch copies what a job prints, and reports when a third of its maps have ended.
type watch struct {
	to   io.Writer
	seen chan struct{}
	done bool
}

var progress = regexp.MustCompile(`map (\d+)%`)

func (w *watch) Write(b []byte) (int, error) {
	for _, m := range progress.FindAllSubmatch(b, -1) {
		if p, err := strconv.Atoi(string(m[1])); err == nil && p >= 30 && !w.done {
			w.done = true
			close(w.seen)
		}
	}
	return w.to.Write(b)
}

// strike kills the leading ResourceManager when a third of the maps have ended, reports when another one leads, and
// restarts the killed one.
func (c *cluster) strike(ctx context.Context, middle <-chan struct{}) error {
	select {
	case <-middle:
	case <-ctx.Done():
		return errors.New("the job ended before its middle was seen")
	}
	// Complete what has begun, even if the job is quicker.
	ctx = context.WithoutCancel(ctx)
	old, err := c.leader(ctx)
	if err != nil {
		return fmt.Errorf("in the middle of the job: %w", err)
	}
	pid, struck := c.PID(old), time.Now()
	c.Kill(old)
	say("\n*** %s, which leads, is killed with SIGKILL (pid %d) ***", old, pid)
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	a, err := c.job(ctx)
	if err != nil {
		return err
	}
	say("*** %s leads after %.2f s; %s is %s with %d containers ***\n", leader, time.Since(struck).Seconds(), a.ID, a.State, a.Containers)
	return c.Start(old)
}

// gather copies the Go files below a folder, and counts them and their bytes. It leaves out archives and pictures for
// tests, and files that jobs ignore: those whose names begin with _ or a dot (Hadoop: FileInputFormat).
func gather(from, to string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := e.Name()
		if path != from && (strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".")) {
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		bytes += int64(len(raw))
		copied := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(copied), 0o755); err != nil {
			return err
		}
		return os.WriteFile(copied, raw, 0o644)
	})
	if err == nil && files == 0 {
		err = fmt.Errorf("%s has no Go files", from)
	}
	return files, bytes, err
}

// readCounts reads the job's output.
func readCounts(dir string) (counts, error) {
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "_SUCCESS")); err != nil {
		return nil, err
	}
	out := counts{}
	for _, p := range parts {
		raw, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(raw)) {
			word, n, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			k, err := strconv.Atoi(n)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", p, line, err)
			}
			out[word] += k
		}
	}
	return out, nil
}
