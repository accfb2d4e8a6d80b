package cgroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/claims"
	"heddle/nm/cgroup/origins"
	"heddle/nm/proc"
)

// Marker is the environment variable by which handler none recognizes the processes of a group: its value is the
// group's name. The starter of a group's first process sets it, whatever the handler.
const Marker = "CONTAINER_ID"

// signals is the handler none. A process is a member of a group when it was put there with Add, descends from a member,
// shares a member's session, or has the group's name in its environment. All of this is looked up in the process table
// again each time, so that daemons which changed session and lost their parent are found by their environment. A process
// that has also cleaned its environment escapes. Only processes of the group's owner are believed, as far as that user
// is known: any process can put any name into its environment.
type signals struct {
	log     *logrus.Entry
	missing []string
	origins *origins.Origins
}

var _ Handler = (*signals)(nil)

func newSignals(log *logrus.Entry, missing []string) *signals {
	return &signals{log: log, origins: origins.New(Marker), missing: append(missing,
		"a container's CPU, memory and number of processes have no limit that the kernel enforces",
		"a process of a container that leaves its session, outlives its parent and cleans its environment can't be found",
		"containers are suspended by SIGSTOP, which their processes can undo",
		"the memory of suspended containers stays where it is, and counts as held: taking it back takes cgroups")}
}

func (*signals) Kind() Kind { return None }

func (s *signals) Capabilities() Capabilities {
	return Capabilities{Suspend: true, Missing: slices.Clone(s.missing)}
}

func (s *signals) Create(name string, _ Limits) (Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	g := &signalGroup{d: s, name: name, owner: os.Geteuid(), stopped: map[proc.ID]bool{}}
	members, err := g.members()
	if err != nil {
		return nil, err
	}
	if len(members) > 0 {
		return nil, fmt.Errorf("create group %s: it exists and has %d processes, the first is %d", name, len(members), members[0].PID)
	}
	g.owner = anybody // until Add
	return g, nil
}

// Open never returns ErrNotFound: a group without processes and no group are the same.
// Below fails: nothing bounds processes together.
func (s *signals) Below(name string, _ Limits) (Parent, error) {
	return nil, fmt.Errorf("make group %s for groups: %w", name, errors.ErrUnsupported)
}

func (s *signals) Open(name string) (Group, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return &signalGroup{d: s, name: name, owner: anybody}, nil
}

func (*signals) Groups() ([]string, error) { return nil, nil }
func (*signals) Unseat(int) error          { return nil }
func (*signals) Close() error              { return nil }

type signalGroup struct {
	d    *signals
	name string

	mu      sync.Mutex
	owner   int       // real uid of its processes, or anybody
	roots   []proc.ID // put there with Add, or Adopt
	cpu     time.Duration
	stopped map[proc.ID]bool // by Freeze; nil: an earlier life of the program may have stopped some
}

// anybody is the owner of a group whose user isn't known.
const anybody = -1

func (g *signalGroup) Name() string           { return g.name }
func (g *signalGroup) OOM() <-chan struct{}   { return nil }
func (g *signalGroup) SetLimits(Limits) error { return nil }

// Memory can't be told apart in the process table.
func (g *signalGroup) Memory() (Memory, error) { return Memory{-1, -1, -1}, nil }

func (g *signalGroup) Reclaim(context.Context, int64) error {
	return fmt.Errorf("take memory back from group %s: that takes cgroups: %w", g.name, errors.ErrUnsupported)
}

func (g *signalGroup) PageIn(context.Context) error { return nil }

func (g *signalGroup) Add(pid int) error {
	p, err := proc.Read(pid)
	if err != nil {
		return fmt.Errorf("put process %d into group %s: %w", pid, g.name, err)
	}
	uid, err := claims.UID(pid)
	if err != nil {
		return fmt.Errorf("put process %d into group %s: %w", pid, g.name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.roots, g.owner = append(g.roots, p.ID), uid
	return nil
}

// Adopt tells a group that was opened again which process was once put there with Add, unless it has ended.
func (g *signalGroup) Adopt(id proc.ID) {
	if p, err := proc.Read(id.PID); err == nil && p.ID == id {
		_ = g.Add(id.PID) // it may have ended just now
	}
}

// believes reports whether a process of a user can be in the group.
func (g *signalGroup) believes(uid int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.owner == anybody || uid == g.owner || origins.Privileged(uid)
}

// members returns the living processes of the group.
func (g *signalGroup) members() ([]proc.Process, error) {
	table, err := proc.Snapshot()
	if err != nil {
		return nil, fmt.Errorf("look for the processes of group %s: %w", g.name, err)
	}
	g.mu.Lock()
	roots := slices.Clone(g.roots)
	g.mu.Unlock()
	marked := make(map[proc.ID]bool)
	started, _ := g.d.origins.StartedIn(table, g.name)
	for _, m := range started {
		marked[m.ID] = g.believes(m.UID)
	}
	sessions := make(map[int]bool)
	found := func(p proc.Process) bool { return marked[p.ID] || slices.Contains(roots, p.ID) }
	for _, p := range table.Select(found) {
		// Only a session that was opened within the group belongs to it.
		if p.Session == p.PID {
			sessions[p.Session] = true
		}
	}
	for _, r := range roots {
		// The leader of a session may have ended before the rest of it. Its pid stays taken as long as the session
		// has members, so it can't mean another one by now, unless all of it has ended.
		if p, ok := table.Get(r.PID); !ok || p.ID == r {
			sessions[r.PID] = true
		}
	}
	all := table.Select(func(p proc.Process) bool { return sessions[p.Session] || found(p) })
	return slices.DeleteFunc(all, proc.Process.Dead), nil
}

func (g *signalGroup) Processes() ([]int, error) {
	members, err := g.members()
	var pids []int
	for _, p := range members {
		pids = append(pids, p.PID)
	}
	return pids, err
}

func (g *signalGroup) Usage() (Usage, error) {
	members, err := g.members()
	use := Usage{Peak: -1, OOMKills: -1, Starved: -1, Processes: len(members)}
	for _, p := range members {
		use.CPU += p.CPU
		use.Memory += p.RSS
	}
	// Processes that ended take their time with them; at least the sum never falls.
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cpu = max(g.cpu, use.CPU)
	use.CPU = g.cpu
	return use, err
}

func (g *signalGroup) send(members []proc.Process, sig syscall.Signal, except ...int) error {
	var errs []error
	for _, p := range members {
		if slices.Contains(except, p.PID) {
			continue
		}
		if err := proc.Signal(p.ID, sig); err != nil && !errors.Is(err, proc.ErrGone) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (g *signalGroup) Signal(sig syscall.Signal, except ...int) error {
	members, err := g.members()
	if err != nil {
		return err
	}
	return g.send(members, sig, except...)
}

func stopped(p proc.Process) bool { return p.State == 'T' || p.State == 't' }

// Freeze stops what it finds until a look finds nothing that runs: a process can fork before its own turn comes, but
// not after. One in a system call that doesn't end stops when it returns from that (callPatience).
func (g *signalGroup) Freeze(ctx context.Context) error {
	begun := time.Now()
	err := poll(ctx, func() (bool, error) {
		members, err := g.members()
		if err != nil {
			return false, err
		}
		g.noteEarlier(members)
		running := slices.DeleteFunc(members, stopped)
		g.note(running)
		if err := g.send(running, syscall.SIGSTOP); err != nil {
			return false, err
		}
		return len(running) == 0 || time.Since(begun) >= callPatience && !slices.ContainsFunc(running, func(p proc.Process) bool { return p.State != 'D' }), nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("freeze group %s: %w", g.name, err), g.Thaw(context.WithoutCancel(ctx)))
	}
	return nil
}

// note notes who is stopped by Freeze.
func (g *signalGroup) note(all []proc.Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range all {
		g.stopped[p.ID] = true
	}
}

// noteEarlier notes those that an earlier life of the program may have stopped: all that are there when this one begins to stop them.
func (g *signalGroup) noteEarlier(all []proc.Process) {
	g.mu.Lock()
	first := g.stopped == nil
	if first {
		g.stopped = map[proc.ID]bool{}
	}
	g.mu.Unlock()
	if first {
		g.note(all)
	}
}

// told returns the processes that Freeze has told to stop, in this life.
func (g *signalGroup) told() map[proc.ID]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.stopped)
}

// mayGoOn reports whether a process was stopped by Freeze: processes that were stopped before stay so. After a restart that is unknown.
func (g *signalGroup) mayGoOn(p proc.ID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped == nil || g.stopped[p]
}

// Thaw continues until nothing is stopped, or what is stops itself again and again. Processes that a debugger holds continue when it lets them.
func (g *signalGroup) Thaw(ctx context.Context) error {
	begun := time.Now()
	first := true
	err := poll(ctx, func() (bool, error) {
		members, err := g.members()
		if err != nil {
			return false, err
		}
		// Freeze may have told a process to stop a moment ago, which it has yet to do.
		told := g.told()
		still := slices.DeleteFunc(members, func(p proc.Process) bool { return (!stopped(p) || !g.mayGoOn(p.ID)) && !(first && told[p.ID]) })
		first = false
		if err := g.send(still, syscall.SIGCONT); err != nil {
			return false, err
		}
		return time.Since(begun) >= callPatience || !slices.ContainsFunc(still, func(p proc.Process) bool { return p.State == 'T' }), nil
	})
	if err != nil {
		return fmt.Errorf("thaw group %s: %w", g.name, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.stopped)
	return nil
}

func (g *signalGroup) Frozen() (bool, error) {
	members, err := g.members()
	if err != nil {
		return false, err
	}
	return len(members) > 0 && !slices.ContainsFunc(members, func(p proc.Process) bool { return !stopped(p) && p.State != 'D' }), nil
}

// Kill stops everything first, so that nothing forks away under its hands.
func (g *signalGroup) Kill(ctx context.Context) error {
	brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	_ = g.Freeze(brief)
	cancel()
	err := poll(ctx, func() (bool, error) {
		members, err := g.members()
		if err != nil || len(members) == 0 {
			return true, err
		}
		return false, g.send(members, syscall.SIGKILL)
	})
	if err != nil {
		return fmt.Errorf("kill group %s: %w", g.name, err)
	}
	return nil
}

func (g *signalGroup) Destroy(context.Context) error { return nil }
