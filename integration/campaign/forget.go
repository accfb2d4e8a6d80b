package main

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

// state is a ResourceManager's state folder.
func (s *stage) state(name string) string { return filepath.Join(s.Home(name), "state", "rm-"+name) }

// oneDisk is held by the fault that takes a disk from the group: a group of three can lose one at a time.
const oneDisk = "a disk of the group"

func disk(s *stage, r *rand.Rand) []string { return append(slices.Clone(member(s, r)), oneDisk) }

// empty has members lose their state folders.
func empty(s *stage, names []string, _ *rand.Rand) error {
	for _, name := range names[:1] {
		s.Kill(name)
		if err := os.RemoveAll(s.state(name)); err != nil {
			return err
		}
	}
	return nil
}

// putBack copies members' state folders, lets the members work on for a while, and puts the copies back.
func putBack(s *stage, names []string, r *rand.Rand) error {
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
		s.Kill(name)
		if err := errors.Join(os.RemoveAll(s.state(name)), os.CopyFS(s.state(name), os.DirFS(copied)), os.RemoveAll(copied)); err != nil {
			return err
		}
	}
	return nil
}

// refill starts members, and waits until each has its log and a vote.
func refill(s *stage, names []string, r *rand.Rand) error {
	names = names[:1]
	if err := start(s, names, r); err != nil {
		return err
	}
	return until(context.Background(), fmt.Sprintf("%v has its log and a vote", names), func() bool { return s.full(names) })
}

// full reports whether members are full ones of the group, as the leader sees them.
func (s *stage) full(names []string) bool {
	type member struct {
		ID        string `json:"id"`
		Voter     bool   `json:"voter"`
		Reachable bool   `json:"reachable"`
		Behind    uint64 `json:"behind"`
		Problem   string `json:"problem"`
	}
	var body struct {
		Members struct {
			Member []member `json:"member"`
		} `json:"members"`
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	lead, err := s.Leader(ctx, "")
	if err != nil || getJSON(ctx, "http://"+s.Address(lead, rm.WebAddress)+"/ws/v1/heddle/members", &body) != nil {
		return false
	}
	for _, name := range names {
		if !slices.ContainsFunc(body.Members.Member, func(m member) bool {
			return m.ID == name && m.Voter && m.Reachable && m.Behind < 1000 && m.Problem == ""
		}) {
			return false
		}
	}
	return true
}
