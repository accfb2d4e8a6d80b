package raft

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"heddle/internal/await"
)

// Of a member that was killed, its last role remained on show, and nobody saw how far another one was behind.
func TestAKilledMemberIsSeenToBeUnreachable(t *testing.T) {
	t.Parallel()
	members := group(t, 3, func(c *Config) { c.Version = "release of " + c.ID })
	lead, _ := leader(t, members)
	propose(t, lead, 20)
	for _, asked := range members {
		await.Until(t, asked.cfg.ID+" sees all members", func() bool {
			infos, err := asked.Survey(t.Context())
			return err == nil && len(infos) == 3 && !slices.ContainsFunc(infos, func(m MemberInfo) bool {
				return !m.Reachable || m.Behind != 0 || m.Version != "release of "+m.ID || m.Problem != ""
			})
		})
	}
	killed := members[0]
	if killed == lead {
		killed = members[1]
	}
	killed.stop(t)
	for _, asked := range members {
		if asked == killed {
			continue
		}
		await.Until(t, asked.cfg.ID+" sees that "+killed.cfg.ID+" doesn't answer", func() bool {
			infos, err := asked.Survey(t.Context())
			i := slices.IndexFunc(infos, func(m MemberInfo) bool { return m.ID == killed.cfg.ID })
			return err == nil && !infos[i].Reachable && strings.Contains(infos[i].Problem, killed.cfg.ID+" at ")
		})
	}
}

func TestMembersAreComparedWithTheLeader(t *testing.T) {
	named := func(id string, leads bool) MemberInfo { return MemberInfo{Member: Member{ID: id}, Leader: leads} }
	members := []MemberInfo{named("rm1", false), named("rm2", true), named("rm3", false), named("rm4", false)}
	down := errors.New("refused")
	for _, x := range []struct {
		name string
		last []uint64
		errs []error
		want []uint64
	}{
		{"one lags", []uint64{100, 900, 900, 0}, make([]error, 4), []uint64{800, 0, 0, 900}},
		{"one has what the leader lacks, which will be cut off", []uint64{950, 900, 899, 900}, make([]error, 4), []uint64{0, 0, 1, 0}},
		{"the leader doesn't answer", []uint64{5, 0, 7, 7}, []error{nil, down, nil, nil}, []uint64{2, 0, 0, 0}},
		{"nobody answers", make([]uint64, 4), []error{down, down, down, down}, make([]uint64, 4)},
	} {
		statuses := make([]Status, len(members))
		for i, last := range x.last {
			statuses[i].Last = last
		}
		got := judge(members, statuses, x.errs)
		for i, m := range members {
			if h := got[m.ID]; h.Behind != x.want[i] || h.Reachable != (x.errs[i] == nil) || (h.Problem == "") != h.Reachable {
				t.Errorf("%s: %s is %+v, should be behind by %d", x.name, m.ID, h, x.want[i])
			}
		}
	}
}
