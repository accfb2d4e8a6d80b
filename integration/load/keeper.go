package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// A Keeper is a process that takes back what a load has registered, if the load's own process ends without having done so: by kill -9, or
// a second Ctrl-C. It notices that its standard input is closed.
type Keeper struct {
	cmd *exec.Cmd
	in  io.WriteCloser

	mu   sync.Mutex
	left Left
}

// takingBack bounds the time for taking everything back.
const takingBack = time.Minute

// note is a line that a keeper reads.
type note struct {
	Left *Left  `json:",omitempty"` // ids that the load is about to register, except applications
	App  string `json:",omitempty"` // it is about to submit this one
	Done bool   `json:",omitempty"` // everything was taken back
}

// StartKeeper starts a keeper for a load. cmd is a process that calls Keep with its standard input.
func StartKeeper(cmd *exec.Cmd, o Options) (*Keeper, error) {
	k := &Keeper{cmd: cmd, left: Left{Client: o.Client, Tracker: o.Tracker, User: o.User, Nodes: o.Nodes}}
	var err error
	if k.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C on the terminal is not for it
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process that takes back what the load registers: %w", err)
	}
	return k, k.tell(note{Left: &k.left})
}

func (k *Keeper) tell(n note) error {
	line, err := json.Marshal(n)
	if err == nil {
		_, err = k.in.Write(append(line, '\n'))
	}
	return err
}

// Submits records an application before it is submitted. Give it to Options.Submits.
func (k *Keeper) Submits(app string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left.Apps = append(k.left.Apps, app)
	return k.tell(note{App: app})
}

// Close takes everything back and ends the process. Call it when the load has ended.
func (k *Keeper) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), takingBack)
	defer cancel()
	err := k.left.TakeBack(ctx)
	if err == nil {
		err = k.tell(note{Done: true})
	}
	return errors.Join(err, k.in.Close(), k.cmd.Wait())
}

// Keep is a keeper's process: it reads what a load registers, and takes it back when the input ends early.
func Keep(in io.Reader) error {
	var left Left
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var n note
		if err := json.Unmarshal(lines.Bytes(), &n); err != nil {
			break // cut off
		}
		switch {
		case n.Done:
			return nil
		case n.Left != nil:
			left = *n.Left
		case n.App != "":
			left.Apps = append(left.Apps, n.App)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), takingBack)
	defer cancel()
	return left.TakeBack(ctx)
}
