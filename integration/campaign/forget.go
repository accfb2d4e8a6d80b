package campaign

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"heddle/rm"
)

// state returns a ResourceManager's state folder.
func (s *theatre) state(name string) string { return filepath.Join(s.Home(name), "state", "rm-"+name) }

// oneDisk is held by the fault that takes a disk from the group: a group of three can lose one at a time.
const oneDisk = "a disk of the group"

// disk returns a member whose disk is lost. Beside a witness the other ResourceManager is held, too: the only other copy of
// what is acknowledged is there, so no fault may keep it away while the disk is lost.
func disk(s *theatre, r *rand.Rand) []string {
	names := slices.Clone(member(s, r))
	if len(witness(s, r)) > 0 {
		others := slices.DeleteFunc(slices.Clone(s.ResourceManagers), func(id string) bool { return id == names[0] })
		names = append(names, others...)
	}
	return append(names, oneDisk)
}

// onTwoDisks waits until what is acknowledged lies on two disks. Beside a witness a leader may acknowledge alone while
// the other ResourceManager is away. It says so, and the loss of its disk is then the loss of what it acknowledged.
func onTwoDisks(s *theatre) error {
	return until(context.Background(), "what is acknowledged lies on two disks", func() bool {
		group, ok := s.survey()
		return ok && !group.Members.OneDisk
	})
}

// empty removes the state folders of members.
func empty(s *theatre, names []string, _ *rand.Rand) error {
	if err := onTwoDisks(s); err != nil {
		return err
	}
	for _, name := range names[:1] {
		s.Kill(name)
		if err := os.RemoveAll(s.state(name)); err != nil {
			return err
		}
	}
	return nil
}

// putBack copies members' state folders, lets the members work on for a while, and puts the copies back.
func putBack(s *theatre, names []string, r *rand.Rand) error {
	ctx := context.Background()
	for _, name := range names[:1] {
		copied := filepath.Join(s.Dir(), "copy-"+name)
		s.Kill(name)
		if err := os.CopyFS(copied, os.DirFS(s.state(name))); err != nil {
			return errors.Join(err, s.Start(name))
		}
		if err := refill(s, names, r); err != nil {
			return err
		}
		calls, _ := s.world.Count()
		if err := until(ctx, "there is more than in the copy of "+name, func() bool { n, _ := s.world.Count(); return n > calls+20 }); err != nil {
			return err
		}
		if err := onTwoDisks(s); err != nil {
			return err
		}
		s.Kill(name)
		if err := errors.Join(os.RemoveAll(s.state(name)), os.CopyFS(s.state(name), os.DirFS(copied)), os.RemoveAll(copied)); err != nil {
			return err
		}
	}
	return nil
}

// refill starts members, and waits until each has its log and a vote.
func refill(s *theatre, names []string, r *rand.Rand) error {
	names = names[:1]
	if err := start(s, names, r); err != nil {
		return err
	}
	return until(context.Background(), fmt.Sprintf("%v has its log and a vote", names), func() bool { return s.full(names) })
}

// memberStatus is a member, as the leader sees it.
type memberStatus struct {
	ID        string `json:"id"`
	Voter     bool   `json:"voter"`
	Reachable bool   `json:"reachable"`
	Behind    uint64 `json:"behind"`
	Problem   string `json:"problem"`
}

// membership is the leader's answer about its group.
type membership struct {
	Members struct {
		OneDisk bool           `json:"oneDisk"`
		Member  []memberStatus `json:"member"`
	} `json:"members"`
}

// survey asks the leader for its group, and reports whether it answered.
func (s *theatre) survey() (body membership, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	lead, err := s.Leader(ctx, "")
	if err != nil || getJSON(ctx, "http://"+s.Address(lead, rm.WebAddress)+"/ws/v1/heddle/members", &body) != nil {
		return body, false
	}
	return body, true
}

// full reports whether members are full ones of the group, as the leader sees them.
func (s *theatre) full(names []string) bool {
	body, ok := s.survey()
	if !ok {
		return false
	}
	for _, name := range names {
		if !slices.ContainsFunc(body.Members.Member, func(m memberStatus) bool {
			return m.ID == name && m.Voter && m.Reachable && m.Behind < 1000 && m.Problem == ""
		}) {
			return false
		}
	}
	return true
}
