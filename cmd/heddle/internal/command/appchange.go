package command

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/javafmt"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// killPoll is the time between two questions whether an application has been killed.
const killPoll = 200 * time.Millisecond

// ended reports whether an application has ended.
func ended(a *pb.ApplicationReport) bool {
	return a.GetYarnApplicationState() >= pb.YarnApplicationState_FINISHED
}

// appKill kills applications one after the other. It fails if none of them exists.
func (s *session) appKill(ids []string) error {
	result := error(failed)
	for _, text := range ids {
		switch err := s.appKillOne(text); {
		case err == nil:
			result = nil
		case !errors.Is(err, failed):
			return err
		}
	}
	return result
}

func (s *session) appKillOne(text string) error {
	a, err := s.appReport(text, "RM")
	if err != nil {
		return err
	}
	if ended(a) {
		s.print("Application %s has already finished \n", text)
		return nil
	}
	s.print("Killing application %s\n", text)
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.KillApplicationRequest{}
	req.SetApplicationId(a.GetApplicationId())
	for {
		resp, err := cluster.Call(s, c, protocol.ForceKillApplication, req)
		if err != nil {
			return err
		}
		if resp.GetIsKillCompleted() {
			return nil
		}
		select {
		case <-s.Done():
			return s.Err()
		case <-time.After(killPoll):
		}
	}
}

func (s *session) appMove(text, queue string) error {
	a, err := s.appReport(text, "RM")
	if err != nil {
		return err
	}
	if ended(a) {
		s.print("Application %s has already finished \n", text)
		return nil
	}
	s.print("Moving application %s to queue %s\n", text, queue)
	c, err := s.cluster()
	if err != nil {
		return err
	}
	req := &pb.MoveApplicationAcrossQueuesRequest{}
	req.SetApplicationId(a.GetApplicationId())
	req.SetTargetQueue(queue)
	if _, err := cluster.Call(s, c, protocol.MoveApplicationAcrossQueues, req); err != nil {
		return err
	}
	s.print("Successfully completed move.\n")
	return nil
}

func (s *session) appPriority(text, priority string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(priority, 10, 32)
	if err != nil {
		return fmt.Errorf("priority %q is not an integer", priority)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	p := &pb.Priority{}
	p.SetPriority(int32(n))
	req := &pb.UpdateApplicationPriorityRequest{}
	req.SetApplicationId(id.PB())
	req.SetApplicationPriority(p)
	s.print("Updating priority of an application %s\n", text)
	resp, err := cluster.Call(s, c, protocol.UpdateApplicationPriority, req)
	if err != nil {
		return err
	}
	if resp.HasApplicationPriority() && resp.GetApplicationPriority().GetPriority() == int32(n) {
		s.print("Successfully updated the application %s with priority '%s'\n", text, priority)
	} else {
		s.print("Updated priority of an application  %s to cluster max priority OR keeping old priority as application is in final states\n", text)
	}
	return nil
}

func (s *session) appLifetime(text, timeout string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(timeout, 10, 32)
	if err != nil || seconds < 0 {
		return fmt.Errorf("timeout %q is not a number of seconds", timeout)
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	expiry := javafmt.ISO8601(s.now().In(s.zone).Add(time.Duration(seconds) * time.Second))
	t := &pb.ApplicationUpdateTimeoutMap{}
	t.SetApplicationTimeoutType(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
	t.SetExpireTime(expiry)
	req := &pb.UpdateApplicationTimeoutsRequest{}
	req.SetApplicationId(id.PB())
	req.SetApplicationTimeouts([]*pb.ApplicationUpdateTimeoutMap{t})
	s.print("Updating timeout for given timeoutType: LIFETIME of an application %s\n", text)
	resp, err := cluster.Call(s, c, protocol.UpdateApplicationTimeouts, req)
	if err != nil {
		return err
	}
	for _, got := range resp.GetApplicationTimeouts() {
		if got.GetApplicationTimeoutType() == pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME && got.GetExpireTime() != expiry {
			s.print("Updated lifetime of an application %s to queue max/default lifetime. New expiry time is %s\n", text, got.GetExpireTime())
			return nil
		}
	}
	s.print("Successfully updated LIFETIME of an application %s. New expiry time is %s\n", text, expiry)
	return nil
}
