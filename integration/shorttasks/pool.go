package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"heddle/am/client"
	"heddle/am/pool"
	"heddle/internal/pause"
	"heddle/nm/proc"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// prefetch gives executors their next tasks while they report others: tasks that take no time wait for none.
const prefetch = 500

// withPool runs f with a pool and its executors. spent is the processor time of the executors so far.
func withPool(ctx context.Context, o Options, prefetch int, f func(p *pool.Pool, spent spent) error) (err error) {
	secret := wire.NewSecret()
	p, err := pool.New(pool.Options{Secret: secret, Listen: "127.0.0.1:0", Prefetch: prefetch})
	if err != nil {
		return err
	}
	defer p.Close()
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var executors []*exec.Cmd
	defer func() {
		p.Close() // by which they end
		for _, x := range executors {
			err = errors.Join(err, x.Wait())
		}
	}()
	for i := range o.Nodes {
		x, err := newExecutor(o, dir, fmt.Sprintf("bench-%d", i), secret, fmt.Sprintf("127.0.0.1:%d", p.Port()))
		if err != nil {
			return err
		}
		if err := x.Start(); err != nil {
			return err
		}
		executors = append(executors, x)
	}
	for end := time.Now().Add(time.Minute); p.State().Executors < o.Nodes; {
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d executors have come within a minute", p.State().Executors, o.Nodes)
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return f(p, func() (c CPU, err error) {
		for _, x := range executors {
			p, err := proc.Read(x.Process.Pid)
			if err != nil {
				return c, err
			}
			c.Executors += p.CPU
		}
		return c, nil
	})
}

// newExecutor returns the command of an executor of so many slots.
func newExecutor(o Options, dir, name string, secret []byte, address string) (*exec.Cmd, error) {
	creds := &token.Credentials{}
	creds.SetSecret(wire.SecretAlias, secret)
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	c := exec.Command(o.Binary, "executor", "--slots", fmt.Sprint(o.Slots), address)
	c.Env = append(os.Environ(), client.TokenFileVariable+"="+file, "CONTAINER_ID="+name)
	c.Stderr = os.Stderr
	return c, nil
}
