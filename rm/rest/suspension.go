package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// suspensionInfo is how a container is, or was, suspended or shrunk.
type suspensionInfo struct {
	Since   int64  `yarn:"since,omitempty"` // ms since 1970; missing: it has what it claims
	Times   int32  `yarn:"times"`
	Total   int64  `yarn:"totalMs"` // until now
	Queue   string `yarn:"queue,omitempty"`
	App     string `yarn:"applicationId,omitempty"`
	User    string `yarn:"user,omitempty"`
	For     string `yarn:"for,omitempty"`
	Text    string `yarn:"text,omitempty"`
	Breathe int64  `yarn:"breatheMs,omitempty"`       // less than 0: never
	Pending int64  `yarn:"unreportedSince,omitempty"` // ms since 1970: since when its node has not reported that it has its level

	Short *resourceInfo `yarn:"short"` // what its node lacks for its return

	Node *nodeLevel `yarn:"onNode"`
}

// nodeLevel is what a node says of a container.
type nodeLevel struct {
	Level   string       `yarn:"level"`
	Held    resourceInfo `yarn:"held"`
	Swapped int64        `yarn:"swappedBytes"`
	Took    int64        `yarn:"tookMs"`
	Reason  string       `yarn:"reason,omitempty"`
}

func (s *server) suspension(c *view.Container) *suspensionInfo {
	x := s.View.SuspendedOf(*c)
	if c.Level == ledgerpb.Level_RUNNING && c.Suspension().Times == 0 && x.UnderWay == nil {
		return nil
	}
	return s.suspensionInfo(&x)
}

func (s *server) suspensionInfo(c *view.Suspended) *suspensionInfo {
	x, now := c.Suspension(), s.View.Now().UnixMilli()
	out := &suspensionInfo{Since: x.Since, Times: x.Times, Total: x.For(now), Queue: x.Queue, User: x.User, Breathe: x.BreathEvery}
	if x.App != (records.ApplicationID{}) {
		out.App = x.App.String()
	}
	if c.UnderWay != nil {
		out.Pending = c.UnderWay.Since
	} else if c.Level == ledgerpb.Level_RUNNING {
		return out
	}
	out.For, out.Text = c.For(), c.Text(now)
	short := s.resource(c.Short)
	out.Short = &short
	if c.Known {
		r := &c.Report
		out.Node = &nodeLevel{strings.TrimPrefix(r.Level.String(), "LEVEL_"), s.resource(r.Held), r.Swapped, r.Took, r.Reason}
	}
	return out
}

// suspend answers POST /containers/{container}/suspend. The parameters are level (shrunk, frozen or reclaimed), hold (memory-mb=512,vcores=1)
// and breathe (45s or never). Without them the container is brought as far down as its node can, breathing.
func (s *server) suspend(c *yarnrest.Call) (yarnrest.Reply, error) {
	q := c.Query()
	wish := level.Wish{User: caller(c)}
	var err error
	if wish.Level, err = level.ParseLevel(q.Get("level")); err == nil {
		wish.Breathe, err = level.ParseBreathe(q.Get("breathe"))
	}
	for _, name := range [...]string{"level", "breathe", "hold"} {
		if q.Has(name) && q.Get(name) == "" { // a variable of a script may have been unset
			err = fmt.Errorf("%s is empty: give it a value, or leave it out", name)
		}
	}
	if err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("container %s: %v", c.Var("container"), err)
	}
	if text := q.Get("hold"); text != "" {
		found, _, err := s.findContainer(c)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		held, err := s.parseAmount("hold", text, found.Held()) // of what isn't named it keeps what it has
		if err != nil {
			return yarnrest.Reply{}, err
		}
		wish.Held = &held
	}
	after, err := s.onContainer(c, "suspend", func(l *leader.Leader, id records.ContainerID) error {
		return s.Door.Suspend(c.Context(), l, s.visits.Caller(c), id, wish)
	})
	return confirmed(after, err)
}

// resume answers POST /containers/{container}/resume. A caller that repeats a request, as an answer was lost, isn't refused, but told that the container ran already.
func (s *server) resume(c *yarnrest.Call) (yarnrest.Reply, error) {
	ran := false
	after, err := s.onContainer(c, "resume", func(l *leader.Leader, id records.ContainerID) error {
		_, underWay := l.Levels().UnderWayOf(id)
		before, ok := s.View.Container(id)
		ran = ok && !underWay && before.Level == ledgerpb.Level_RUNNING
		return s.Door.Resume(c.Context(), l, s.visits.Caller(c), id)
	})
	after.Ran = ran && err == nil
	return confirmed(after, err)
}

// confirmed answers with a container. A change that is on record, but that its node has not reported yet, is accepted.
func confirmed(after ownContainer, err error) (yarnrest.Reply, error) {
	reply := yarnrest.OK("container", yarnrest.Natural, after)
	var e *level.Unconfirmed
	if errors.As(err, &e) {
		reply.Status, err = http.StatusAccepted, nil
	}
	return reply, err
}
