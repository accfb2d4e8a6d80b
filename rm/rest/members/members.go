// Package members shows the group of ResourceManagers, hands leadership over, and removes members.
package members

import (
	"context"
	"errors"
	"net/http"

	"heddle/rm/access"
	"heddle/rm/raft"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Group is the group, as this member knows it.
type Group interface {
	// LeaderID returns the id of the leader, "" if none is known; WebAddressOf returns host:port of a member's web port.
	LeaderID() string
	WebAddressOf(id string) (string, error)
	Members(ctx context.Context) ([]raft.MemberInfo, error)
	// Trouble says whether acknowledged work is on one disk only, and what an administrator should know about the group, "" for nothing.
	Trouble() (oneDisk bool, say string)
	Transfer(ctx context.Context, to string) error
	// RemoveMember takes a member out of the group. Only the leader can.
	RemoveMember(ctx context.Context, id string) error
}

// Service answers requests about the group.
type Service struct {
	Group  Group
	Access *access.Checker
	Epoch  func() int64 // changes of leader so far
	// Audited writes into the audit log what came of a call.
	Audited func(call string, h yarnrest.Handler) yarnrest.Handler
}

// Route adds the paths below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	base += "/members"
	api.Handle(base, yarnrest.Methods{http.MethodGet: {Handle: s.list}})
	post := func(path, call, what string, do func(*yarnrest.Call, string) (yarnrest.Reply, error)) {
		h := func(c *yarnrest.Call) (yarnrest.Reply, error) {
			user := auth.From(c.Context()).User
			if user == "" {
				return yarnrest.Reply{}, yarnrest.Unauthorized("Unable to obtain user name, user not authenticated")
			}
			if !s.Access.Admin(user) {
				return yarnrest.Reply{}, yarnrest.Forbidden("User %s is not an administrator (yarn.admin.acl) and can't %s", user, what)
			}
			return do(c, c.Var("member"))
		}
		api.Handle(base+"/{member}"+path, yarnrest.Methods{http.MethodPost: {Handle: s.Audited(call, h)}})
	}
	post("/lead", "transferLeadership", "hand leadership over", s.lead)
	post("/remove", "removeMember", "remove members", s.remove)
}

type memberList struct {
	Leader string       `yarn:"leader"`
	Term   int64        `yarn:"epoch"`
	Member []memberInfo `yarn:"member"`

	OneDisk bool   `yarn:"oneDisk"` // acknowledged work lies on one disk only
	Warning string `yarn:"warning,omitempty"`
}

type memberInfo struct {
	ID      string `yarn:"id"`
	Address string `yarn:"raftAddress"`
	Web     string `yarn:"webAddress"`
	Leader  bool   `yarn:"leader"`
	Self    bool   `yarn:"self"`
	Voter   bool   `yarn:"voter"`
	Witness bool   `yarn:"witness"`

	Reachable bool    `yarn:"reachable"`
	Behind    *uint64 `yarn:"behind"` // nil: it doesn't answer
	Version   string  `yarn:"version,omitempty"`
	Problem   string  `yarn:"problem,omitempty"`
}

func memberInfoOf(m *raft.MemberInfo, web string) memberInfo {
	out := memberInfo{
		ID: m.ID, Address: m.Address, Web: web, Leader: m.Leader, Self: m.Self, Voter: m.Voter, Witness: m.Witness(),
		Reachable: m.Reachable, Version: m.Version, Problem: m.Problem,
	}
	if m.Reachable {
		out.Behind = &m.Behind
	}
	return out
}

// list lists the ResourceManagers. Every member answers this itself, as far as it knows.
func (s *Service) list(c *yarnrest.Call) (yarnrest.Reply, error) {
	all, err := s.Group.Members(c.Context())
	if err != nil {
		return yarnrest.Reply{}, err
	}
	out := memberList{Leader: s.Group.LeaderID(), Term: s.Epoch()}
	out.OneDisk, out.Warning = s.Group.Trouble()
	for i := range all {
		// a member that the configuration lacks has no web address
		web, _ := s.Group.WebAddressOf(all[i].ID)
		out.Member = append(out.Member, memberInfoOf(&all[i], web))
	}
	return yarnrest.OK("members", yarnrest.Natural, out), nil
}

// lead hands leadership to a member.
func (s *Service) lead(c *yarnrest.Call, id string) (yarnrest.Reply, error) {
	if _, err := s.Group.WebAddressOf(id); err != nil {
		return yarnrest.Reply{}, yarnrest.NotFound("member %s is not in yarn.resourcemanager.ha.rm-ids", id)
	}
	if err := s.Group.Transfer(c.Context(), id); err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	return yarnrest.OK("transfer", yarnrest.Natural, memberList{Leader: id}), nil
}

// remove takes a member out of the group, and lists those that stay.
func (s *Service) remove(c *yarnrest.Call, id string) (yarnrest.Reply, error) {
	switch err := s.Group.RemoveMember(c.Context(), id); {
	case errors.Is(err, raft.ErrNoMember):
		return yarnrest.Reply{}, yarnrest.NotFound("%.100q %v", id, raft.ErrNoMember)
	case err != nil:
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	return s.list(c)
}
