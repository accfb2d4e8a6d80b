package raft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/ports"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// register is an FSM that remembers its entries.
type register struct {
	mu      sync.Mutex
	entries []string
	sources []any
}

func (r *register) Apply(e Entry) any {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, string(e.Data))
	r.sources = append(r.sources, e.Source)
	return len(r.entries)
}

func (r *register) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.entries...)
}

func (r *register) Snapshot() (func(io.Writer) error, error) {
	entries := r.all()
	return func(w io.Writer) error {
		for _, e := range entries {
			if err := binary.Write(w, binary.BigEndian, uint32(len(e))); err != nil {
				return err
			}
			if _, err := io.WriteString(w, e); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (r *register) Restore(in io.Reader) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = nil
	for {
		var n uint32
		err := binary.Read(in, binary.BigEndian, &n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return err
		}
		r.entries = append(r.entries, string(b))
	}
}

func quiet() *logrus.Entry {
	l := logrus.New()
	l.SetOutput(io.Discard)
	return logrus.NewEntry(l)
}

type member struct {
	*Node
	fsm *register
	cfg Config
}

// group starts n members on loopback; their addresses stay the same over restarts.
func group(t *testing.T, n int, change func(*Config)) []*member {
	t.Helper()
	members := apart(t, n)
	for _, m := range members {
		if change != nil {
			change(&m.cfg)
		}
		m.start(t)
	}
	return members
}

func (m *member) start(t *testing.T) {
	t.Helper()
	m.fsm = &register{}
	n, err := Open(m.cfg, m.fsm)
	if err != nil {
		t.Fatal(err)
	}
	m.Node = n
}

func (m *member) stop(t *testing.T) {
	t.Helper()
	if m.Node == nil {
		return
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	m.Node = nil
}

func (m *member) restart(t *testing.T) {
	t.Helper()
	m.stop(t)
	m.cfg.Listener = listen(t, m.cfg.Listener.Addr().String())
	m.start(t)
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// leader waits until one of the members begins to lead.
func leader(t *testing.T, members []*member) (*member, context.Context) {
	t.Helper()
	type win struct {
		m   *member
		ctx context.Context
	}
	won := make(chan win)
	stop := make(chan struct{})
	defer close(stop)
	for _, m := range members {
		if m.Node == nil {
			continue
		}
		go func(terms <-chan context.Context) {
			for {
				select {
				case ctx := <-terms:
					if ctx.Err() != nil {
						continue
					}
					select {
					case won <- win{m, ctx}:
					case <-stop:
					}
					return
				case <-stop:
					return
				}
			}
		}(m.Terms())
	}
	select {
	case w := <-won:
		return w.m, w.ctx
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody leads")
		return nil, nil
	}
}

// leadership is who leads of some members. On a slow machine a leader may step down at any time, and lead again or not.
type leadership struct {
	members []*member
	m       *member
	term    context.Context
}

// now waits until one of the members leads, and returns it with its term.
func (l *leadership) now(t *testing.T) (*member, context.Context) {
	t.Helper()
	if l.term == nil || l.term.Err() != nil {
		l.m, l.term = leader(t, l.members)
	}
	return l.m, l.term
}

// keepMembers lets whoever leads make the group's record equal to the configuration.
func (l *leadership) keepMembers(t *testing.T) {
	t.Helper()
	await.Until(t, "the record equals the configuration", func() bool {
		lead, term := l.now(t)
		done, err := lead.AdoptMembers(term)
		return done && err == nil && term.Err() == nil
	})
}

func TestOneMemberKeepsItsLogOverRestarts(t *testing.T) {
	m := group(t, 1, nil)[0]
	for round := 1; round <= 3; round++ {
		leader(t, []*member{m})
		if err := m.Barrier(); err != nil {
			t.Fatal(err)
		}
		if got := len(m.fsm.all()); got != round-1 {
			t.Fatalf("round %d begins with %d entries", round, got)
		}
		got, err := m.Propose(Entry{Data: fmt.Appendf(nil, "entry %d", round)}).Wait()
		if err != nil || got != round {
			t.Fatalf("entry %d: %v, %v", round, got, err)
		}
		m.restart(t)
	}
}

// What an entry was made from is there for who proposed it, and only for them.
func TestSourcesAreTheProposers(t *testing.T) {
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	var last Proposal
	for i := range 50 {
		last = lead.Propose(Entry{Data: fmt.Appendf(nil, "entry %d", i), Source: i})
	}
	if _, err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		await.Until(t, "everybody has the entries", func() bool { return len(m.fsm.all()) == 50 })
		m.fsm.mu.Lock()
		for i, source := range m.fsm.sources {
			if m == lead && source != i || m != lead && source != nil {
				t.Errorf("%s has %v as source of %q", m.cfg.ID, source, m.fsm.entries[i])
			}
		}
		m.fsm.mu.Unlock()
	}
	await.Until(t, "nothing is kept", func() bool {
		lead.sources.mu.Lock()
		defer lead.sources.mu.Unlock()
		return len(lead.sources.by) == 0
	})
}

// With several requests under way, a leader may wait for ever after one has failed.
func TestOneRequestIsUnderWay(t *testing.T) {
	m := group(t, 1, nil)[0]
	to := m.cfg.Members[0]
	p, err := m.transport.AppendEntriesPipeline(hraft.ServerID(to.ID), hraft.ServerAddress(to.Address))
	if !errors.Is(err, hraft.ErrPipelineReplicationNotSupported) {
		t.Errorf("%v, %v", p, err)
	}
}

func TestThreeMembersAgreeAndFailOver(t *testing.T) {
	members := group(t, 3, nil)
	first, term := leader(t, members)
	for i := range 100 {
		if _, err := first.Propose(Entry{Data: fmt.Appendf(nil, "a%d", i)}).Wait(); err != nil {
			t.Fatal(err)
		}
	}
	follower := members[0]
	if follower == first {
		follower = members[1]
	}
	if _, err := follower.Propose(Entry{Data: []byte("x")}).Wait(); !errors.Is(err, ErrNotLeader) {
		t.Errorf("a follower took a proposal: %v", err)
	}
	await.Until(t, "the follower knows its leader", func() bool { return follower.Leader() == first.cfg.ID })

	first.stop(t)
	<-term.Done()
	second, _ := leader(t, members)
	if err := second.Barrier(); err != nil {
		t.Fatal(err)
	}
	if got := len(second.fsm.all()); got != 100 {
		t.Fatalf("the new leader has %d of 100 entries", got)
	}
	if _, err := second.Propose(Entry{Data: []byte("b")}).Wait(); err != nil {
		t.Fatal(err)
	}
	if err := second.VerifyLeader(); err != nil {
		t.Error(err)
	}
	first.restart(t)
	await.Until(t, "the old leader catches up", func() bool { return len(first.fsm.all()) == 101 })
	if a, b := first.fsm.all(), second.fsm.all(); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("members disagree:\n%v\n%v", a, b)
	}
}

func TestTransferOfLeadership(t *testing.T) {
	members := group(t, 3, nil)
	first, term := leader(t, members)
	var target *member
	for _, m := range members {
		if m != first {
			target = m
		}
	}
	if err := first.Transfer(t.Context(), "rm9"); err == nil {
		t.Error("leadership went to a stranger")
	}
	transfer(t, first, target.cfg.ID)
	<-term.Done()
	if now, _ := leader(t, members); now != target {
		t.Errorf("%s leads instead of %s", now.cfg.ID, target.cfg.ID)
	}
	infos, err := target.Members()
	if err != nil || len(infos) != 3 {
		t.Fatalf("members: %v, %v", infos, err)
	}
	for _, i := range infos {
		if i.Leader != (i.ID == target.cfg.ID) || i.Self != (i.ID == target.cfg.ID) {
			t.Errorf("wrong: %+v", i)
		}
	}
}

func TestSnapshotReplacesTheLog(t *testing.T) {
	members := group(t, 3, func(c *Config) {
		c.SnapshotInterval = 20 * time.Millisecond
		c.SnapshotThreshold = 50
		c.TrailingLogs = 10
	})
	lead, _ := leader(t, members)
	var late *member
	for _, m := range members {
		if m != lead {
			late = m
		}
	}
	late.stop(t)
	var last Proposal
	for i := range 500 {
		last = lead.Propose(Entry{Data: fmt.Appendf(nil, "entry %d", i)})
	}
	if _, err := last.Wait(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "a snapshot", func() bool { return lead.Stats()["last_snapshot_index"] > "1" })
	late.restart(t)
	await.Until(t, "the late member catches up", func() bool { return len(late.fsm.all()) == 500 })
}

func TestFolderBelongsToOneMember(t *testing.T) {
	m := group(t, 1, nil)[0]
	leader(t, []*member{m})
	if n, err := Open(m.cfg, &register{}); err == nil {
		_ = n.Close()
		t.Fatal("two nodes share a folder")
	} else if !strings.Contains(err.Error(), "in use by another process") {
		t.Errorf("unclear: %v", err)
	}
	m.stop(t)
	for _, change := range []func(*Config){
		func(c *Config) { c.Cluster = "other" },
		func(c *Config) { c.ID = "rm7" },
	} {
		cfg := m.cfg
		change(&cfg)
		if n, err := Open(cfg, &register{}); err == nil {
			_ = n.Close()
			t.Error("a foreign folder was opened")
		} else if !strings.Contains(err.Error(), `holds the state of rm "rm1" of cluster "test"`) {
			t.Errorf("unclear: %v", err)
		}
	}
}

func TestStrangersAreRefused(t *testing.T) {
	var logged bytes.Buffer
	var mu sync.Mutex
	log := logrus.New()
	log.SetOutput(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return logged.Write(b)
	}))
	m := group(t, 1, func(c *Config) {
		c.Log = logrus.NewEntry(log)
		c.Members = append(c.Members, Member{ID: "rm2", Address: "127.0.0.1:1"})
		found(t, *c)
	})[0]
	leader(t, []*member{m})
	for greeting, want := range map[string]string{
		"GET / HTTP/1.1\r\n":                                                          "not a heddle ResourceManager",
		"heddle-raft 1 prod rm2\n":                                                    `it belongs to cluster \"prod\", this member to \"test\"`,
		strings.Repeat("x", 4*maxHello):                                               "too long",
		`heddle-raft 2 {"cluster":"test","from":"rm9"}` + "\n":                        `\"rm9\" is not among the members`,
		`heddle-raft 2 {"cluster":"test","from":"rm2","to":"rm7"}` + "\n":             `it looks for member \"rm7\", this is \"rm1\"`,
		`heddle-raft 2 {"cluster":"test","from":"rm1"}` + "\n":                        `which is this member`,
		`heddle-raft 2 {"cluster":"test","from":"rm2","group":"of another"}` + "\n":   `rm2 holds the state of group of another`,
		`heddle-raft 2 {"cluster":"test","from":"rm2","group":"of another",` + "\n":   `not a heddle ResourceManager`,
		`heddle-raft 2 {"cluster":"test","from":"rm2","group":"","ask":false}` + "\n": `rm2 belongs to no group`,
	} {
		await.Until(t, "a line about "+greeting, func() bool { // of those that come fast one after the other not all are logged
			c, err := net.Dial("tcp", m.cfg.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, greeting); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%q: %v", greeting, err)
			}
			mu.Lock()
			defer mu.Unlock()
			return strings.Contains(logged.String(), want)
		})
	}
	if _, err := m.Propose(Entry{Data: []byte("still alive")}).Wait(); err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestMembersMoveWithTheConfiguration(t *testing.T) {
	members := group(t, 3, nil)
	lead, _ := leader(t, members)
	var moved *member
	for _, m := range members {
		if m != lead {
			moved = m
		}
	}
	moved.stop(t)
	l := listen(t, ports.Loopback(t, 1)[0])
	moved.cfg.Listener = l
	list := append([]Member(nil), lead.cfg.Members...)
	for i := range list {
		if list[i].ID == moved.cfg.ID {
			list[i].Address = l.Addr().String()
		}
	}
	for _, m := range members {
		m.cfg.Members = list
		if m != moved {
			m.restart(t)
		}
	}
	moved.start(t)
	reign := leadership{members: members}
	reign.keepMembers(t)
	lead, _ = reign.now(t)
	propose(t, lead, 1)
	await.Until(t, "the moved member catches up", func() bool { return len(moved.fsm.all()) == 1 })
}

// What three members on one disk commit: entries of 1 KB, many proposers.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprintf("members=%d", n), func(b *testing.B) {
			members := make([]*member, 0, n)
			b.StopTimer()
			dir := b.TempDir()
			var list []Member
			for i := range n {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				id := fmt.Sprintf("rm%d", i+1)
				list = append(list, Member{ID: id, Address: l.Addr().String()})
				members = append(members, &member{fsm: &register{}, cfg: Config{
					ID: id, Cluster: "bench", Dir: filepath.Join(dir, id), Listener: l, Log: quiet(),
				}})
			}
			won := make(chan *member, n)
			for _, m := range members {
				m.cfg.Members = list
				node, err := Open(m.cfg, m.fsm)
				if err != nil {
					b.Fatal(err)
				}
				m.Node = node
				go func() {
					select {
					case <-m.Terms():
						won <- m
					case <-b.Context().Done():
					}
				}()
			}
			lead := <-won
			entry := make([]byte, 1024)
			b.StartTimer()
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if _, err := lead.Propose(Entry{Data: entry}).Wait(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.StopTimer()
			for _, m := range members {
				_ = m.Close()
			}
		})
	}
}
