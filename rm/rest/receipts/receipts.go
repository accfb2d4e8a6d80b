// Package receipts renders receipts of applications for REST.
package receipts

import (
	"heddle/rm/receipt"
	"heddle/rm/view"
	"heddle/yarn/records"
)

// Receipt says where an application's time went. Times are in ms since 1970, durations in ms.
type Receipt struct {
	App       string `yarn:"applicationId"`
	State     string `yarn:"state"`
	Final     string `yarn:"finalStatus"`
	From      int64  `yarn:"from"`
	To        int64  `yarn:"to"`
	Total     int64  `yarn:"totalMs"`
	Parts     []Part `yarn:"part"` // the largest first; they sum to Total
	Steps     []Step `yarn:"step"` // in the order of time, without gaps
	Forgotten int64  `yarn:"containersForgotten"`
	// Live counts containers of which their nodes haven't told the end: whether they had to fetch files, and for how long there was no processor, isn't known yet.
	Live int `yarn:"containersLive,omitempty"`
	// Of tasks, as the ApplicationMaster tells: those that are no longer known, and what became of copies.
	TasksForgotten int64 `yarn:"tasksForgotten,omitempty"`
	CopiesWon      int   `yarn:"copiesWon,omitempty"`
	CopiesLost     int   `yarn:"copiesLost,omitempty"`
	LostMS         int64 `yarn:"overtakenMs,omitempty"` // in tries that others overtook, beside the steps
}

// Part is the time of all steps of a kind.
type Part struct {
	Kind   string `yarn:"kind"`
	Detail string `yarn:"detail,omitempty"`
	MS     int64  `yarn:"ms"`
}

// Step is as in receipt.Step.
type Step struct {
	Kind      string `yarn:"kind"`
	Detail    string `yarn:"detail,omitempty"`
	From      int64  `yarn:"from"`
	To        int64  `yarn:"to"`
	Container string `yarn:"containerId,omitempty"`
	Node      string `yarn:"nodeId,omitempty"`
	Queue     string `yarn:"queue,omitempty"` // for which the container is suspended, or the user
	User      string `yarn:"user,omitempty"`
	Why       string `yarn:"reason,omitempty"` // of a wait until now
}

// Of returns the receipt of an application in a state, as REST names it, until now (ms since 1970). waits is as in receipt.Application.
func Of(t *view.Timeline, state, waits string, now int64) Receipt {
	a := receipt.Application{Submitted: t.App.SubmitTime, Attempts: t.Attempts, Containers: t.Containers, Forgotten: t.More, Waits: waits, Course: t.Course}
	if t.App.State.Ended() {
		a.Finished = t.App.FinishTime
	}
	steps := receipt.Of(&a, now)
	out := Receipt{
		App: t.App.ID.String(), State: state, Final: records.FinalStatusName(t.App.FinalStatus), From: a.Submitted, To: a.Submitted, Forgotten: t.More,
	}
	for i := range t.Containers {
		if t.Containers[i].Live {
			out.Live++
		}
	}
	for _, p := range receipt.Sums(steps) {
		out.Parts, out.Total, out.To = append(out.Parts, Part{string(p.Kind), p.Detail, p.MS}), out.Total+p.MS, out.To+p.MS
	}
	for _, x := range steps {
		row := Step{Kind: string(x.Kind), Detail: x.Detail, From: x.From, To: x.To, Queue: x.For.Queue, User: x.For.User, Why: x.Why}
		if x.Container.ID != 0 {
			row.Container, row.Node = x.Container.String(), x.Node.String()
		}
		out.Steps = append(out.Steps, row)
	}
	copies := receipt.CopiesOf(t.Course)
	if out.CopiesWon, out.CopiesLost, out.LostMS = copies.Won, copies.Lost, copies.LostMS; t.Course != nil {
		out.TasksForgotten = t.Course.TasksLost
	}
	return out
}
