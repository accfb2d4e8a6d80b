package shorttasks

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/probe"
	"heddle/nm/proc"
	"heddle/nm/shorttasks"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// order is what a node process is told first.
type order struct {
	Options Options
	Node    int    // its number
	Key     []byte // of NMTokens
}

// answer is what a node process says: first where it listens, then what it has used, whenever it is asked.
type answer struct {
	Port int
	CPU  CPU
}

func nodeID(number int) records.NodeID {
	return records.NodeID{Host: "127.0.0.1", Port: int32(number + 1)}
}

func masterKey(key []byte) *token.MasterKey { return token.NewMasterKey(1, key) }

// Node is the process of a node that takes probes, with executors of its own. It reads an order and then lines, and answers each with a line, until
// in ends.
func Node(in io.Reader, out io.Writer) error {
	d := json.NewDecoder(bufio.NewReader(in))
	var told order
	if err := d.Decode(&told); err != nil {
		return fmt.Errorf("its order: %w", err)
	}
	o, key, id := told.Options, masterKey(told.Key), nodeID(told.Node)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "heddle-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	x := &starter{o: o, dir: dir, at: l.Addr().String(), pids: map[int]bool{}}
	defer x.children.Wait()
	n := shorttasks.New(shorttasks.Options{
		Listener: l, Steal: true, Log: logrus.NewEntry(log), Admitted: func(token.NM) error { return nil }, Executors: x,
		Bearer: func(b []byte) (ipc.Bearer, error) {
			t, err := token.ParseNM(b)
			if err != nil || t.Node != id {
				return ipc.Bearer{}, fmt.Errorf("%v has no such token", id)
			}
			return ipc.Bearer{Password: key.Sign(b), Identifier: t}, nil
		},
	})
	defer n.Close()
	n.Lend(probe.Amount{MemoryMB: 1000 * int64(o.Slots), VCores: int64(o.Slots)})
	say := json.NewEncoder(out)
	for {
		cpu, err := x.spent()
		if err != nil {
			return err
		}
		if err := say.Encode(answer{Port: n.Port(), CPU: CPU{Nodes: ownCPU(), Executors: cpu}}); err != nil {
			return err
		}
		var question any
		if err := d.Decode(&question); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// starter starts the executors of a node.
type starter struct {
	o        Options
	dir, at  string
	children sync.WaitGroup

	mu   sync.Mutex
	pids map[int]bool
	past time.Duration // of those that have ended
}

// Start implements shorttasks.Executors.
func (s *starter) Start(x shorttasks.Executor, ended func(string)) (stop func(), err error) {
	c, err := newExecutor(s.o, s.dir, x.ID.String(), x.Secret, s.at)
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids[c.Process.Pid] = true
	s.children.Go(func() {
		err := c.Wait()
		s.mu.Lock()
		delete(s.pids, c.Process.Pid)
		s.past += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		s.mu.Unlock()
		ended(fmt.Sprint(err))
	})
	return func() { _ = c.Process.Kill() }, nil // it may have ended by itself
}

// Resize implements shorttasks.Executors: these have no limits.
func (s *starter) Resize(shorttasks.Executor, int32) {}

// spent returns the processor time of all executors so far.
func (s *starter) spent() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.past
	for pid := range s.pids {
		p, err := proc.Read(pid)
		if err != nil && !errors.Is(err, proc.ErrGone) {
			return 0, err
		}
		all += p.CPU
	}
	return all, nil
}
