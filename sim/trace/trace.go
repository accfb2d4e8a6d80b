package trace

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/sim"
	"heddle/yarn/records"
)

// Options control how a trace becomes jobs.
type Options struct {
	Format string           // one of Formats; "" means that the file's name and, for JSON, its content tell
	Slot   records.Resource // resource of a task for which the trace has none
	Queue  string           // queue of jobs for which the trace has none
	User   string           // user of jobs for which the trace has none
	AM     records.Resource // resource of each ApplicationMaster; zero: it runs outside of the cluster
	// Whole truncates durations to whole seconds, as the simulators of the papers with Hawk traces do.
	Whole bool
	// BlockMB is the input of a map of a SWIM trace, and a reduce's share of the shuffle, in MB. RateMB is a task's
	// speed, in MB a second.
	BlockMB, RateMB float64
}

// Formats are the values of Options.Format.
var Formats = []string{"hawk", "swim", "sls", "synth", "rumen"}

// gzipped begins each file that gzip has compressed.
const gzipped = "\x1f\x8b"

// Open reads a file. It returns jobs in the order of their submission; times count from the first one.
func Open(path string, o Options) ([]sim.Job, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: name a file", path)
	}
	in := bufio.NewReaderSize(f, 1<<20)
	var r io.Reader = in
	if begin, _ := in.Peek(len(gzipped)); string(begin) == gzipped { // whatever the name says
		if r, err = unpacked(in); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	name := strings.TrimSuffix(path, ".gz")
	var text []byte // of JSON whose format its content tells
	if o.Format == "" {
		switch {
		case strings.HasSuffix(name, ".tr"):
			o.Format = "hawk"
		case strings.HasSuffix(name, ".tsv"):
			o.Format = "swim"
		case strings.HasSuffix(name, ".json"):
			if text, err = readText(r, mostText); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			o.Format = formatOf(text)
		default:
			return nil, fmt.Errorf("%s: the name doesn't show the format; give one of %s", path, strings.Join(Formats, ", "))
		}
	}
	var jobs []sim.Job
	if text == nil {
		jobs, err = Read(r, o)
	} else {
		jobs, err = readJSON(text, o)
	}
	if err == nil && len(jobs) == 0 {
		err = fmt.Errorf("it has no jobs of the format %s (--format names another one)", o.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return jobs, nil
}

// Read reads a trace of the format that the options name.
func Read(r io.Reader, o Options) (jobs []sim.Job, err error) {
	switch o.Format {
	case "hawk":
		jobs, err = readHawk(r, o)
	case "swim":
		jobs, err = readSWIM(r, o)
	case "sls", "synth", "rumen":
		text, err := readText(r, mostText)
		if err != nil {
			return nil, err
		}
		return readJSON(text, o)
	default:
		return nil, fmt.Errorf("%q is not a format of traces; use one of %s", o.Format, strings.Join(Formats, ", "))
	}
	if err != nil {
		return nil, err
	}
	return bySubmission(jobs), nil
}

// readJSON reads a trace of a format with JSON objects.
func readJSON(text []byte, o Options) (jobs []sim.Job, err error) {
	switch o.Format {
	case "synth":
		jobs, err = objects(text, func(g *synthTrace, jobs []sim.Job) ([]sim.Job, error) { return g.appendTo(jobs, o) })
	case "rumen":
		jobs, err = objects(text, func(g *rumenJob, jobs []sim.Job) ([]sim.Job, error) { return g.appendTo(jobs, o) })
	default:
		jobs, err = objects(text, func(g *slsJob, jobs []sim.Job) ([]sim.Job, error) { return g.appendTo(jobs, o) })
	}
	if err != nil {
		return nil, err
	}
	return bySubmission(jobs), nil
}

// bySubmission sorts jobs by submission. Times count from the first one.
func bySubmission(jobs []sim.Job) []sim.Job {
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) })
	if len(jobs) > 0 {
		first := jobs[0].Submit
		for i := range jobs {
			jobs[i].Submit -= first
		}
	}
	return jobs
}

// name gives a job the names that its trace doesn't: its own after its number, the queue's and the user's.
func (o *Options) name(j *sim.Job, number int) {
	if j.Name == "" {
		j.Name = fmt.Sprintf("job%d", number+1)
	}
	if j.Queue == "" {
		j.Queue = o.Queue
	}
	if j.User == "" {
		j.User = o.User
	}
}

// longest is the longest accepted time. It keeps sums of times from overflowing.
const longest = 100 * 365 * 24 * time.Hour

// seconds converts a number of seconds into a time.
func seconds(s float64) (sim.Time, error) {
	if !(s >= 0 && s <= longest.Seconds()) {
		return 0, fmt.Errorf("%g s is not between 0 and 100 years", s)
	}
	return sim.Time(s * float64(time.Second)), nil
}

// number reads a number.
func number(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // what is too large is infinite, and refused for that
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return x, nil
}

// unmarked reads what comes behind the mark of the order of bytes that some editors put in front of a text.
func unmarked(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, 1<<16)
	if begin, _ := in.Peek(len(mark)); string(begin) == mark {
		_, _ = in.Discard(len(mark)) // it was read
	}
	return in
}

const mark = "\ufeff"

// packed is what gzip has compressed.
type packed struct{ *gzip.Reader }

func unpacked(r io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(r)
	return packed{z}, damaged(err)
}

func (p packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	return n, damaged(err)
}

// damaged says that the compressed bytes are at fault, and no line of the trace.
func damaged(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("the compressed file is cut off or damaged, so copy it again: %w", err)
}

// faulty remembers why a reader failed. A scanner gives the part of a line that it has read first.
type faulty struct {
	io.Reader
	err error
}

func (f *faulty) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// maxTasks bounds the tasks of one job.
const maxTasks = 1_000_000

// lines calls f with each line that isn't empty. It adds the line's number to f's error.
func lines(r io.Reader, f func(line string) error) error {
	from := &faulty{Reader: unmarked(r)}
	in := bufio.NewScanner(from)
	in.Buffer(make([]byte, 1<<20), 1<<30)
	n := 1
	for ; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("line %d: %w", n, cmp.Or(from.err, err))
		}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("line %d: %w", n, err)
	}
	return nil
}
