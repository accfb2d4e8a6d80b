package history

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"heddle/rm/access"
	"heddle/rm/ledger"
	"heddle/rm/ledger/usage"
	"heddle/rm/rest/table"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// Service serves the history of a ResourceManager.
type Service struct {
	Ledger Ledger
	Access *access.Checker
	Now    func() time.Time
}

// Ledger calls f with the committed ledger, which f must neither change nor keep.
type Ledger interface{ Read(f func(*ledger.State)) }

// Route adds the paths below a path.
func (s *Service) Route(api *yarnrest.API, base string) {
	for path, h := range map[string]yarnrest.Handler{"/history": s.history, "/usage": s.usage} {
		api.Handle(base+path, yarnrest.Methods{http.MethodGet: {Handle: h, Gives: table.Formats, Large: true, Shared: true}})
	}
}

// answer is the history of some series, which all have the same points.
type answer struct {
	Of      string   `yarn:"of"`
	From    int64    `yarn:"from"` // ms since 1970
	To      int64    `yarn:"to"`
	Step    int64    `yarn:"stepMs"`
	Begins  int64    `yarn:"begins"`     // of the first sample that is kept; 0: there is none
	Fine    int64    `yarn:"fineBegins"` // of those in steps of 10 s
	More    int      `yarn:"more"`       // series with less use, which are left out
	Hidden  int      `yarn:"hidden"`     // users whom the caller may not see
	Refused bool     `yarn:"refused"`    // there were more series than are kept
	Times   []int64  `yarn:"time"`       // of the points: the beginning of each step
	Samples []int64  `yarn:"samples"`    // of each
	Series  []series `yarn:"series"`
}

// series has the means of the samples of each point. Figures that are 0 throughout are left out.
type series struct {
	Name                string  `yarn:"name"`
	GuaranteedMB        []int64 `yarn:"guaranteedMB"`
	GuaranteedVCores    []int64 `yarn:"guaranteedVCores"`
	UsedMB              []int64 `yarn:"usedMB"`
	UsedVCores          []int64 `yarn:"usedVCores"`
	UsedGPUs            []int64 `yarn:"usedGPUs"`
	Containers          []int64 `yarn:"containers"`
	PendingMB           []int64 `yarn:"pendingMB"`
	PendingVCores       []int64 `yarn:"pendingVCores"`
	PendingContainers   []int64 `yarn:"pendingContainers"`
	SuspendedMB         []int64 `yarn:"suspendedMB"`
	SuspendedVCores     []int64 `yarn:"suspendedVCores"`
	SuspendedContainers []int64 `yarn:"suspendedContainers"`
}

func (s *series) columns() []*[]int64 {
	return []*[]int64{
		&s.GuaranteedMB, &s.GuaranteedVCores, &s.UsedMB, &s.UsedVCores, &s.UsedGPUs, &s.Containers, &s.PendingMB, &s.PendingVCores, &s.PendingContainers,
		&s.SuspendedMB, &s.SuspendedVCores, &s.SuspendedContainers,
	}
}

// view returns a copy of the series that a caller asks for and may see, their names, and how many users he may not see.
func (s *Service) view(c *yarnrest.Call, q *query) (h *usage.History, names []string, hidden int) {
	user := auth.From(c.Context()).User
	all := !s.Access.Enabled || s.Access.Admin(user)
	unseen := map[string]bool{}
	s.Ledger.Read(func(st *ledger.State) {
		h = st.Usage.View(func(name string) bool {
			if !q.wants(name) {
				return false
			}
			if of, is := usage.UserOf(name); is && !all && of != user {
				unseen[name] = true
				return false
			}
			return true
		})
	})
	for _, name := range h.Series() {
		if q.wants(name) && !unseen[name] {
			names = append(names, name)
		}
	}
	return h, names, len(unseen)
}

// history answers GET /history.
func (s *Service) history(c *yarnrest.Call) (yarnrest.Reply, error) {
	q, err := parse(c.Query(), s.Now().UnixMilli())
	if err == nil {
		err = table.SetFormat(c)
	}
	if err != nil {
		return yarnrest.Reply{}, yarnrest.BadRequest("%v", err)
	}
	h, names, hidden := s.view(c, &q)
	out := answer{Of: q.of, From: q.from, To: q.to, Hidden: hidden, Refused: h.Refused(), Step: q.step}
	out.Fine, out.Begins = h.Begins()
	names = largest(h, names, &q)
	out.More = max(0, len(names)-q.limit)
	for p := range h.Read(usage.Cluster, q.from, q.to, q.step) {
		out.Times, out.Samples, out.Step = append(out.Times, p.Time), append(out.Samples, p.Samples), p.Span
	}
	for _, name := range names[:min(len(names), q.limit)] {
		out.Series = append(out.Series, seriesOf(h, name, &q))
	}
	if c.Format == yarnrest.CSV {
		return out.csv(), nil
	}
	r := yarnrest.OK("history", yarnrest.Natural, out)
	r.Versioned = true
	return r, nil
}

func seriesOf(h *usage.History, name string, q *query) (out series) {
	if out.Name = name; name != usage.Cluster {
		out.Name = name[1:]
	}
	columns := out.columns()
	var any [len(usage.Names)]bool
	for p := range h.Read(name, q.from, q.to, q.step) {
		for i, column := range columns {
			mean := (p.Sum[i] + p.Samples/2) / max(p.Samples, 1)
			*column, any[i] = append(*column, mean), any[i] || p.Sum[i] != 0
		}
	}
	for i, column := range columns {
		if !any[i] {
			*column = nil
		}
	}
	return out
}

// largest sorts series by what they used, waited for and had guaranteed in the span, those with most first.
func largest(h *usage.History, names []string, q *query) []string {
	if len(names) <= 1 {
		return names
	}
	sums := map[string]int64{}
	for _, name := range names {
		for p := range h.Read(name, q.from, q.to, max(q.step, usage.CoarseStep)) {
			sums[name] += p.Sum[usage.UsedMB] + p.Sum[usage.PendingMB] + p.Sum[usage.GuaranteedMB]
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	return names
}

// csv is a table with a row for each series and point.
func (a *answer) csv() yarnrest.Reply {
	t := table.New(append([]string{"time", "name", "samples"}, usage.Names[:]...)...)
	for i := range a.Series {
		s := &a.Series[i]
		for j, at := range a.Times {
			row := []string{table.Stamp(at), s.Name, strconv.FormatInt(a.Samples[j], 10)}
			for _, column := range s.columns() {
				n := int64(0)
				if j < len(*column) {
					n = (*column)[j]
				}
				row = append(row, strconv.FormatInt(n, 10))
			}
			t.Add(row...)
		}
	}
	return t.Reply()
}
