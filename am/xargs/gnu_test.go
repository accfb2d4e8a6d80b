package xargs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	notify "os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"heddle/am/process"
	"heddle/internal/needs"
	outputs "heddle/internal/output"
)

// ran is what a run has printed, and its exit code.
type ran struct {
	out, err string
	code     int
}

func (r ran) String() string {
	return fmt.Sprintf("%.300q, %.300q, exit code %d", r.out, r.err, r.code)
}

// ours runs our xargs on this machine.
func ours(t *testing.T, args []string, input string) ran {
	t.Helper()
	o, err := Parse(args)
	if err != nil {
		return ran{err: "xargs: " + err.Error() + "\n", code: exitFault}
	}
	processes := process.New()
	defer processes.Close()
	var out, errs bytes.Buffer
	code := Run(t.Context(), o, &Local{Processes: processes}, Streams{In: strings.NewReader(input), Out: &out, Err: &errs})
	return ran{out.String(), errs.String(), code}
}

// gnus runs the program of GNU.
func gnus(t *testing.T, args []string, input string) ran {
	t.Helper()
	c := exec.Command(needs.Program(t, "xargs"), args...)
	c.Stdin = strings.NewReader(input)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(errs.String()) {
		line = strings.Replace(line, c.Path+": ", "xargs: ", 1)
		if line != "\n" && !strings.HasPrefix(line, "Try '") {
			said = append(said, line)
		}
	}
	return ran{out.String(), strings.Join(said, ""), c.ProcessState.ExitCode()}
}

// Items, command lines, outputs, messages and exit codes are those of GNU xargs.
func TestBehavesAsGNUXargs(t *testing.T) {
	locked := filepath.Join(t.TempDir(), "locked")
	if err := os.WriteFile(locked, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("echo without a first line: $*\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	numbers := strings.Repeat("0123456789 ", 30000)
	for _, test := range []struct {
		input, args string // arguments are separated by blanks, _ stands for a blank and ~ for an empty one
	}{
		{"", ""},
		{"", "-r"},
		{"a b\nc", ""},
		{"a b\nc", "echo x y"},
		{"a b c d e", "-n2"},
		{"a b c d e", "-n 2 -P 1 -t echo it's ~ a_b $x {a}"},
		{"a 'b c' \"d 'e\" f\\ g \\\\ h", "-n1"},
		{"a \"\" b\n''\n", "-n1 echo x"},
		{"a 'b\nc'", "-n1"},
		{"a b 'c", "-n1"},
		{"a \\\nb", "-n1"},
		{"a \nb\n\nc\n  d\n", "-L1 echo"},
		{"a b\nc d\ne\n", "-L2 echo"},
		{"a b\nc d\ne\n", "-l echo"},
		{" a  b \n\n'c d'\ne\n", "-I{} echo [{}] {}{}"},
		{"a\nb\n", "-i echo {}"},
		{"a\nb\n", "-iX echo X"},
		{"a\nb\n", "-n2 -I{} -n1 echo {}"},
		{"a b\nc\n", "-I{} -n2 echo x"},
		{"a b\nc\n", "-L1 -n1 echo"},
		{"\na\n\nb", "-d \\n -n1 echo"},
		{"a'\\b,c\n,,", "-d, -n1 echo"},
		{"a\tb", "-d \\t -n1 echo"},
		{"aAb", "-d \\x41 -n1 echo"},
		{"aAb", "-d \\101 -n1 echo"},
		{"a b\x00\x00c\n\x00", "-0 -n1 echo"},
		{"a b\x00c", "-0 -I{} echo <{}>"},
		{"a b\nEND\nc", "-E END"},
		{"a END b", "-E END"},
		{"a\nEND b", "-eEND"},
		{"a\x00b c", "-n1 echo"},
		{"a\x00b 'c", "-n1 echo"},
		{"\xff\xfe \x80\n", "-n1 echo"},
		{"a b c d e", "-s 9 echo"},
		{"a b c d e", "-x -n4 -s 9 echo"},
		{"a b c d e", "-x -s 9 echo"},
		{"a bbbbbbbbb c", "-s 9 echo"},
		{"a\nb\n", "-s 9 -I{} echo {}{}{}"},
		{"aaa\n", "-s 10 -I{} echo {}{}{}"},
		{"aaa\n", "-s 10 -I{} echo {} {} {}"},
		{"a", "-s 4 echo"},
		{"a", "-0 -E x -s 4 echo"},
		{numbers, ""},
		{numbers[:9000], "-s 1000"},
		{"a b c", "-n1 sh -c exit_3"},
		{"0 255 0", "-n1 sh -c echo_$0;exit_$0"},
		{"a b", "-n1 sh -c kill_$$"},
		{"a b", "-n1 sh -c kill_-9_$$"},
		{"a b", "-n1 no-such-program"},
		{"a b", "-n1 /no/such/program"},
		{"a b", "-n1 " + locked},
		{"a b", "-n1 " + script},
		{"a b", "-I{} {} {}"},
		{"a b", "-n0"},
		{"a b", "-nx"},
		{"a b", "-P -1"},
		{"a b", "-n"},
		{"a b", "-q"},
		{"a b", "--no-such"},
		{"a b", "--null=1"},
		{"a b", "--max-args"},
		{"a b\nc\n", "--max-lines echo"},
		{"a b\nc\n", "--max-lines=2 echo"},
		{"'a\tb' \\\x01 é \xff\xc3x 'it\"'s'\v'\\\\", "-t -n1 true"},
		{"'a\rb'\"'\"c", "-t -n1 true"},
		{"a b", "--max-args 1 --verb -- echo -n"},
		{"a b", "--max-args=1 --arg-file=/dev/null echo"},
		{"a b", "--process-slot-var=S sh -c echo_$S"},
		{"a b", "--process-slot-var=S=T echo"},
		{"1 255", "-n1 sh -c exit_$0"},
		{"1 9", "-n1 sh -c [_$0_-eq_9_]&&kill_-9_$$||exit_1"},
		{"1 255 2", "-n1 sh -c exit_$0"},
		{"255 1", "-n1 sh -c exit_$0"},
		{"3 9 0", "-n1 sh -c [_$0_=_9_]_&&_kill_-9_$$;_exit_$0"},
		{"a 'b", "-n1 false"},
		{"a bbbbbbbbbb c", "-n1 -s 12 false"},
		{"a b", "-n 3_"},
		{"a b", "-n _2"},
		{"a b", "-L ~"},
		{"a b", "-l0"},
		{"a b", "-lx"},
		{"a b\nc", "-n1 -l"},
		{"a b\nc", "-n1 -L2 -n2 -I{} -L1 echo x"},
		{"a b\nc", "-n2 -i -l2 echo x"},
		{"a b\nc", "-l -L2 -n1"},
		{"a\nE\nb", "-E E -0"},
		{"a\nE\nb", "-d, -e"},
		{"", "--no"},
		{"a b", "--r echo {}"},
		{"a b", "--p=S sh -c echo_$S"},
		{"a b", "--v"},
		{"a b", "/etc/passwd/x"},
		{"a b", "/"},
		{strings.Repeat("a", 140000), "-s 1000000 echo"},
		{"x\n" + strings.Repeat("a", 140000) + "\ny", "-n1 -s 1000000 echo"},
	} {
		var args []string
		for _, a := range strings.Fields(test.args) {
			args = append(args, strings.NewReplacer("_", " ", "~", "").Replace(a))
		}
		if slices.Contains(args, "--arg-file=/dev/null") {
			test.input = ""
		}
		if want, got := gnus(t, args, test.input), ours(t, args, test.input); got != want {
			t.Errorf("%.40q | xargs %s:\n%v\nGNU's: %v", test.input, test.args, got, want)
		}
	}
}

// Whatever the input is, commands get the arguments that GNU xargs gives them.
func TestRandomInputsAsGNUXargs(t *testing.T) {
	seed := rand.Uint64()
	draw := rand.New(rand.NewPCG(seed, 1))
	for range 30 {
		n := draw.IntN(40)
		var input strings.Builder
		for range n {
			input.WriteByte("aab E\t\n\n\\\"'\v\xc3\xa9"[draw.IntN(14)])
		}
		args := [][]string{{}, {"-n1"}, {"-n3"}, {"-L1"}, {"-L2"}, {"-d", "\n"}, {"-d", " ", "-L2"}, {"-E", "E"}, {"-I", "E"}, {"-s60"}, {"-x", "-n2"}, {"-t", "-d,"}}[draw.IntN(12)]
		args = append(slices.Clone(args), "sh", "-c", `for a; do printf '<%s>' "$a"; done; echo`, "sh", "E")
		text := input.String()
		if args[0] == "-t" {
			text = strings.ReplaceAll(text, "'", "") // GNU's leaves out a quote where an apostrophe meets an escape
		}
		if want, got := gnus(t, args, text), ours(t, args, text); got != want {
			t.Errorf("seed %d: %q | xargs %q:\n%v\nGNU's: %v", seed, text, args, got, want)
		}
	}
}

// As much as possible is enough where more is wanted.
func TestLongCommandLinesAreAsLongAsPossible(t *testing.T) {
	for _, size := range []string{"99999999999", "99999999999999999999999", fmt.Sprint(maxChars + 1), fmt.Sprint(maxChars)} {
		if o, err := Parse([]string{"-s", size, "echo"}); err != nil || o.MaxChars != maxChars {
			t.Errorf("-s %s: %d bytes, %v", size, o.MaxChars, err)
		}
	}
	// Many short arguments have as many pointers, for which the kernel needs room as well.
	var input strings.Builder
	for i := range 200000 {
		fmt.Fprintln(&input, i)
	}
	got := ours(t, []string{"-s", fmt.Sprint(maxChars), "sh", "-c", "echo $#"}, input.String())
	sum, lines := 0, strings.Fields(got.out)
	for _, line := range lines {
		n := 0
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatal(err)
		}
		sum += n + 1 // $0 is one as well
	}
	if got.code != 0 || sum != 200000 || len(lines) > 3 {
		t.Errorf("%d arguments in %d command lines: %v", sum, len(lines), got)
	}
	for _, size := range []string{"0", "-99999999999999999999999", "x"} {
		if _, err := Parse([]string{"-s", size, "echo"}); err == nil {
			t.Errorf("-s %s is taken", size)
		}
	}
}

// Where nobody reads what standard error should tell, the exit code does.
func TestMessagesThatNobodyReads(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, test := range []struct{ args, input string }{
		{"-n1 true", "a"}, {"-t -n1 true", "a"}, {"-n1 sh -c exit_3", "a"}, {"-n1 true", "a 'b"}, {"no-such-program", "a"},
	} {
		args := strings.Fields(test.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		c := exec.Command(needs.Program(t, "xargs"), args...)
		c.Stdin, c.Stderr = strings.NewReader(test.input), full
		_ = c.Run() // its exit code says it
		o, err := Parse(args)
		if err != nil {
			t.Fatal(err)
		}
		processes := process.New()
		defer processes.Close()
		code := Run(t.Context(), o, &Local{Processes: processes}, Streams{In: strings.NewReader(test.input), Out: io.Discard, Err: full})
		if want := c.ProcessState.ExitCode(); code != want {
			t.Errorf("%q | xargs %s: exit code %d, GNU's %d", test.input, test.args, code, want)
		}
	}
}

// What -t shows comes in the order of the commands, however many run side by side, and a fault of the input after it, as in GNU xargs.
func TestCommandsAreShownInTheirOrder(t *testing.T) {
	o, err := Parse([]string{"-t", "-n1", "-P8", "true"})
	if err != nil {
		t.Fatal(err)
	}
	var input, want strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&input, i)
		fmt.Fprintln(&want, "true", i)
	}
	var shown bytes.Buffer
	r := scripted(func(context.Context, *Task, io.Writer, io.Writer) Outcome { return Outcome{} })
	code := Run(t.Context(), o, r, Streams{In: strings.NewReader(input.String() + "'d"), Out: io.Discard, Err: &shown})
	if got, isOrdered := strings.CutPrefix(shown.String(), want.String()); code != exitFault || !isOrdered || !strings.HasPrefix(got, "xargs: unmatched single quote") {
		t.Errorf("exit code %d, %.300s", code, shown.String())
	}
}

// GNU xargs goes on with a size that it has refused, to say that nothing fits into it.
func TestSizesThatAreNone(t *testing.T) {
	for _, size := range []string{"0", "-1"} {
		want, got := gnus(t, []string{"-s", size, "echo"}, "a"), ours(t, []string{"-s", size, "echo"}, "a")
		want.err, _, _ = strings.Cut(want.err, "\n")
		if want.err += "\n"; got != want {
			t.Errorf("-s %s: %v\nGNU's: %v", size, got, want)
		}
	}
}

// A size above what is possible is as much as possible, and said.
func TestSizesThatAreTooLarge(t *testing.T) {
	got := ours(t, []string{"-s", "1000000000", "echo"}, "a")
	if got.code != 0 || got.out != "a\n" || !strings.Contains(got.err, "value 1000000000 for -s option should be <= ") {
		t.Error(got)
	}
}

// Who ends xargs by a signal learns from the exit code which one it was.
func TestExitCodesOfSignals(t *testing.T) {
	for signal, want := range map[syscall.Signal]int{syscall.SIGTERM: exitEnded, syscall.SIGINT: exitBreak} {
		ctx, stop := notify.NotifyContext(t.Context(), signal)
		r := scripted(func(ctx context.Context, _ *Task, _, _ io.Writer) Outcome {
			if err := syscall.Kill(os.Getpid(), signal); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return Outcome{Err: context.Canceled}
		})
		o, err := Parse([]string{"true"})
		if err != nil {
			t.Fatal(err)
		}
		if code := Run(ctx, o, r, Streams{In: strings.NewReader("a"), Out: io.Discard, Err: io.Discard}); code != want {
			t.Errorf("%v: exit code %d", signal, code)
		}
		stop()
	}
}

// With -p only what somebody agrees to runs; others leave no gap.
func TestCommandsThatAreAskedFor(t *testing.T) {
	o, err := Parse([]string{"-p", "-n1", "-k", "-P2", "echo"})
	if err != nil {
		t.Fatal(err)
	}
	r := scripted(func(_ context.Context, t *Task, stdout, _ io.Writer) Outcome {
		fmt.Fprintln(stdout, t.Number, t.Args)
		return Outcome{}
	})
	var out, errs bytes.Buffer
	code := Run(t.Context(), o, r, Streams{In: strings.NewReader("a b c d e"), Out: &out, Err: &errs, Answers: strings.NewReader("n\nyes\n\nY\n")})
	if code != 0 || out.String() != "0 [echo b]\n1 [echo d]\n" || errs.String() != "echo a?...echo b?...echo c?...echo d?...echo e?..." {
		t.Errorf("%d, %q, %q", code, &out, &errs)
	}
}

// Who is asked by -p sees what the commands before have printed: as many run as -P says.
func TestQuestionsWaitUntilCommandsCanRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs outputs.Buffer
		r := scripted(func(_ context.Context, task *Task, _, _ io.Writer) Outcome {
			time.Sleep(time.Second)
			if n := strings.Count(errs.String(), "?..."); n > task.Number/2*2+2 {
				t.Errorf("command %d runs, and %d were asked for", task.Number, n)
			}
			time.Sleep(time.Second)
			return Outcome{}
		})
		code := Run(t.Context(), parsed(t, "-p", "-n1", "-P2", "echo"), r, Streams{In: strings.NewReader("a b c d e f"), Out: io.Discard, Err: &errs, Answers: strings.NewReader(strings.Repeat("y\n", 6))})
		if code != 0 || strings.Count(errs.String(), "?...") != 6 {
			t.Errorf("%d, %q", code, &errs)
		}
	})
}

// What xargs hasn't needed of a file is left to whoever reads on, as GNU xargs leaves it.
func TestTheRestOfAFileIsLeftToOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(name, []byte(lines(100000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"-E7", "-n1 -E7 true", "-n1 sh -c [_$0_-lt_5_]||exit_255", "-n3 -s9 echo", "true", "-n1 no-such-program"} {
		args := strings.Fields(args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
		at := func(run func(f *os.File)) int64 {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.Seek(2, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			run(f)
			n, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		want := at(func(f *os.File) {
			c := exec.Command(needs.Program(t, "xargs"), args...)
			c.Stdin = f
			_ = c.Run() // it may fail
		})
		got := at(func(f *os.File) {
			processes := process.New()
			defer processes.Close()
			Run(t.Context(), parsed(t, args...), &Local{Processes: processes}, Streams{In: f, Out: io.Discard, Err: io.Discard})
		})
		if got != want {
			t.Errorf("xargs %q leaves off at %d, GNU's at %d", args, got, want)
		}
	}
}

// slowFile is a file that is read as slowly as commands run: its second read waits for the end of one.
type slowFile struct {
	*strings.Reader
	reads int
	ended chan struct{}
}

func (f *slowFile) Read(b []byte) (int, error) {
	if f.reads++; f.reads == 2 {
		<-f.ended
	}
	return f.Reader.Read(b[:min(len(b), 2)])
}

// A command that ends with 255 or by a signal, before the next one was made of the input, leaves off after that one as it does otherwise.
func TestTheRestOfAFileBeginsAfterTheNextCommand(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		how   Outcome
		left  string
	}{
		"255":               {"1\n2\n3\n", Outcome{Exit: stopAll}, "3\n"},
		"a signal":          {"1\n2\n3\n", Outcome{Signal: syscall.SIGKILL}, "3\n"},
		"the last command":  {"1\n", Outcome{Exit: stopAll}, ""},
		"a missing program": {"1\n2\n3\n", Outcome{Err: fs.ErrNotExist}, "2\n3\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &slowFile{Reader: strings.NewReader(c.input), ended: make(chan struct{})}
			r := scripted(func(context.Context, *Task, io.Writer, io.Writer) Outcome {
				time.AfterFunc(time.Millisecond, func() { close(f.ended) }) // in a bubble: when the outcome has been judged
				return c.how
			})
			Run(t.Context(), parsed(t, "-n1", "true"), r, Streams{In: f, Out: io.Discard, Err: io.Discard})
			if left, _ := io.ReadAll(f.Reader); string(left) != c.left {
				t.Errorf("%s: %q is left to others, want %q", name, left, c.left)
			}
		})
	}
}

// Where the stack is small, command lines are shorter: the kernel takes a quarter of it.
func TestCommandLinesFitTheStack(t *testing.T) {
	var old, small syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_STACK, &old); err != nil {
		t.Fatal(err)
	}
	small = old
	small.Cur = 800 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &small); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_STACK, &old); err != nil {
			t.Error(err)
		}
	}()
	if got := ours(t, []string{"-s2000000", "true"}, lines(60000)); got.code != 0 {
		t.Error(got)
	}
}

func TestLimitsAreShown(t *testing.T) {
	if got := ours(t, []string{"--show-limits", "-s", "4000", "true"}, ""); got.code != 0 || !strings.Contains(got.err, "limit of a command line now: 4000 bytes\n") {
		t.Error(got)
	}
}
