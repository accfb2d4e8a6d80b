package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/option"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// heddleAPI is the prefix of the ResourceManager's own REST API.
const heddleAPI = "/ws/v1/heddle"

// member checks that there are several ResourceManagers, and that one has the id.
func (s *session) member(name, id string) (*cluster.Cluster, error) {
	if !s.conf.HAEnabled() {
		s.print("Cannot run -%s when ResourceManager HA is not enabled\n", name)
		return nil, failed
	}
	if ids := s.conf.RMIDs(); id != "" && !slices.Contains(ids, id) {
		fmt.Fprintf(s.err, "Illegal argument: %s is not a valid serviceId. It should be one of %s \n", id, strings.Join(ids, " "))
		return nil, failed
	}
	return s.cluster()
}

// haError prints the failure of a command for one ResourceManager.
func (s *session) haError(err error) error {
	if err == nil || s.Err() != nil {
		return err
	}
	fmt.Fprintf(s.err, "Operation failed: %s\n", message(err))
	return failed
}

func stateName(st pb.HAServiceState) string { return strings.ToLower(st.String()) }

func (s *session) serviceState(l *option.Line) error {
	id := l.Value("getServiceState")
	c, err := s.member("getServiceState", id)
	if err != nil {
		return err
	}
	resp, err := cluster.Member(s, c, id, protocol.GetServiceStatus, &pb.GetServiceStatusRequest{})
	if err != nil {
		return s.haError(err)
	}
	if s.json {
		return s.printValue(map[string]string{"id": id, "state": stateName(resp.GetState())})
	}
	s.print("%s\n", stateName(resp.GetState()))
	return nil
}

func (s *session) allServiceStates(*option.Line) error {
	c, err := s.member("getAllServiceState", "")
	if err != nil {
		return err
	}
	type state struct {
		ID      string `json:"id"`
		Address string `json:"address"`
		State   string `json:"state,omitempty"`
		Error   string `json:"error,omitempty"`
	}
	var all []state
	for _, id := range s.conf.RMIDs() {
		addr, err := c.MemberAddress(id)
		if err != nil {
			return err
		}
		one := state{ID: id, Address: addr.String()}
		resp, err := cluster.Member(s, c, id, protocol.GetServiceStatus, &pb.GetServiceStatusRequest{})
		if err != nil {
			one.Error = message(err)
		} else {
			one.State = stateName(resp.GetState())
		}
		all = append(all, one)
	}
	if s.json {
		return s.printValue(all)
	}
	for _, one := range all {
		text := one.State
		if one.Error != "" {
			text = "Failed to connect: " + one.Error
		}
		s.print("%-50s %-10s\n", one.Address, text)
	}
	return nil
}

// byUser marks a transition as requested by a person.
func byUser(l *option.Line) *pb.HAStateChangeRequestInfo {
	info := &pb.HAStateChangeRequestInfo{}
	info.SetReqSource(pb.HARequestSource_REQUEST_BY_USER)
	if l.Has("forcemanual") {
		info.SetReqSource(pb.HARequestSource_REQUEST_BY_USER_FORCED)
	}
	return info
}

func (s *session) toActive(l *option.Line) error {
	id := l.Value("transitionToActive")
	c, err := s.member("transitionToActive", id)
	if err != nil {
		return err
	}
	req := &pb.TransitionToActiveRequest{}
	req.SetReqInfo(byUser(l))
	_, err = cluster.Member(s, c, id, protocol.TransitionToActive, req)
	return s.haError(err)
}

func (s *session) toStandby(l *option.Line) error {
	id := l.Value("transitionToStandby")
	c, err := s.member("transitionToStandby", id)
	if err != nil {
		return err
	}
	req := &pb.TransitionToStandbyRequest{}
	req.SetReqInfo(byUser(l))
	_, err = cluster.Member(s, c, id, protocol.TransitionToStandby, req)
	return s.haError(err)
}

func (s *session) checkHealth(l *option.Line) error {
	id := l.Value("checkHealth")
	c, err := s.member("checkHealth", id)
	if err != nil {
		return err
	}
	_, err = cluster.Member(s, c, id, protocol.MonitorHealth, &pb.MonitorHealthRequest{})
	return s.haError(err)
}

// members lists the members of the replicated group. A stock ResourceManager isn't in one.
func (s *session) members(*option.Line) error {
	path := heddleAPI + "/members"
	if s.json {
		return notHeddle(s.printREST(path, nil))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct {
		Members struct {
			Leader  string        `json:"leader"`
			Member  []groupMember `json:"member"`
			Warning string        `json:"warning"`
		} `json:"members"`
	}
	if err := c.GetInto(s, path, nil, &answer); err != nil {
		return notHeddle(err)
	}
	s.print("%10s\t%25s\t%25s\t%11s\t%10s\t%s\n", "Id", "Raft-Address", "Web-Address", "State", "Behind", "Version")
	for _, m := range answer.Members.Member {
		s.print("%10s\t%25s\t%25s\t%11s\t%10s\t%s\n", m.ID, m.Raft, m.Web, m.state(), m.lag(), cmp.Or(m.Version, "-"))
	}
	for _, m := range answer.Members.Member {
		if m.Problem != "" {
			s.print("%s\n", m.Problem)
		}
	}
	if w := answer.Members.Warning; w != "" {
		s.print("%s\n", w)
	}
	return nil
}

// groupMember is a member of the group in the answer of the ResourceManager that was asked. Releases that ask no others leave the
// last fields out.
type groupMember struct {
	ID        string  `json:"id"`
	Raft      string  `json:"raftAddress"`
	Web       string  `json:"webAddress"`
	Leader    bool    `json:"leader"`
	Witness   bool    `json:"witness"`
	Reachable *bool   `json:"reachable"`
	Behind    *uint64 `json:"behind"`
	Version   string  `json:"version"`
	Problem   string  `json:"problem"`
}

// state returns the member's role, or that the asked member can't reach it, whatever its role was.
func (m *groupMember) state() string {
	switch {
	case m.Reachable != nil && !*m.Reachable:
		return "unreachable"
	case m.Leader:
		return "active"
	case m.Witness:
		return "witness"
	}
	return "standby"
}

// lag returns how many entries of the log the member lacks; "-" if unknown.
func (m *groupMember) lag() string {
	if m.Behind == nil {
		return "-"
	}
	return strconv.FormatUint(*m.Behind, 10)
}

// removeMember removes a ResourceManager from the group. The configuration need not name it any more.
func (s *session) removeMember(l *option.Line) error {
	c, err := s.member("removeMember", "")
	if err != nil {
		return err
	}
	req := &pb.RemoveMemberRequest{}
	req.SetId(l.Value("removeMember"))
	_, err = cluster.Admin(s, c, protocol.RemoveMember, req)
	return s.haError(err)
}

// forceLeader makes a ResourceManager lead without the others, or says what would be lost by that.
func forceLeader(s *session, l *option.Line) error {
	id := l.Value("forceLeader")
	c, err := s.member("forceLeader", id)
	if err != nil {
		return err
	}
	req := &pb.ForceLeaderRequest{}
	req.SetLose(l.Has("lose"))
	resp, err := cluster.Member(s, c, id, protocol.ForceLeader, req)
	if err != nil {
		return s.haError(err)
	}
	s.print("%s\n", resp.GetLoss())
	if !l.Has("lose") {
		fmt.Fprintf(s.err, "Nothing was changed. If that may be lost, add --lose.\n")
		return failed
	}
	s.print("%s leads as soon as it is started again, which a supervisor does by itself.\n", id)
	return nil
}

// notHeddle explains the error of a ResourceManager that lacks Heddle's own API.
func notHeddle(err error) error {
	if cluster.IsUnknownPath(err) {
		return errors.New("this is YARN's ResourceManager, which lacks this function; only Heddle's has it")
	}
	return err
}
