package shorttasks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/nm/probe"
	"heddle/yarn/ipc"
	"heddle/yarn/records"
	"heddle/yarn/token"
	"heddle/yarn/wire"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

var (
	attempt = records.AttemptID{App: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 1}
	here    = records.NodeID{Host: "127.0.0.1", Port: 1}
)

// lab is a Node whose peers are the test's.
type lab struct {
	*Node
	t     *testing.T
	key   *token.MasterKey
	admit error
	pid   int // that executors say is theirs

	mu      sync.Mutex
	ahead   time.Duration // of the node's clock
	frozen  time.Time     // if set, the node's clock stands still there
	started []Executor
	live    int // executors that haven't ended
	shares  map[string]Share
	sizes   map[int32]probe.Amount // of executors, by version
	// run is what executors do, until the context ends. Without it they take tasks, and never end them.
	run func(ctx context.Context, c *wire.Conn)
}

// newLab starts a node that was lent so many slots of 1 MB and a vcore.
func newLab(t *testing.T, slots int64) *lab {
	t.Helper()
	return newLabAt(t, slots, 0)
}

// newLabAt starts one whose clock is so far ahead.
func newLabAt(t *testing.T, slots int64, ahead time.Duration) *lab {
	t.Helper()
	l := &lab{t: t, ahead: ahead}
	l.begin(func(*Options) {})
	l.Lend(probe.Amount{MemoryMB: slots, VCores: slots})
	return l
}

// newLabWith starts one that was lent nothing, with other options.
func newLabWith(t *testing.T, change func(*Options)) *lab {
	t.Helper()
	l := &lab{t: t}
	l.begin(change)
	return l
}

func (l *lab) begin(change func(*Options)) {
	t := l.t
	t.Helper()
	l.key = token.NewMasterKey(7, []byte("the key of NMTokens"))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log := logrus.New()
	log.SetOutput(t.Output())
	o := Options{
		Listener: listener, Executors: l, Log: logrus.NewEntry(log), Admitted: func(token.NM) error { return l.admit },
		Bearer: func(b []byte) (ipc.Bearer, error) {
			id, err := token.ParseNM(b)
			if err != nil || id.Node != here {
				return ipc.Bearer{}, errors.New("a token for another node")
			}
			return ipc.Bearer{Password: l.key.Sign(b), Identifier: id}, nil
		},
		Share: func(user string) Share { return l.shares[user] },
		Now: func() time.Time {
			l.mu.Lock()
			defer l.mu.Unlock()
			if !l.frozen.IsZero() {
				return l.frozen.Add(l.ahead)
			}
			return time.Now().Add(l.ahead)
		},
	}
	change(&o)
	l.Node = New(o)
	t.Cleanup(l.Close)
}

// freeze has only later move the node's clock.
func (l *lab) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = time.Now()
}

// later moves the node's clock.
func (l *lab) later(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ahead += d
}

// Start implements Executors.
func (l *lab) Start(x Executor, ended func(string)) (func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = append(l.started, x)
	l.live++
	run := l.run
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		c, err := wire.Dial(ctx, fmt.Sprintf("127.0.0.1:%d", l.Port()), []byte(x.ID.String()), x.Secret)
		if err == nil {
			if c.Send(&wire.Hello{Container: x.ID.String(), Slots: uint64(x.Slots), PID: uint64(l.pid)}) == nil {
				if run == nil {
					<-ctx.Done()
				} else {
					run(ctx, c)
				}
			}
			c.Close()
		}
		l.mu.Lock()
		l.live--
		l.mu.Unlock()
		ended("it is over")
	}()
	return cancel, nil
}

// Resize implements Executors.
func (l *lab) Resize(x Executor, version int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sizes == nil {
		l.sizes = map[int32]probe.Amount{}
	}
	l.sizes[version] = x.Most
}

// dial connects with the token of a user.
func (l *lab) dial(user string) *wire.Conn {
	l.t.Helper()
	id := token.NM{Attempt: attempt, Node: here, Submitter: user, KeyID: l.key.ID()}.Encode()
	c, err := wire.Dial(l.t.Context(), fmt.Sprintf("127.0.0.1:%d", l.Port()), id, wire.SecretOf(l.key.Sign(id)))
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(c.Close)
	return c
}

// scheduler connects one that the node has taken.
func (l *lab) scheduler(id string) *wire.Conn {
	l.t.Helper()
	return l.schedulerOf("anna", id)
}

func (l *lab) schedulerOf(user, id string) *wire.Conn {
	l.t.Helper()
	c := l.dial(user)
	say(l.t, c, &wire.Greeting{Scheduler: id})
	hear[*wire.Lent](l.t, c)
	return c
}

func say(t *testing.T, c *wire.Conn, all ...wire.Message) {
	t.Helper()
	for _, m := range all {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
}

// hear returns the next message of a kind, and passes over others.
func hear[M wire.Message](t *testing.T, c *wire.Conn) M {
	t.Helper()
	for {
		m, err := c.Receive()
		if err != nil {
			t.Fatalf("%v instead of %T", err, *new(M))
		}
		if got, ok := m.(M); ok {
			return got
		}
	}
}

// empty waits until nothing is left of anybody.
func (l *lab) empty() {
	l.t.Helper()
	await.Until(l.t, "nothing is left", func() bool {
		_, used, waiting := l.Use()
		l.Node.mu.Lock()
		known := len(l.schedulers) + len(l.executors)
		l.Node.mu.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		return used == probe.Amount{} && waiting == 0 && known == 0 && l.live == 0
	})
}

// runAll is an executor that ends all tasks at once.
func runAll(ctx context.Context, c *wire.Conn) {
	defer context.AfterFunc(ctx, c.Close)()
	for m, err := c.Receive(); err == nil; m, err = c.Receive() {
		if task, ok := m.(*wire.Task); ok {
			_ = c.Send(&wire.Ended{ID: task.ID}) // if it fails, Receive does
		}
	}
}

// of is a probe of tasks of 1 MB and a vcore.
func of(job, count, left uint64) *wire.Probe {
	return &wire.Probe{Job: job, Count: count, Left: left, MemoryMB: 1, VCores: 1}
}
