package xargs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"heddle/am/pool"
	"heddle/yarn/wire"
)

// scripted is a Runner that does as a function says.
type scripted func(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome

func (f scripted) Run(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome {
	return f(ctx, t, stdout, stderr)
}

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

func parsed(t *testing.T, args ...string) Options {
	t.Helper()
	o, err := Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// play runs xargs with a scripted Runner.
func play(t *testing.T, input string, r scripted, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(t.Context(), parsed(t, args...), r, Streams{In: strings.NewReader(input), Out: &out, Err: &errs})
	return ran{out.String(), errs.String(), code}
}

// late makes later commands of each group of eight end first.
func late(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
	n := t.Number
	fmt.Fprintf(stdout, "begin %d\n", n)
	time.Sleep(time.Duration(8-n%8) * time.Second)
	fmt.Fprintf(stdout, "end %d\n", n)
	return Outcome{}
}

func TestOutputs(t *testing.T) {
	pairs := func(order ...int) string {
		var b strings.Builder
		for _, n := range order {
			fmt.Fprintf(&b, "begin %d\nend %d\n", n, n)
		}
		return b.String()
	}
	for _, test := range []struct{ args, want string }{
		{"-P8 -n1", pairs(7, 6, 5, 4, 3, 2, 1, 0)},
		{"-P8 -n1 -k", pairs(0, 1, 2, 3, 4, 5, 6, 7)},
		{"-P1 -n1", pairs(0, 1, 2, 3, 4, 5, 6, 7)},
		{"-P0 -n1", pairs(7, 6, 5, 4, 3, 2, 1, 0)},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := play(t, lines(8), late, strings.Fields(test.args)...); got.out != test.want || got.code != 0 {
				t.Errorf("%s: %q, %d", test.args, got.out, got.code)
			}
		})
	}
}

// With --line-buffer lines come as they are written, and never in parts.
func TestLinesComeAtOnceAndWhole(t *testing.T) {
	half := make(chan struct{})
	r := func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		if t.Number == 0 {
			io.WriteString(stdout, "first\nhal")
			close(half)
			return Outcome{}
		}
		<-half
		io.WriteString(stdout, "second\n")
		return Outcome{}
	}
	got := play(t, lines(2), r, "-P2", "-n1", "--line-buffer")
	if got.out != "first\nhalsecond\n" && got.out != "first\nsecond\nhal" {
		t.Errorf("%q", got.out)
	}
}

// A command whose turn it is prints as it goes, also what it wrote before its turn.
func TestOrderedOutputComesAsSoonAsItCan(t *testing.T) {
	out := &notifying{wrote: make(chan string)}
	first, second := make(chan struct{}), make(chan struct{})
	r := scripted(func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		if t.Number == 0 {
			io.WriteString(stdout, "a")
			<-first
			return Outcome{}
		}
		io.WriteString(stdout, "b")
		close(first)
		<-second
		io.WriteString(stdout, "c")
		return Outcome{}
	})
	done := make(chan int)
	o := parsed(t, "-k", "-P2", "-n1")
	go func() {
		done <- Run(t.Context(), o, r, Streams{In: strings.NewReader(lines(2)), Out: out, Err: io.Discard})
	}()
	for _, want := range []string{"a", "b", "c"} {
		if got := <-out.wrote; got != want {
			t.Errorf("%q instead of %q", got, want)
		}
		if want == "b" {
			close(second)
		}
	}
	if code := <-done; code != 0 {
		t.Error(code)
	}
}

type notifying struct{ wrote chan string }

func (n *notifying) Write(b []byte) (int, error) {
	n.wrote <- string(b)
	return len(b), nil
}

// A flood of outputs that have to wait is kept in a file, of which nothing stays behind.
func TestFloodWaitsOnDisk(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const size = 3 << 20
	line := strings.Repeat("x", 1023) + "\n"
	all := make(chan struct{})
	var writers sync.WaitGroup
	writers.Add(7)
	r := func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		if t.Number == 0 {
			writers.Wait()
			io.WriteString(stdout, "0\n")
			close(all)
			return Outcome{}
		}
		defer writers.Done()
		for range size / len(line) {
			io.WriteString(stdout, line)
		}
		fmt.Fprintln(stdout, t.Number)
		return Outcome{}
	}
	got := play(t, lines(8), r, "-P8", "-n1", "-k")
	var want strings.Builder
	want.WriteString("0\n")
	for n := 1; n < 8; n++ {
		want.WriteString(strings.Repeat(line, size/len(line)))
		fmt.Fprintln(&want, n)
	}
	if got.out != want.String() {
		t.Errorf("got %d bytes, want %d", len(got.out), want.Len())
	}
	if left, _ := filepath.Glob(os.Getenv("TMPDIR") + "/*"); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// A store keeps no more in memory than it may, and its file doesn't grow with all that passes through it.
func TestStoreIsBounded(t *testing.T) {
	s := &store{dir: t.TempDir(), budget: 256 << 10}
	defer s.close()
	for round := range 10 {
		var spools [20]spool
		for i := range spools {
			spools[i].store = s
			for range 30 {
				if _, err := spools[i].Write(bytes.Repeat([]byte{byte(i)}, 5000)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if most := s.budget + len(spools)*small; s.used > most {
			t.Errorf("%d bytes in memory, at most %d are allowed", s.used, most)
		}
		if most := int64(20 * 150000 * 16); s.end > most {
			t.Errorf("the file has %d bytes after round %d", s.end, round)
		}
		for i := range spools {
			var b bytes.Buffer
			if err := spools[i].drain(&b); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), bytes.Repeat([]byte{byte(i)}, 150000)) {
				t.Fatalf("spool %d came back changed, with %d bytes", i, b.Len())
			}
		}
		if s.used != 0 || s.end != 0 {
			t.Fatalf("%d bytes in memory and %d in the file of nothing", s.used, s.end)
		}
	}
}

func TestExitCodes(t *testing.T) {
	outcome := func(o ...Outcome) scripted {
		return func(_ context.Context, t *Task, _, _ io.Writer) Outcome { return o[min(t.Number, len(o)-1)] }
	}
	for _, test := range []struct {
		r    scripted
		code int
		said string
	}{
		{outcome(Outcome{}), 0, ""},
		{outcome(Outcome{Exit: 1}), 123, ""},
		{outcome(Outcome{}, Outcome{Exit: 255}), 124, "xargs: CMD: exited with status 255; aborting\n"},
		{outcome(Outcome{}, Outcome{Signal: syscall.SIGSEGV}), 125, "xargs: CMD: terminated by signal 11\n"},
		{outcome(Outcome{Exit: 254}, Outcome{Exit: 255}), 124, "xargs: CMD: exited with status 255; aborting\n"},
		{outcome(Outcome{Exit: 254}, Outcome{Signal: syscall.SIGSEGV}), 125, "xargs: CMD: terminated by signal 11\n"},
		{outcome(Outcome{Exit: 7}, Outcome{Err: fmt.Errorf("%w: no containers", ErrNowhere)}), 1, "xargs: commands can't be run any more: no containers\n"},
		{outcome(Outcome{Err: os.ErrPermission}), 126, "xargs: CMD: Permission denied\n"},
		{outcome(Outcome{Err: errors.New("odd")}), 126, "xargs: CMD: odd\n"},
		{outcome(Outcome{Err: os.ErrNotExist}), 127, "xargs: CMD: No such file or directory\n"},
		{outcome(Outcome{}, Outcome{Err: fmt.Errorf("%w: 4 executors have died", ErrLost)}), 123, "xargs: CMD: lost: 4 executors have died\n"},
		{outcome(Outcome{}, Outcome{Signal: syscall.SIGTERM, TimedOut: true}, Outcome{}), 123, "xargs: CMD: ended after 5s\n"},
	} {
		if got := play(t, "a b", test.r, "-n1", "--timeout=5", "CMD"); got.code != test.code || got.err != test.said {
			t.Errorf("exit code %d, %q; want %d, %q", got.code, got.err, test.code, test.said)
		}
	}
}

// When the cluster runs nothing any more, that isn't the command's fault, and the rest of the input isn't tried.
func TestNowhereToRun(t *testing.T) {
	r := scripted(func(context.Context, *Task, io.Writer, io.Writer) Outcome {
		return outcome(&wire.Ended{}, errors.New("5 executors could not be started"))
	})
	var errs bytes.Buffer
	code := Run(t.Context(), parsed(t, "-n1", "--retries=3", "CMD"), r, Streams{In: endless{}, Out: io.Discard, Err: &errs})
	if want := "xargs: commands can't be run any more: 5 executors could not be started\n"; code != exitFault || errs.String() != want {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

// After a reason to stop no command begins, and those that run go on.
func TestStopLetsRunningCommandsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := make(chan struct{})
		r := func(ctx context.Context, t *Task, stdout, _ io.Writer) Outcome {
			if t.Number == 0 {
				<-runs
				return Outcome{Exit: stopAll}
			}
			close(runs)
			time.Sleep(time.Hour)
			fmt.Fprintln(stdout, t.Number, ctx.Err())
			return Outcome{}
		}
		if got := play(t, lines(100), r, "-P2", "-n1"); got.code != 124 || got.out != "1 <nil>\n" {
			t.Errorf("exit code %d, output %q", got.code, got.out)
		}
	})
}

func TestRetries(t *testing.T) {
	tries := map[int]int{}
	r := func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		tries[t.Number]++
		fmt.Fprintln(stdout, t.Number, "try", tries[t.Number])
		if tries[t.Number] <= t.Number {
			return Outcome{Exit: 1}
		}
		return Outcome{}
	}
	o := parsed(t, "-n1", "--retries=3", "-P2")
	var out bytes.Buffer
	// One at a time, though -P2 lets outputs wait until a command has ended.
	one := make(chan struct{}, 1)
	serial := scripted(func(ctx context.Context, t *Task, stdout, stderr io.Writer) Outcome {
		one <- struct{}{}
		defer func() { <-one }()
		return r(ctx, t, stdout, stderr)
	})
	code := Run(t.Context(), o, serial, Streams{In: strings.NewReader(lines(4)), Out: &out, Err: io.Discard})
	if code != 123 {
		t.Errorf("exit code %d: the last command never succeeds", code)
	}
	for n, want := range map[int]int{0: 1, 1: 2, 2: 3, 3: 3} {
		if tries[n] != want {
			t.Errorf("command %d had %d tries, want %d", n, tries[n], want)
		}
		if line := fmt.Sprintf("%d try %d\n", n, want); !strings.Contains(out.String(), line) {
			t.Errorf("no %q in %q", line, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n"); n != 4 {
		t.Errorf("outputs of failed tries are printed: %q", out.String())
	}
}

// Outputs of failed tries aren't printed, though the command's turn to print has come.
func TestOnlyTheLastTryIsPrinted(t *testing.T) {
	for _, how := range []string{"-P1", "-kP2", "-kP1"} {
		var tries atomic.Int32
		r := scripted(func(_ context.Context, t *Task, stdout, stderr io.Writer) Outcome {
			try := tries.Add(1)
			fmt.Fprintln(stdout, "try", try)
			fmt.Fprintln(stderr, "fault", try)
			return Outcome{Exit: 1}
		})
		var out, errs bytes.Buffer
		Run(t.Context(), parsed(t, how, "--retries=3"), r, Streams{In: strings.NewReader("a"), Out: &out, Err: &errs})
		if out.String() != "try 3\n" || errs.String() != "fault 3\n" {
			t.Errorf("%s: %q, %q", how, out.String(), errs.String())
		}
	}
}

// A command that waits for the turn of one that never begins doesn't keep xargs from ending.
func TestNobodyWaitsForATurnAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := parsed(t, "-k", "-P0", "-n1")
		x := &run{o: o, read: make(chan struct{}), printer: newPrinter(&o, io.Discard, io.Discard, nil)}
		x.runner = scripted(func(context.Context, *Task, io.Writer, io.Writer) Outcome { return Outcome{Exit: stopAll} })
		b, err := newBatcher(&o, strings.NewReader("a"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var waits sync.WaitGroup
		waits.Go(func() { x.printer.await(3*ahead, ahead) })
		synctest.Wait()
		x.work(t.Context(), b, nil)
		waits.Wait()
	})
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// When nobody reads the output any more, commands are ended, and the rest of the input isn't read.
func TestClosedOutputEndsAll(t *testing.T) {
	r := scripted(func(ctx context.Context, t *Task, stdout, _ io.Writer) Outcome {
		if t.Number == 3 {
			io.WriteString(stdout, "x")
			return Outcome{}
		}
		<-ctx.Done()
		return Outcome{Err: ctx.Err()}
	})
	code := Run(t.Context(), parsed(t, "-n1", "-P8"), r, Streams{In: endless{}, Out: broken{}, Err: io.Discard})
	if code != exitPipe {
		t.Errorf("exit code %d", code)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, "item\n"), nil }

// An interrupt ends commands that run, and no further ones begin, however much input there is.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := scripted(func(ctx context.Context, t *Task, _, _ io.Writer) Outcome {
		if t.Number == 20 {
			cancel()
		}
		if t.Number >= 5 {
			<-ctx.Done()
		}
		return Outcome{Err: ctx.Err()}
	})
	var errs bytes.Buffer
	code := Run(ctx, parsed(t, "-n1", "-P30", "-k"), r, Streams{In: endless{}, Out: io.Discard, Err: &errs})
	if code != exitBreak || errs.Len() > 0 {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
}

func TestSlots(t *testing.T) {
	var mu sync.Mutex
	used := map[int]bool{}
	r := func(_ context.Context, t *Task, _, _ io.Writer) Outcome {
		mu.Lock()
		if used[t.Slot] || t.Slot >= 4 {
			defer func() { panic(fmt.Sprintf("slot %d", t.Slot)) }()
		}
		used[t.Slot] = true
		mu.Unlock()
		mu.Lock()
		used[t.Slot] = false
		mu.Unlock()
		return Outcome{}
	}
	if got := play(t, lines(500), r, "-n1", "-P4", "--process-slot-var=S"); got.code != 0 {
		t.Error(got)
	}
}

// A time below what executors know is a time all the same.
func TestShortTimeoutsOnACluster(t *testing.T) {
	var got uint64
	r := &Remote{Pool: submitter(func(task *pool.Task) {
		got = task.TimeoutMS
		task.Done(wire.Ended{}, nil)
	})}
	r.Run(t.Context(), &Task{Args: []string{"CMD"}, Timeout: parsed(t, "--timeout=0.0001").Timeout}, io.Discard, io.Discard)
	if got != 1 {
		t.Error(got)
	}
}

type submitter func(*pool.Task)

func (f submitter) Submit(tasks ...*pool.Task) {
	for _, t := range tasks {
		f(t)
	}
}

func (submitter) Cancel(*pool.Task) {}

// Commands halt the others when as many have failed, succeeded or ended as somebody says.
func TestHalt(t *testing.T) {
	for _, test := range []struct {
		halt string
		out  string // of commands that have begun, and of those that have ended by themselves
		code int
	}{
		{"never", "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\nend 2\nbegin 3\nend 3\n", 123},
		{"soon,fail=1", "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\nend 2\n", 123},
		{"now,fail=1", "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\n", 123},
		{"now,fail=2", "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\nend 2\nbegin 3\nend 3\n", 123},
		{"now,success=1", "begin 0\nend 0\nbegin 1\n", 0},
		{"soon,done=2", "begin 0\nend 0\nbegin 1\nend 1\nbegin 2\nend 2\n", 123},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := func(ctx context.Context, task *Task, stdout, _ io.Writer) Outcome {
				fmt.Fprintln(stdout, "begin", task.Number)
				select {
				case <-time.After(time.Duration(task.Number+10) * time.Second):
				case <-ctx.Done():
					return Outcome{Err: context.Cause(ctx)}
				}
				fmt.Fprintln(stdout, "end", task.Number)
				return Outcome{Exit: map[int]int{1: 7}[task.Number]}
			}
			if got := play(t, lines(4), r, "-n1", "-P2", "-k", "--halt="+test.halt, "true"); got.out != test.out || got.code != test.code || got.err != "" {
				t.Errorf("%s: %v", test.halt, got)
			}
		})
	}
	for _, bad := range []string{"", "now", "now,fail", "now,fail=0", "later,fail=1", "soon,cry=1", "now,fail=10%"} {
		if _, err := Parse([]string{"--halt", bad, "true"}); err == nil || !strings.Contains(err.Error(), "--halt") {
			t.Errorf("--halt %s: %v", bad, err)
		}
	}
}

// More or fewer commands run at a time while somebody says so, but one at least.
func TestMoreOrFewerCommandsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		running, most := 0, 0
		var mu sync.Mutex
		r := scripted(func(context.Context, *Task, io.Writer, io.Writer) Outcome {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return Outcome{}
		})
		by, seen := make(chan int), []int{}
		go func() {
			for _, n := range []int{1, 1, 1, -1, -1, -1, -1, -1} {
				time.Sleep(10 * time.Second)
				mu.Lock()
				seen = append(seen, most)
				mu.Unlock()
				by <- n
				time.Sleep(1500 * time.Millisecond) // those that run end
				mu.Lock()
				most = 0
				mu.Unlock()
			}
		}()
		code := Run(t.Context(), parsed(t, "-P2", "-n1", "true"), r, Streams{In: strings.NewReader(lines(290)), Out: io.Discard, Err: io.Discard, Procs: by})
		if want := []int{2, 3, 4, 5, 4, 3, 2, 1}; code != 0 || !slices.Equal(seen, want) || most != 1 {
			t.Errorf("exit code %d; %v commands at a time, not %v; %d in the end", code, seen, want, most)
		}
	})
}

func TestBracesStandForTheItems(t *testing.T) {
	r := func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		fmt.Fprintf(stdout, "%q\n", t.Args)
		return Outcome{}
	}
	for _, test := range []struct{ args, input, want string }{
		{"-n1 CMD {} end", "a b", `["CMD" "a" "end"]` + "\n" + `["CMD" "b" "end"]` + "\n"},
		{"CMD {} {} x{}", "a b", `["CMD" "a" "b" "a" "b" "x{}"]` + "\n"},
		{"CMD {} end", "", `["CMD" "end"]` + "\n"},
		{"-s 13 CMD {} {}", "a b c d e", `["CMD" "a" "b" "a" "b"]` + "\n" + `["CMD" "c" "d" "c" "d"]` + "\n" + `["CMD" "e" "e"]` + "\n"},
	} {
		if got := play(t, test.input, r, strings.Fields(test.args)...); got.out != test.want {
			t.Errorf("%s: %s, want %s", test.args, got.out, test.want)
		}
	}
}

func TestBar(t *testing.T) {
	at := time.Unix(1000, 0)
	var out bytes.Buffer
	b := &bar{w: &out, width: 100, now: func() time.Time { return at }}
	b.mu, b.began, b.lastAt = &sync.Mutex{}, at, at
	b.count(500, false)
	for range 100 {
		b.done(false)
	}
	at = at.Add(2 * time.Second)
	b.show()
	b.count(1000, true)
	b.done(true)
	b.wipe()
	b.show()
	want := "\r100 of 500 or more, 50.0/s\x1b[K" + "\r\x1b[K" + "\r[###...........................]  10% 101 of 1000, 50.0/s, 0:18 left, 1 failed\x1b[K"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out.String(), want)
	}
	b.width = 20
	if text := b.text(at); len(text) >= 20 {
		t.Errorf("%q doesn't fit", text)
	}
	if got := clock(3725 * time.Second); got != "1:02:05" {
		t.Error(got)
	}
}

func FuzzItems(f *testing.F) {
	f.Add([]byte("a 'b c'\nE\\ d\n\n"), uint8(0))
	f.Add([]byte("a\x00b"), uint8(1))
	f.Add([]byte("x \ny E z"), uint8(6))
	f.Fuzz(func(t *testing.T, input []byte, bits uint8) {
		o := Options{Command: []string{"c", "{}"}, MaxChars: 64, Procs: 1, Tries: 1, Delimited: bits&1 > 0, MaxArgs: int(bits >> 5)}
		if bits&2 > 0 {
			o.EOF = "E"
		}
		if bits&4 > 0 {
			o.Replace = "{}"
		}
		if bits&8 > 0 {
			o.MaxLines, o.MaxArgs = 2, 0
		}
		b, err := newBatcher(&o, bytes.NewReader(input), func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		for range len(input) + 2 {
			args, err := b.command()
			if err != nil {
				return
			}
			size := 0
			for _, a := range args {
				size += len(a) + 1
				if strings.Contains(a, "\x00") {
					t.Errorf("%q has a NUL", a)
				}
			}
			if size > o.MaxChars || o.MaxArgs > 0 && len(args) > 1+o.MaxArgs {
				t.Errorf("%q is too long", args)
			}
		}
		t.Error("more commands than bytes")
	})
}

// Words are options or the command, and none is lost or made up. The numbers are in their bounds.
func FuzzParse(f *testing.F) {
	for _, line := range []string{
		"-0rn1\x00echo", "-I{}\x00sh\x00-c\x00{}", "--max-lines=3\x00-P\x004", "-d\\x0a\x00--\x00-x", "-L\x00", "--timeout=1e300", "-n\x00-1", "--ma=1",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, "\x00")
		o, err := Parse(words)
		if err != nil {
			return
		}
		if o.MaxArgs < 0 || o.MaxLines < 0 || o.Procs < 0 || o.Timeout < 0 || o.Tries < 1 || len(o.Command) == 0 {
			t.Errorf("%q: %+v", words, o)
		}
		if tail := words[max(0, len(words)-len(o.Command)):]; !slices.Equal(o.Command, tail) && !slices.Equal(o.Command, []string{"echo"}) {
			t.Errorf("%q: the command is %q", words, o.Command)
		}
	})
}
