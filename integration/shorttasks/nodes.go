package shorttasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/probes"
	"heddle/internal/pause"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

// withProbes runs f with a scheduler and nodes that take its probes. Each node is a process that was lent so many vcores, with room for many tasks of 1 MB, and its
// executors are other ones. spent is the processor time of all nodes and executors so far.
func withProbes(ctx context.Context, o Options, po probes.Options, f func(s *probes.Scheduler, spent spent) error) (err error) {
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	secret := wire.NewSecret()
	key := masterKey(secret)
	attempt := records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	po.MemoryMB, po.Log = 1, logrus.NewEntry(log)
	s := probes.New(po)
	var nodes []*node
	defer func() {
		s.Close()
		for _, n := range nodes {
			err = errors.Join(err, n.close())
		}
	}()
	for i := range o.Nodes {
		n, err := startNode(o, i, secret)
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
		var first answer
		if err := n.out.Decode(&first); err != nil {
			return fmt.Errorf("node %d: %w", i, err)
		}
		id := token.NM{Attempt: attempt, Node: nodeID(i), Submitter: "bench", KeyID: key.ID()}.Encode()
		s.Offer(probes.Target{
			Node: nodeID(i).String(), Address: fmt.Sprintf("127.0.0.1:%d", first.Port), Name: id, Secret: wire.SecretOf(key.Sign(id)),
		})
	}
	for end := time.Now().Add(time.Minute); s.State().Nodes < o.Nodes; {
		if time.Now().After(end) {
			return fmt.Errorf("%d of %d nodes are connected after a minute", s.State().Nodes, o.Nodes)
		}
		if err := pause.For(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return f(s, func() (c CPU, err error) {
		for _, n := range nodes {
			a, err := n.ask()
			if err != nil {
				return c, err
			}
			c.Nodes += a.CPU.Nodes
			c.Executors += a.CPU.Executors
		}
		return c, nil
	})
}

// node is a process of Node.
type node struct {
	number int
	c      *exec.Cmd
	in     io.WriteCloser
	out    *json.Decoder
}

func startNode(o Options, number int, key []byte) (*node, error) {
	c := exec.Command(o.Lab, "bench", "probes", NodeCommand)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	n := &node{number: number, c: c, in: in, out: json.NewDecoder(out)}
	return n, json.NewEncoder(in).Encode(order{Options: o, Node: number, Key: key})
}

// ask makes the node answer.
func (n *node) ask() (a answer, err error) {
	if _, err = io.WriteString(n.in, "1\n"); err == nil {
		err = n.out.Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("node %d: %w", n.number, err)
	}
	return a, nil
}

func (n *node) close() error {
	n.in.Close()
	if err := n.c.Wait(); err != nil {
		return fmt.Errorf("node %d: %w", n.number, err)
	}
	return nil
}
