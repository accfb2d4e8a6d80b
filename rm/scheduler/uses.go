package scheduler

import "heddle/yarn/records"

// Use is what an application has in a partition, and what it waits for there.
type Use struct {
	Label                   string
	Used, Reserved, Pending records.Resource // Used is without what is reserved
	Running                 int              // containers
	Waiting                 int64            // containers
	Master                  bool             // the ApplicationMaster counts there
	Asked                   bool             // it asks for something there, or has done so where nothing is shared
}

// UsesOf returns what an application has and waits for in each partition that it has to do with, the one without a label first; nil where there is
// but one partition.
func (v View) UsesOf(h AppHandle) (all []Use) {
	if len(v.parts) == 1 {
		return nil
	}
	for i := range v.parts {
		x := &v.parts[i]
		if !x.core.Has(h) {
			continue
		}
		a := &x.core.Apps[h]
		u := Use{Label: x.label, Used: a.Used.Sub(a.Reserved), Reserved: a.Reserved, Pending: a.PendingSum, Running: int(a.Running), Waiting: a.Pending}
		if i == 0 || !x.core.SharesNodes() || a.Held || u != (Use{Label: x.label}) { // it is known where it might get something shared
			u.Master, u.Asked = v.masters[h] == i, u.Waiting > 0 || !x.core.SharesNodes()
			all = append(all, u)
		}
	}
	return all
}

// ByLabel returns the queues in each partition but the one without a label, by the labels.
func (v View) ByLabel() map[string][]QueueView {
	all := map[string][]QueueView{}
	for i := range v.parts[1:] {
		x := &v.parts[i+1]
		all[x.label] = v.former.with(x.label, x.queues())
	}
	for name := range v.former {
		if _, known := v.byLabel[name]; !known {
			all[name] = v.goneViews(name)
		}
	}
	return all
}
