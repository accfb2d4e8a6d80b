package raft

import (
	"errors"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"heddle/internal/await"
)

// A longer log of an earlier leader counted as more than a shorter one of a later leader, which has what was acknowledged last.
func TestLogsAreComparedByTermsBeforeAMemberIsForced(t *testing.T) {
	own := Status{Last: 10, LastTerm: 5}
	member := func(id string) MemberInfo {
		return MemberInfo{Member: Member{ID: id}, Voter: true, Incarnation: "f", Self: id == "rm1"}
	}
	for name, c := range map[string]struct {
		others []MemberInfo
		asked  map[string]Status
		known  uint64
		loss   string // "": refused
		why    string
	}{
		"an earlier leader's longer log": {
			[]MemberInfo{member("rm2"), member("rm3"), member("rm4")},
			map[string]Status{"rm2": {Last: 12, LastTerm: 4, Incarnation: "f"}},
			0,
			"rm2 answers, with the entries up to 12; rm3 doesn't answer, and its log is unknown here", "",
		},
		"a later leader's shorter log": {
			[]MemberInfo{member("rm2"), member("rm3")},
			map[string]Status{"rm2": {Last: 9, LastTerm: 6, Incarnation: "f"}},
			0,
			"", "rm2 answers and has the entries up to 9, of a later leader (term 6) than those up to 10 that rm1 has (term 5): force rm2",
		},
		"a longer log": {
			[]MemberInfo{member("rm2"), member("rm3")},
			map[string]Status{"rm2": {Last: 12, LastTerm: 5, Incarnation: "f"}},
			0,
			"", "and rm1 lacks 2 of them: force rm2",
		},
		"a longer log of a release that tells no terms": {
			[]MemberInfo{member("rm2"), member("rm3")}, map[string]Status{"rm2": {Last: 12}}, 0, "", "force rm2",
		},
		"a witness of a later leader's entries": {
			[]MemberInfo{member("rm2"), member(WitnessID)},
			map[string]Status{WitnessID: {Last: 9, LastTerm: 6, Incarnation: "f"}},
			10,
			"rm2 doesn't answer; it was known to have the entries up to 10; the witness knows of the entries up to 9, of a later leader (term 6) than those up to 10 that rm1 has (term 5)", "",
		},
		"a witness of more entries": {
			[]MemberInfo{member("rm2"), member(WitnessID)},
			map[string]Status{WitnessID: {Last: 13, LastTerm: 5, Incarnation: "f"}},
			0,
			"the witness knows of the entries up to 13, and rm1 lacks 3 of them", "",
		},
		"a witness of an earlier leader's entries elects this member": {
			[]MemberInfo{member("rm2"), member(WitnessID)}, map[string]Status{WitnessID: {Last: 13, LastTerm: 4, Incarnation: "f"}}, 0, "", "2 of 3 members answer, which is a majority",
		},
		"a witness that has lost its folder": {
			[]MemberInfo{member("rm2"), member(WitnessID)}, map[string]Status{WitnessID: {Incarnation: "g"}}, 0, "witness has lost its state folder", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			loss, err := judgeForce("rm1", own, append([]MemberInfo{member("rm1")}, c.others...), c.asked, func(MemberInfo) uint64 { return c.known })
			if (err != nil) != (c.why != "") || !strings.Contains(loss, c.loss) || err != nil && !strings.Contains(err.Error(), c.why) {
				t.Errorf("%q, %v", loss, err)
			}
		})
	}
	if _, err := judgeForce("rm1", Status{}, nil, nil, nil); err == nil {
		t.Error("a member that has nothing was forced")
	}
}

// The only member with all that was acknowledged is lost for good. An administrator makes the other one lead without it, which the witness prevented: it knows
// of entries that this one lacks. The log names the administrator. The lost member and the witness join the new group.
func TestAnAdministratorMakesAMemberLeadBesideAWitness(t *testing.T) {
	t.Parallel()
	log, said := test.NewNullLogger()
	members, w := trio(t, func(c *Config) { c.Log = logrus.NewEntry(log) })
	lead, _ := leader(t, members)
	propose(t, lead, 2)
	left := other(members, lead)
	await.Until(t, "both have all", func() bool { return len(left.fsm.all()) == 2 })
	left.stop(t)
	propose(t, lead, 3)
	lead.stop(t)
	left.restart(t)
	w.refuses(t, 1)
	var loss string
	await.Until(t, "the loss is told", func() bool {
		var err error
		loss, err = left.ForceLeader(t.Context(), "alice", false)
		return err == nil
	})
	if !strings.Contains(loss, "the witness knows of the entries up to") || !strings.Contains(loss, left.cfg.ID+" lacks 3 of them") {
		t.Errorf("the loss is %q", loss)
	}
	if _, err := left.ForceLeader(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	named := false
	for _, e := range said.AllEntries() {
		named = named || e.Data["user"] == "alice" && strings.Contains(e.Message, "-forceLeader")
	}
	if !named {
		t.Error("the log doesn't say who forced it")
	}
	<-left.Failed()
	left.restart(t)
	reign := leadership{members: members[:0:0]}
	reign.members = append(reign.members, left)
	now, term := reign.now(t)
	propose(t, now, 1)
	lead.empty(t)
	lead.restart(t)
	reign.members = append(reign.members, lead)
	await.Until(t, "the witness ends", func() bool {
		_, _ = now.AdoptMembers(term)
		select {
		case err := <-w.done:
			if !errors.Is(err, ErrReplaced) {
				t.Errorf("the witness ended with %v", err)
			}
			w.Witness = nil
			return true
		default:
			return false
		}
	})
	w.start(t)
	await.Until(t, "all have a vote", func() bool {
		now, term := reign.now(t)
		_, _ = now.AdoptMembers(term)
		infos, err := now.Members()
		votes := 0
		for _, m := range infos {
			if m.Voter {
				votes++
			}
		}
		return err == nil && votes == 3
	})
	await.Until(t, "the emptied member has what is left", func() bool { return len(lead.fsm.all()) == 3 })
	now, _ = reign.now(t)
	rest := other(members, now)
	now.stop(t)
	propose(t, first(leader(t, []*member{rest})), 1)
}
