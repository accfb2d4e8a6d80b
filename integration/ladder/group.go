package ladder

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/enclosure"
	"heddle/nm/sockets"
	"heddle/nm/suspend"
	"heddle/yarn/records"
)

// enclosed are processes in a group, for their ladder.
type enclosed struct {
	cgroup.Group
	box  *enclosure.Enclosure
	size records.Resource
	all  []*process
}

var _ suspend.Processes = (*enclosed)(nil)

// process is a Child.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// enclose starts n children that hold so many bytes together, in a group of a size that leaves room for them.
func enclose(ctx context.Context, d cgroup.Handler, o *Options, n int, bytes int64) (_ *enclosed, err error) {
	e := &enclosed{size: records.NewResource(bytes>>20*5/4+256+int64(n)*16, int64(runtime.NumCPU()))}
	rules := &enclosure.Rules{Resource: e.size, Cores: float64(runtime.NumCPU()), LimitMemory: true}
	e.box = enclosure.New(d, rules, fmt.Sprintf("bench-%d", n), e.size)
	if e.Group, err = e.box.Make(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, e.end())
		}
	}()
	for range n {
		p := &process{cmd: exec.CommandContext(ctx, o.Command[0], slices.Concat(o.Command[1:], []string{fmt.Sprint(bytes / int64(n)), fmt.Sprint(o.Random)})...)}
		p.cmd.Env = append(p.cmd.Environ(), cgroup.Marker+"="+e.Name(), "GOGC=off")
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			return nil, err
		}
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		p.out = bufio.NewReader(out)
		if err := p.cmd.Start(); err != nil {
			return nil, err
		}
		e.all = append(e.all, p)
		if err := e.Add(p.cmd.Process.Pid); err != nil { // before it has touched anything
			return nil, err
		}
	}
	return e, nil
}

// tell says a word to all processes, and returns what they answer.
func (e *enclosed) tell(word string) (string, error) {
	for _, p := range e.all {
		if _, err := fmt.Fprintln(p.in, word); err != nil {
			return "", err
		}
	}
	var all strings.Builder
	for _, p := range e.all {
		line, err := p.out.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("process %d: %w", p.cmd.Process.Pid, err)
		}
		all.WriteString(line)
	}
	return all.String(), nil
}

// end kills the processes and removes the group.
func (e *enclosed) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := e.Kill(ctx)
	for _, p := range e.all {
		_ = p.cmd.Wait() // it was killed
	}
	_, removed := e.box.Destroy()
	return errors.Join(err, removed)
}

func (e *enclosed) Size() records.Resource { return e.size }

func (e *enclosed) Holds(records.Resource) {}

func (e *enclosed) Hold(_ context.Context, held records.Resource, page bool) error {
	return e.box.Change(e.size, held, page)
}

func (e *enclosed) CPU() (time.Duration, error) {
	use, err := e.Usage()
	return use.CPU, err
}

// Working is false: breaths aren't measured.
func (e *enclosed) Working() bool { return false }

// Connections are none: children have no heartbeats.
func (e *enclosed) Connections() ([]sockets.Connection, error) { return nil, nil }

func (e *enclosed) Look([]sockets.Connection) ([]sockets.Connection, error) { return nil, nil }
