package shorttasks

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/client"
	"heddle/am/probes"
	"heddle/internal/pause"
	"heddle/nm/probe"
	"heddle/nm/shorttasks"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// withProbes runs f with a scheduler and nodes that take its probes. The nodes belong to this process, and their executors are processes.
// Each node is lent so many slots of 1 MB and a vcore.
func withProbes(ctx context.Context, o Options, f func(*probes.Scheduler) error) error {
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	key := token.NewMasterKey(1, []byte("a key of NMTokens"))
	attempt := records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	s := probes.New(probes.Options{MemoryMB: 1, Estimate: o.Task, Log: logrus.NewEntry(log)})
	defer s.Close()
	var children children
	defer children.wait()
	for i := range o.Executors {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		node := records.NodeID{Host: "127.0.0.1", Port: int32(i + 1)}
		n := shorttasks.New(shorttasks.Options{
			Listener: l, Steal: true, Log: logrus.NewEntry(log), Admitted: func(token.NM) error { return nil },
			Executors: &starter{o: o, dir: dir, at: l.Addr().String(), children: &children},
			Bearer: func(b []byte) (ipc.Bearer, error) {
				id, err := token.ParseNM(b)
				if err != nil || id.Node != node {
					return ipc.Bearer{}, fmt.Errorf("%v has no such token", node)
				}
				return ipc.Bearer{Password: key.Sign(b), Identifier: id}, nil
			},
		})
		defer n.Close()
		n.Lend(probe.Amount{MemoryMB: int64(o.Slots), VCores: int64(o.Slots)})
		id := token.NM{Attempt: attempt, Node: node, Submitter: "bench", KeyID: key.ID()}.Encode()
		s.Offer(probes.Target{Node: node.String(), Address: l.Addr().String(), Name: id, Secret: wire.SecretOf(key.Sign(id))})
	}
	for end := time.Now().Add(time.Minute); s.State().Nodes < o.Executors; {
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d nodes are connected after a minute", s.State().Nodes, o.Executors)
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return f(s)
}

// children are executors that run.
type children struct{ sync.WaitGroup }

func (c *children) wait() { c.Wait() }

// starter starts the executors of a node.
type starter struct {
	o        Options
	dir, at  string
	children *children
}

// Start implements shorttasks.Executors.
func (s *starter) Start(x shorttasks.Executor, ended func(string)) (stop func(), err error) {
	creds := &token.Credentials{}
	creds.SetSecret(wire.SecretAlias, x.Secret)
	raw, err := creds.Encode(token.FormatWritable)
	if err != nil {
		return nil, err
	}
	// Executors of two nodes may have the same number.
	f, err := os.CreateTemp(s.dir, filepath.Base(x.ID.String()))
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(raw); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	c := exec.Command(s.o.Binary, "executor", "--slots", fmt.Sprint(x.Slots), s.at)
	c.Env = append(os.Environ(), client.TokenFileVariable+"="+f.Name(), "CONTAINER_ID="+x.ID.String())
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		return nil, err
	}
	s.children.Go(func() {
		ended(fmt.Sprint(c.Wait()))
	})
	return func() { _ = c.Process.Kill() }, nil // it may have ended by itself
}
