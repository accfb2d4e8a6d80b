package campaign

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"heddle/integration/daemons"
	"heddle/rm"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// kind is a kind of fault in a cluster of processes.
type kind struct {
	name  string
	parts int // its weight
	// who returns the daemons to strike. A fault waits for daemons that another fault holds.
	who    func(s *theatre, r *rand.Rand) []string
	strike func(s *theatre, names []string, r *rand.Rand) error
	mend   func(s *theatre, names []string, r *rand.Rand) error
}

func (k kind) weight() (string, int) { return k.name, k.parts }

var kinds = []kind{
	{"leader killed", 4, leader, kill, start},
	{"follower killed", 2, follower, kill, start},
	{"witness killed", 2, witness, kill, start},
	{"witness frozen", 1, witness, send(syscall.SIGSTOP), send(syscall.SIGCONT)},
	{"witness cut off", 1, witness, isolate, join},
	{"node killed", 4, node, kill, start},
	{"ResourceManagers killed", 2, members, kill, start},
	{"everybody killed", 1, everybody, kill, start},
	{"leader stopped", 1, leader, stop, start},
	{"node stopped", 1, node, stop, start},
	{"leader frozen", 3, leader, send(syscall.SIGSTOP), send(syscall.SIGCONT)},
	{"follower frozen", 2, follower, send(syscall.SIGSTOP), send(syscall.SIGCONT)},
	{"node frozen", 3, node, send(syscall.SIGSTOP), send(syscall.SIGCONT)},
	{"leader cut off", 3, leader, isolate, join},
	{"follower cut off", 2, follower, isolate, join},
	{"node cut off", 3, node, isolate, join},
	{"disk of the leader full", 2, leader, fill, drain},
	{"disk of a follower full", 1, follower, fill, drain},
	{"disk of a node full", 3, node, fill, drain},
	{"log of a member torn", 3, member, tear, start},
	{"logs of all members torn", 1, members, tear, start},
	{"folder of a member emptied", 2, disk, empty, refill},
	{"older copy of a member's folder put back", 2, disk, putBack, refill},
	{"leader hands over while a member is frozen", 2, follower, handOver, send(syscall.SIGCONT)},
	{"process of a container killed", 4, nobody, killContainer, nothing},
}

func find(name string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
}

func leader(s *theatre, _ *rand.Rand) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	id, err := s.Leader(ctx, "")
	if err != nil {
		return nil // another fault has ended it
	}
	return []string{id}
}

func follower(s *theatre, r *rand.Rand) []string {
	lead := leader(s, r)
	others := slices.DeleteFunc(slices.Clone(s.ResourceManagers), func(id string) bool { return slices.Contains(lead, id) })
	return one(others, r)
}

func one(names []string, r *rand.Rand) []string { return names[r.IntN(len(names)):][:1] }

func member(s *theatre, r *rand.Rand) []string  { return one(s.ResourceManagers, r) }
func node(s *theatre, r *rand.Rand) []string    { return one(s.NodeManagers, r) }
func members(s *theatre, _ *rand.Rand) []string { return s.ResourceManagers }
func everybody(s *theatre, _ *rand.Rand) []string {
	return s.Daemons()
}

// witness returns the witness, or none in a group of three.
func witness(s *theatre, _ *rand.Rand) []string {
	if slices.Contains(s.Daemons(), daemons.Witness) {
		return []string{daemons.Witness}
	}
	return []string{}
}

func nobody(*theatre, *rand.Rand) []string { return []string{} }

// each turns a fault of one daemon into one of several.
func each(f func(c *daemons.Cluster, name string) error) func(*theatre, []string, *rand.Rand) error {
	return func(s *theatre, names []string, _ *rand.Rand) error {
		for _, name := range names {
			if err := f(s.Cluster, name); err != nil {
				return err
			}
		}
		return nil
	}
}

var (
	kill    = each(func(c *daemons.Cluster, name string) error { c.Kill(name); return nil })
	stop    = each((*daemons.Cluster).Stop)
	start   = each(func(c *daemons.Cluster, name string) error { return c.Start(name) })
	isolate = each(func(c *daemons.Cluster, name string) error { c.Isolate(name); return nil })
	join    = each(func(c *daemons.Cluster, name string) error { c.Join(name); return nil })
	fill    = each((*daemons.Cluster).Fill)
	drain   = each((*daemons.Cluster).Drain)
	nothing = each(func(*daemons.Cluster, string) error { return nil })
)

func send(sig syscall.Signal) func(*theatre, []string, *rand.Rand) error {
	return each(func(c *daemons.Cluster, name string) error { c.Signal(name, sig); return nil })
}

func tear(s *theatre, names []string, r *rand.Rand) error {
	for _, name := range names {
		s.Kill(name)
		if err := s.TearLog(name, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// handOver makes the leader give its leadership away, like an administrator who doesn't know that a member has gone.
func handOver(s *theatre, names []string, r *rand.Rand) error {
	if err := send(syscall.SIGSTOP)(s, names, r); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	lead, err := s.Leader(ctx, "")
	if err != nil {
		return nil // another fault has ended it
	}
	ep := s.client.Endpoint(s.Address(lead, rm.AdminAddress), protocol.HAService, ipc.Identity{User: "root"})
	info := &pb.HAStateChangeRequestInfo{}
	info.SetReqSource(pb.HARequestSource_REQUEST_BY_USER_FORCED)
	req := &pb.TransitionToStandbyRequest{}
	req.SetReqInfo(info)
	_, _ = protocol.TransitionToStandby.Call(ctx, ep, req) // it may refuse, as long as there is a leader afterwards
	return nil
}

func killContainer(s *theatre, _ []string, r *rand.Rand) error {
	strays := s.Strays()
	if len(strays) == 0 {
		return nil
	}
	err := syscall.Kill(strays[r.IntN(len(strays))].PID, syscall.SIGKILL)
	if err != nil && err != syscall.ESRCH {
		return err
	}
	return nil
}
