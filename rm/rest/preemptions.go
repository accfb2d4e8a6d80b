package rest

import (
	"heddle/rm/leader/level"
	"heddle/rm/scheduler/preempt"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

type preemptionList struct {
	Preemption []preemptionInfo `yarn:"preemption"`
}

// preemptionInfo is a decision to take resources from a container: what it was quoted at, and what it came to. Unknown values are
// missing. Times are in ms.
type preemptionInfo struct {
	Time      int64        `yarn:"time"`
	Container string       `yarn:"containerId"`
	Node      string       `yarn:"nodeId"`
	Queue     string       `yarn:"queue"`
	App       string       `yarn:"applicationId,omitempty"`
	Held      resourceInfo `yarn:"held"`
	Reason    string       `yarn:"reason"`
	Refused   bool         `yarn:"refused"`
	Quote     quoteInfo    `yarn:"quote"`
	Took      *int64       `yarn:"tookMs"`
	Moved     *int64       `yarn:"movedBytes"`
	Lasted    *int64       `yarn:"lastedMs"`
	Back      *int64       `yarn:"backMs"`
}

type quoteInfo struct {
	Wait    priceInfo `yarn:"wait"`
	Suspend priceInfo `yarn:"suspend"`
	Kill    priceInfo `yarn:"kill"`
}

type priceInfo struct {
	Room  *int64 `yarn:"roomMs"` // missing: unknown
	Lost  int64  `yarn:"lostMs"`
	Moved int64  `yarn:"movedBytes"`
	Back  int64  `yarn:"backMs"`
}

// preemptions answers GET /preemptions: the last decisions on containers of applications that the caller may see, the latest first.
func (s *server) preemptions(c *yarnrest.Call) (yarnrest.Reply, error) {
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	list := l.Levels().Accounts()
	var out preemptionList
	mayView := s.mayView(c)
	for i := range list {
		if mayView(list[i].Container.Attempt.App) {
			out.Preemption = append(out.Preemption, s.preemptionInfo(&list[i]))
		}
	}
	if err := hidden(c, len(list)-len(out.Preemption), "decisions"); err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("preemptions", yarnrest.Natural, out), nil
}

func (s *server) preemptionInfo(a *level.Account) preemptionInfo {
	out := preemptionInfo{
		Time: a.Time, Container: a.Container.String(), Node: a.Node.String(), Queue: a.Queue, Held: s.resource(a.Held), Reason: a.Reason, Refused: a.Refused,
		Quote: quoteInfo{priceOf(&a.Quote.Wait), priceOf(&a.Quote.Suspend), priceOf(&a.Quote.Kill)},
		Took:  known(a.Out), Moved: known(a.Moved), Lasted: known(a.Lasted), Back: known(a.Back),
	}
	if a.App != (records.ApplicationID{}) {
		out.App = a.App.String()
	}
	return out
}

func known(v int64) *int64 {
	if v < 0 {
		return nil
	}
	return &v
}

// mostRoom is in seconds: longer waits are shown as unknown.
const mostRoom = 1 << 40

func priceOf(p *preempt.Price) priceInfo {
	out := priceInfo{Lost: int64(1000 * p.Lost), Moved: p.Moved, Back: int64(1000 * p.Back)}
	if p.Room < mostRoom {
		ms := int64(1000 * p.Room)
		out.Room = &ms
	}
	return out
}
