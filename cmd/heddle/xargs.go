package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"heddle/am"
	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/am/process"
	"heddle/am/unmanaged"
	"heddle/am/xargs"
	"heddle/cmd/heddle/internal/here"
	"heddle/cmd/internal/program"
	"heddle/conf"
	"heddle/internal/processors"
	"heddle/yarn/pb"
	"heddle/yarn/wire"
)

func newXargs() *cobra.Command {
	return readsItsOwn(&cobra.Command{ // options end where the command begins
		Use:   "xargs [options] COMMAND [ARGUMENT...]",
		Short: "Run a command for each item of the input",
		Long: `Runs a command for each item, or group of items, of standard input: on the configured cluster, else on the one that you or
root have started on this machine without a configuration (heddle standalone), else on this machine by itself. It takes the options of GNU xargs, and has its exit codes, which the first failure chooses:
123 if a command has failed, 124 if one has exited with 255, 125 if a signal has ended one, 126 or 127 if the command can't be run or
is missing, 1 for other errors. {} as an argument stands for the items; without it they are added at the end. Outputs of commands that
run at the same time don't mix. When a command ends, what it has left in the background ends too.

Options:
` + xargs.Usage(),
		Example: `  ls *.png | heddle xargs -P 8 -n 1 optipng {}
  seq 1000 | heddle xargs -P 50 -I N --retries 3 --timeout 60 -k sh -c 'curl -sf https://example.org/page/N | wc -l'`,
		GroupID: tools,
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := xargs.Parse(args)
			if err != nil {
				return fmt.Errorf("xargs: %w (heddle xargs --help lists the options)", err)
			}
			if o.Help {
				return cmd.Help()
			}
			if o.Version {
				fmt.Printf("heddle xargs %s, with the options of GNU xargs 4.9\n", conf.Version)
				return nil
			}
			return runXargs(cmd.Context(), o)
		},
	})
}

// runXargs runs the commands on the cluster, or on this machine.
func runXargs(ctx context.Context, o xargs.Options) error {
	defer processors.Spare(ctx)()
	if !signal.Ignored(syscall.SIGQUIT) {
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGQUIT) // a daemon shows what it does
		defer stop()
	}
	// Writing to a pipe without a reader is an error like others: commands are to be ended then.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	local := &xargs.Local{}
	read, err := openInputs(&o, local)
	defer read.close()
	if err != nil {
		return fmt.Errorf("xargs: %w", err)
	}
	s := &source{dir: o.Place.Conf, overrides: o.Place.Settings}
	c, err := s.valid()
	if err == nil {
		err = checkPlace(&o.Place)
	}
	if err != nil {
		return fmt.Errorf("xargs: %w", err)
	}
	var runner xargs.Runner = local
	stop := func(result) {}
	said := func() error { return nil }
	if o.Place.Local || !onCluster(ctx, c) {
		if local.Dir = o.Place.Dir; local.Dir != "" {
			if err := enterable(local.Dir); err != nil {
				return fmt.Errorf("xargs: --workdir: %w", err)
			}
		}
		local.Processes = process.New()
		defer local.Processes.Close()
		local.Processes.OwnAll()
		local.Attached = local.Attached || program.HasTerminal()
	} else {
		if o.SkipEmpty {
			if read.items, err = begun(read.items); errors.Is(err, io.EOF) {
				return nil // nothing to run, and nothing to ask a cluster for
			}
		}
		o.Progress = &xargs.Progress{}
		var p xargs.Submitter
		if p, stop, err = startTasks(ctx, c, s, &o); err != nil {
			return fmt.Errorf("xargs: %w (--local runs the commands on this machine)", err)
		}
		o.Again = true
		remote := &xargs.Remote{Pool: p, Env: inherited(o.Place.Env), Dir: workFolder(o.Place.Dir), NeedDir: o.Place.Dir != "", Preload: o.Place.Preload}
		runner, said = remote, remote.Nowhere
	}
	procs, ignore := moreOrFewer()
	defer ignore()
	code := xargs.Run(ctx, o, runner, xargs.Streams{In: read.items, Out: os.Stdout, Err: os.Stderr, Answers: read.answers, Procs: procs})
	r := resultOf(ctx, code)
	r.shown = said()
	stop(r)
	if code != 0 {
		return program.Exit(code)
	}
	return nil
}

// inputs has the items that are read, and a person's answers (nil: no person is asked).
type inputs struct {
	items, answers io.Reader
	files          []*os.File
}

// openInputs opens what options name, and says what commands on this machine read.
func openInputs(o *xargs.Options, local *xargs.Local) (*inputs, error) {
	x := &inputs{items: os.Stdin}
	open := func(name, what string) (*os.File, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		x.files = append(x.files, f)
		return f, nil
	}
	if o.ArgFile != "" && o.ArgFile != "-" {
		f, err := open(o.ArgFile, "can't open the input")
		if err != nil {
			return x, err
		}
		x.items, local.Stdin, local.Attached = f, os.Stdin, true
	}
	if o.OpenTTY {
		tty, err := open("/dev/tty", "-o")
		if err != nil {
			return x, err
		}
		local.Stdin, local.Attached, o.Place.Local = tty, true, true
	}
	if o.Ask {
		tty, err := open("/dev/tty", "-p asks on the terminal")
		if err != nil {
			return x, err
		}
		x.answers = tty
	}
	return x, nil
}

func (x *inputs) close() {
	for _, f := range x.files {
		f.Close()
	}
}

// result is how an application of a tool ends.
type result struct {
	status  pb.FinalApplicationStatus
	because string
	shown   error // to the user already
}

var succeeded = result{status: am.Succeeded}

// resultOf returns how a run of commands with an exit code ends: operators look for those that have failed.
func resultOf(ctx context.Context, code int) result {
	switch {
	case code == 0:
		return succeeded
	case ctx.Err() != nil:
		return result{status: am.Killed, because: fmt.Sprintf("heddle xargs was ended by its user: %v", context.Cause(ctx))}
	}
	return result{status: am.Failed, because: fmt.Sprintf("heddle xargs has ended with exit code %d", code)}
}

// begun waits for the first byte of an input, and returns an input that still has it. The error is io.EOF if there is none.
func begun(in io.Reader) (io.Reader, error) {
	if f, ok := in.(io.ReadSeeker); ok {
		if at, err := f.Seek(0, io.SeekCurrent); err == nil {
			n, err := f.Read(make([]byte, 1))
			if n == 0 {
				return in, err
			}
			_, err = f.Seek(at, io.SeekStart)
			return in, err
		}
	}
	b := bufio.NewReader(in)
	_, err := b.Peek(1)
	return b, err
}

// moreOrFewer passes on the signals by which GNU xargs has one command more or less run at a time.
func moreOrFewer() (by <-chan int, stop func()) {
	signals, changes, over := make(chan os.Signal, 16), make(chan int), make(chan struct{})
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for {
			n := 1
			select {
			case s := <-signals:
				if s == syscall.SIGUSR2 {
					n = -1
				}
			case <-over:
				return
			}
			select {
			case changes <- n:
			case <-over:
				return
			}
		}
	}()
	return changes, func() {
		signal.Stop(signals)
		close(over)
	}
}

// onCluster reports whether commands run on a cluster: on the one that is configured, or else on that of this machine, which needs no configuration (heddle standalone).
func onCluster(ctx context.Context, c *conf.Config) bool {
	if clusterConfigured(c) {
		return true
	}
	c.CloseUp() // as the daemons of this machine do
	return here.ResourceManager(ctx, c)
}

// clusterConfigured reports whether the ResourceManager's address is configured.
func clusterConfigured(c *conf.Config) bool {
	for _, key := range []string{"yarn.resourcemanager.hostname", "yarn.resourcemanager.address", "yarn.resourcemanager.ha.rm-ids"} {
		if c.IsSet(key) {
			return true
		}
	}
	return false
}

// checkPlace refuses unset variables: commands would silently run without them.
func checkPlace(p *xargs.Place) error {
	for _, name := range p.Env {
		if _, ok := os.LookupEnv(name); !ok {
			return fmt.Errorf("--env %s: there is no variable of that name here", name)
		}
	}
	return nil
}

// enterable returns an error if commands can't run in a folder.
func enterable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", dir)
	}
	return nil
}

// startTasks starts the runner of commands on the cluster. stop gives back what is held there.
func startTasks(ctx context.Context, c *conf.Config, from *source, o *xargs.Options) (t xargs.Submitter, stop func(result), err error) {
	if !o.Place.Probes {
		return startPool(ctx, c, from, o)
	}
	log := clusterLog(c)
	c.CloseUp() // as the daemons of this machine do
	so := probes.Options{MemoryMB: int64(o.Place.Memory), Nice: o.Place.Nice, Decline: longQueue, Early: o.Place.Early, Log: log}
	if o.Place.Clone {
		so.CloneBelow = idleWait
	}
	s := probes.New(so)
	running, err := probes.Cluster{
		Conf: c, Name: "heddle xargs " + o.Command[0], Queue: o.Place.Queue, Address: o.Place.Address, Progress: o.Progress.Part, Log: log,
	}.Start(ctx, s)
	if err != nil {
		s.Close()
		return nil, nil, err
	}
	return s, stopper(ctx, from, running, s.Close, log), nil
}

// Commands by probes go to other nodes than those that expect to begin with them later than longQueue, and are cloned while they wait for less than
// idleWait in the mean.
const (
	longQueue = 2 * time.Second
	idleWait  = 100 * time.Millisecond
	goodbye   = 2 * time.Second // for the ResourceManager, when the user ends it; then the application is the guard's
)

// clusterLog returns where tools tell what happens on the cluster: warnings only, unless more is wanted.
func clusterLog(c *conf.Config) *logrus.Entry {
	log := logger(c)
	if log.Logger.Level > logrus.WarnLevel && !c.IsSet("heddle.log.level") {
		log.Logger.SetLevel(logrus.WarnLevel)
	}
	return log
}

// stopper returns a function that ends an application, and then the runner of its tasks. If this process is killed, the application ends as well.
func stopper(ctx context.Context, from *source, running *unmanaged.Running, close func(), log *logrus.Entry) func(result) {
	guard, err := startGuard(from, running.ID)
	if err != nil {
		log.WithError(err).Warnf("%v would run on for a while if this process were killed", running.ID)
	}
	return func(r result) {
		running.SetResult(r.status, r.because)
		if ctx.Err() == nil {
			if err := running.Stop(); err != nil && !errors.Is(r.shown, err) {
				log.WithError(err).Warnf("failed to finish %v", running.ID)
			}
		} else if !running.StopWithin(goodbye) {
			log.Warnf("the ResourceManager doesn't answer: %v ends when it does", running.ID)
			if guard != nil {
				_ = guard.in.Close() // it kills the application
			}
			return
		}
		close()
		guard.dismiss()
	}
}

// startPool starts a pool with executors on the cluster of a configuration, which came from s. stop gives them back.
func startPool(ctx context.Context, c *conf.Config, s *source, o *xargs.Options) (p *pool.Pool, stop func(result), err error) {
	log := clusterLog(c)
	c.CloseUp() // as the daemons of this machine do
	secret := wire.NewSecret()
	if p, err = pool.New(pool.Options{Secret: secret, Listen: ":0", Log: log}); err != nil {
		return nil, nil, err
	}
	slots := 4
	if o.Procs > 0 {
		slots = min(max(o.Procs/8, 1), 4)
	}
	most := 10000
	if o.Procs > 0 {
		most = (o.Procs + slots - 1) / slots
	}
	running, err := pool.Containers{
		Conf: c, Name: "heddle xargs " + o.Command[0], Queue: o.Place.Queue, Slots: slots, Memory: o.Place.Memory, Most: most,
		Address: o.Place.Address, Secret: secret, Progress: o.Progress.Part, Log: log,
	}.Start(ctx, p)
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, stopper(ctx, s, running, p.Close, log), nil
}

// inherited returns the variables that commands get on other machines.
func inherited(more []string) (env []string) {
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name == "PATH" || name == "LANG" || name == "TZ" || strings.HasPrefix(name, "LC_") || slices.Contains(more, name) {
			env = append(env, v)
		}
	}
	return env
}

// workFolder returns where commands run if their node has it.
func workFolder(named string) string {
	if named != "" {
		return named
	}
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	return dir
}
