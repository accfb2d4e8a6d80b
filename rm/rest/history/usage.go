package history

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/ledger/usage"
	"heddle/rm/rest/table"
	yarnrest "heddle/yarn/rest"
)

// accounts are sums by user or queue.
type accounts struct {
	By      string    `yarn:"by"`
	From    int64     `yarn:"from"` // ms since 1970, whole quarters of an hour
	To      int64     `yarn:"to"`
	Begins  int64     `yarn:"begins"` // of the first sample that is kept; 0: there is none
	Hidden  int       `yarn:"hidden"` // users whom the caller may not see
	More    int       `yarn:"more"`   // with less use, who are left out
	Account []account `yarn:"account"`
}

// account is what a user, or a queue with those below it, had in a span of time: amounts multiplied by seconds.
type account struct {
	Name             string `yarn:"name"`
	From             int64  `yarn:"from"` // of the day
	Samples          int64  `yarn:"samples"`
	MemorySeconds    int64  `yarn:"memoryMBSeconds"`
	VCoreSeconds     int64  `yarn:"vcoreSeconds"`
	GPUSeconds       int64  `yarn:"gpuSeconds"`
	ContainerSeconds int64  `yarn:"containerSeconds"`
	PendingMBSeconds int64  `yarn:"pendingMBSeconds"`   // waited for
	Suspended        int64  `yarn:"suspendedMBSeconds"` // part of memoryMBSeconds
	GuaranteedMB     int64  `yarn:"guaranteedMBSeconds"`
}

func (a *account) add(p *usage.Point) {
	a.Samples += p.Samples
	a.MemorySeconds += p.Seconds(usage.UsedMB)
	a.VCoreSeconds += p.Seconds(usage.UsedVCores)
	a.GPUSeconds += p.Seconds(usage.UsedGPUs)
	a.ContainerSeconds += p.Seconds(usage.Containers)
	a.PendingMBSeconds += p.Seconds(usage.PendingMB)
	a.Suspended += p.Seconds(usage.SuspendedMB)
	a.GuaranteedMB += p.Seconds(usage.GuaranteedMB)
}

func (a *account) empty() bool {
	return a.MemorySeconds+a.VCoreSeconds+a.GPUSeconds+a.ContainerSeconds+a.PendingMBSeconds == 0
}

// usage answers GET /usage.
func (s *Service) usage(c *yarnrest.Call) (yarnrest.Reply, error) {
	q, err := parseUsage(c.Query(), s.Now().UnixMilli())
	if err == nil {
		err = table.SetFormat(c)
	}
	if err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	q.from = q.from / usage.CoarseStep * usage.CoarseStep
	q.to = (q.to + usage.CoarseStep - 1) / usage.CoarseStep * usage.CoarseStep
	h, names, hidden := s.view(c, &q)
	out := accounts{By: strings.TrimSuffix(q.of, "s"), From: q.from, To: q.to, Hidden: hidden}
	_, out.Begins = h.Begins()
	out.Account, out.More = accountsOf(h, names, &q)
	if c.Format == yarnrest.CSV {
		return out.csv(), nil
	}
	return yarnrest.OK("usage", yarnrest.Natural, out), nil
}

// accountsOf sums up series, those with most use first, each by day.
func accountsOf(h *usage.History, names []string, q *query) (out []account, more int) {
	all := make([][]account, 0, len(names))
	sums := make([]account, 0, len(names))
	for _, name := range names {
		days, sum := byDay(h, name, q)
		if !sum.empty() {
			all, sums = append(all, days), append(sums, sum)
		}
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sums[b].MemorySeconds, sums[a].MemorySeconds), strings.Compare(sums[a].Name, sums[b].Name))
	})
	more = max(0, len(order)-maxAccounts)
	for _, i := range order[:len(order)-more] {
		out = append(out, all[i]...)
	}
	return out, more
}

func byDay(h *usage.History, name string, q *query) (days []account, sum account) {
	ms := day.Milliseconds()
	sum = account{Name: name[1:], From: q.from}
	for p := range h.Read(name, q.from, q.to, usage.CoarseStep) {
		sum.add(&p)
		begin := q.from
		if q.each == "day" {
			begin = max(q.from, (p.Time+q.offset)/ms*ms-q.offset)
		}
		if n := len(days); n == 0 || days[n-1].From != begin {
			days = append(days, account{Name: sum.Name, From: begin})
		}
		days[len(days)-1].add(&p)
	}
	return slices.DeleteFunc(days, func(a account) bool { return a.empty() }), sum
}

func (a *accounts) csv() yarnrest.Reply {
	t := table.New("from", a.By, "memoryMBSeconds", "vcoreSeconds", "gpuSeconds", "containerSeconds", "pendingMBSeconds", "suspendedMBSeconds")
	for i := range a.Account {
		x := &a.Account[i]
		row := []string{table.Stamp(x.From), x.Name}
		for _, n := range []int64{x.MemorySeconds, x.VCoreSeconds, x.GPUSeconds, x.ContainerSeconds, x.PendingMBSeconds, x.Suspended} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		t.Add(row...)
	}
	return t.Reply()
}
