package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/hdfsadapter"
	"heddle/yarn/records"
)

// task is an attempt at a task as it runs in a worker.
type task struct {
	job.Assignment
	spec   *job.Spec
	app    records.ApplicationID
	files  *hdfsadapter.FS
	dir    string // the commands' work folder
	temp   func(name string) string
	log    *stderr
	memory *lines.Memory
	sealed bool         // sums are in the file with the output
	stats  job.Counters // only changed by the task itself

	gauge  atomic.Pointer[gauge] // of what runs now
	told   atomic.Uint64         // bits of the latest fraction
	active atomic.Int64          // when something moved, ns since 1970

	shuffles atomic.Bool // a reduce that doesn't have all map outputs yet
	feeding  *feeding    // of a map whose split may become less; nil: it doesn't
}

func (t *task) touch() { t.active.Store(time.Now().UnixNano()) }

// fraction returns how far the task is, from 0 to 1. Input that its command has read is a sign of life, too.
func (t *task) fraction() float64 {
	f := t.gauge.Load().fraction()
	f = min(1, f/t.feeding.share())
	if t.told.Swap(math.Float64bits(f)) != math.Float64bits(f) {
		t.touch()
	}
	return f
}

func (t *task) command(role, line string, pieces []input.Piece) *command {
	return &command{role: role, line: line, dir: t.dir, env: t.environment(pieces), log: t.log}
}

// environment returns what commands learn: as in Hadoop Streaming settings with dots as underscores, and about the task. pieces
// is what the command reads: a name is told only if it's that of all the input.
func (t *task) environment(pieces []input.Piece) []string {
	var env []string
	set := func(name, value string) {
		env = append(env, strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
				return r
			}
			return '_'
		}, name)+"="+value)
	}
	for k, v := range t.spec.Job.Settings {
		set(k, v)
	}
	name := t.ID.Name(t.app)
	set("mapreduce.job.id", fmt.Sprintf("job_%d_%04d", t.app.ClusterTimestamp, t.app.ID))
	set("mapreduce.job.name", t.spec.Job.Name)
	set("mapreduce.job.maps", fmt.Sprint(t.spec.Maps))
	set("mapreduce.job.reduces", fmt.Sprint(t.spec.Job.Reduces))
	set("mapreduce.job.output.dir", t.spec.Output)
	set("mapreduce.task.attempt.id", name)
	set("mapreduce.task.id", "task"+strings.TrimPrefix(name[:strings.LastIndexByte(name, '_')], "attempt"))
	set("mapreduce.task.partition", fmt.Sprint(t.ID.Index))
	set("mapreduce.task.ismap", fmt.Sprint(t.ID.Kind == job.Map))
	set("user.name", t.spec.User)
	if len(pieces) == 1 {
		set("mapreduce.map.input.file", pieces[0].Path)
		set("mapreduce.map.input.start", fmt.Sprint(pieces[0].Offset))
		set("mapreduce.map.input.length", fmt.Sprint(pieces[0].Length))
	}
	for k, v := range t.spec.Job.Env {
		env = append(env, k+"="+v)
	}
	return env
}

// runMap runs a map task. It returns its output for reduce tasks, or the name of its part of the job's output.
func (t *task) runMap(ctx context.Context) (lines.File, string, error) {
	in := &lines.Counter{}
	defer func() {
		t.stats.Add(job.TaskGroup, job.MapInputRecords, in.Lines)
		t.stats.Add(job.TaskGroup, job.MapInputBytes, in.Bytes)
	}()
	if t.Output != "" {
		out, err := t.write(ctx, writerTo(func(w io.Writer) error {
			return t.mapAll(ctx, in, func(r io.Reader) error {
				one := &lines.Counter{W: w}
				if err := copyOf(r, t.touch)(one); err != nil {
					return err
				}
				return one.Finish() // another mapper may follow
			})
		}), job.MapOutputRecords)
		return lines.File{}, out, err
	}
	s := &lines.Sorter{
		Partitions: t.spec.Job.Reduces, Key: t.spec.KeyOf, Limit: int64(t.spec.SortMB) << 20, Factor: t.spec.Factor,
		File: t.temp, Alive: t.touch, Memory: t.memory, Sealed: t.sealed,
	}
	if t.spec.Job.Combiner != "" {
		s.Combine = t.command("combiner", t.spec.Job.Combiner, t.Split.Pieces).run
	}
	var n, bytes int64
	err := t.mapAll(ctx, in, func(r io.Reader) error {
		lines := lines.NewReader(r, lines.Chunk)
		for {
			line, err := lines.Next()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if n++; n%1024 == 0 {
				t.touch()
			}
			bytes += int64(len(line))
			if err := s.Add(ctx, line); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return lines.File{}, "", err
	}
	t.stats.Add(job.TaskGroup, job.MapOutputRecords, n)
	t.stats.Add(job.TaskGroup, job.MapOutputBytes, bytes)
	f, err := s.Finish(ctx)
	t.stats.Add(job.TaskGroup, job.SpilledRecords, s.Counts.Spilled)
	if s.Counts.CombineInput > 0 {
		t.stats.Add(job.TaskGroup, job.CombineInputRecords, s.Counts.CombineInput)
		t.stats.Add(job.TaskGroup, job.CombineOutputRecords, s.Counts.CombineOutput)
	}
	return f, "", err
}

// mapAll runs the mapper over the split. Each file has a mapper of its own, as in Hadoop Streaming: it may depend on where a
// file begins, and on its name. Only a user who has said that it doesn't gets one for all of them.
func (t *task) mapAll(ctx context.Context, in *lines.Counter, take func(io.Reader) error) error {
	var before int64
	run := func(first, last int) error {
		pieces := t.Split.Pieces[first : last+1]
		c := t.command("mapper", t.spec.Job.Mapper, pieces)
		c.gauge = &gauge{}
		if t.feeding != nil {
			c.atOnce = t.feeding.atOnce()
		}
		for _, p := range pieces {
			c.gauge.total += p.Length
		}
		whole := float64(max(t.Split.Length, 1))
		c.gauge.from, c.gauge.to = float64(before)/whole, float64(before+c.gauge.total)/whole
		before += c.gauge.total
		t.gauge.Store(c.gauge)
		return c.run(ctx, func(w io.Writer) error {
			in.W = &measured{w, t, c.gauge}
			if t.feeding != nil {
				return t.feeding.feed(ctx, t.files, in, first, last, c.gauge)
			}
			return t.feed(ctx, in, pieces, c.gauge)
		}, take)
	}
	if t.spec.Job.Packed {
		return run(0, len(t.Split.Pieces)-1)
	}
	for i, p := range t.Split.Pieces {
		if t.feeding.leaves(i) {
			break
		}
		if err := run(i, i); err != nil {
			return fmt.Errorf("%s: %w", p.Path, err)
		}
	}
	return nil
}

// feed writes the lines of some pieces.
func (t *task) feed(ctx context.Context, w io.Writer, pieces []input.Piece, g *gauge) error {
	buf := make([]byte, lines.Chunk)
	for i := range pieces {
		if err := pieces[i].Feed(ctx, t.files, w, buf, func(n int) { g.stored.Add(int64(n)) }); err != nil {
			return err
		}
	}
	return nil
}

// measured counts what is made for a command.
type measured struct {
	w     io.Writer
	t     *task
	gauge *gauge
}

func (m *measured) Write(b []byte) (int, error) {
	m.gauge.made.Add(int64(len(b))) // before the command can read it
	m.t.touch()
	return m.w.Write(b)
}

// write writes the task's part of the job's output, and counts its lines.
func (t *task) write(ctx context.Context, from io.WriterTo, counter string) (name string, err error) {
	name = t.Part()
	f, err := t.files.Create(ctx, name, hdfsadapter.CreateOptions{Overwrite: true})
	if err != nil {
		return "", err
	}
	buffer := bufio.NewWriterSize(f, lines.Chunk)
	c := &lines.Counter{W: buffer}
	_, err = from.WriteTo(struct{ io.Writer }{c})
	if err == nil {
		err = c.Finish()
	}
	if err == nil {
		err = buffer.Flush()
	}
	if e := f.Close(); err == nil && e != nil {
		err = fmt.Errorf("%s: %w", name, e)
	}
	t.stats.Add(job.TaskGroup, counter, c.Lines)
	t.stats.Add(job.FileGroup, job.BytesWritten, c.Bytes)
	return name, err
}

// writerTo makes a function a source.
type writerTo func(io.Writer) error

func (f writerTo) WriteTo(w io.Writer) (int64, error) { return 0, f(w) }

// copyOf returns a source that has all of a reader.
func copyOf(r io.Reader, touch func()) writerTo {
	return func(w io.Writer) error {
		buf := make([]byte, lines.Chunk)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				touch()
				if _, err := w.Write(buf[:n]); err != nil {
					return err
				}
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	}
}

// ofShuffle is all of a shuffle's progress.
const ofShuffle = 1 << 20

// runReduce runs a reduce task and returns the name of its part of the job's output.
func (t *task) runReduce(ctx context.Context, s *shuffle) (string, error) {
	s.counters = t.stats
	s.file = t.temp
	s.alive = t.touch
	fetching := &gauge{to: 1. / 3, total: ofShuffle}
	fetching.made.Store(1)
	fetching.fed.Store(1)
	t.gauge.Store(fetching)
	s.progress = func(done, of int) {
		fetching.stored.Store(int64(done) * ofShuffle / int64(of))
		t.touch()
	}
	t.shuffles.Store(true)
	if err := s.run(ctx); err != nil {
		return "", err
	}
	t.shuffles.Store(false)
	g := &gauge{from: 1. / 3, to: 1, total: s.size()}
	t.gauge.Store(g)
	in := &lines.Counter{}
	feed := func(w io.Writer) error {
		in.W = &merged{measured{w, t, g}}
		return s.merge(ctx, in)
	}
	var out string
	var err error
	if t.spec.Job.Reducer == "" {
		out, err = t.write(ctx, writerTo(feed), job.ReduceOutputRecords)
	} else {
		c := t.command("reducer", t.spec.Job.Reducer, nil)
		c.gauge = g
		err = c.run(ctx, feed, func(r io.Reader) (err error) {
			out, err = t.write(ctx, copyOf(r, t.touch), job.ReduceOutputRecords)
			return err
		})
	}
	t.stats.Add(job.TaskGroup, job.ReduceInputRecords, in.Lines)
	return out, err
}

// merged counts what is read of the shuffle's output: it is all that is made for the reducer.
type merged struct{ measured }

func (m *merged) Write(b []byte) (int, error) {
	m.gauge.stored.Add(int64(len(b)))
	return m.measured.Write(b)
}

// workFolder makes the folder in which the task's commands run: an own one, in which the job's files are.
func workFolder(container, name string, resources []job.Resource) (string, error) {
	dir := filepath.Join(container, "work", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, r := range resources {
		if strings.HasPrefix(r.Name, ".") {
			continue
		}
		if err := os.Symlink(filepath.Join(container, r.Name), filepath.Join(dir, r.Name)); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
	}
	return dir, nil
}
