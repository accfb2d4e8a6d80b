package hopper

import (
	"fmt"
	"math"
	"slices"

	"heddle/sim/study/copies"
	"heddle/sim/study/measure"
	"heddle/yarn/records"
)

// Parameters are those of the study.
var Parameters = []measure.Parameter{
	{Name: "parts", Default: "", What: "example, policies, phases, speculation, epsilon, locality, groups, causes and largest (jobs, why they gain least); all otherwise"},
	{Name: "nodes", Default: "10", What: "nodes of 16 cores"},
	{Name: "jobs", Default: "1000", What: "jobs, of which the first fifth and the last tenth aren't counted"},
	{Name: "load", Default: "0.9", What: "part of the cores that tasks keep busy, if slow ones get copies at once"},
	{Name: "how", Default: "late", What: "which tasks jobs copy: late, mantri, grass, greedy"},
	{Name: "epsilon", Default: "0.1", What: "ε where it isn't swept"},
	{Name: "budget", Default: "0.2", What: "part of the cluster that budgeted speculation has for copies"},
	{Name: "remote", Default: "1.5", What: "by which a task takes longer away from its input, in the part on locality"},
}

// study is a run of the study under way.
type study struct {
	*measure.Options
	tables []measure.Table
}

// Tables returns the evaluation of chapter 6, and the example of chapter 2.
func Tables(o *measure.Options) ([]measure.Table, error) {
	h := &study{Options: o}
	for _, part := range []struct {
		name string
		run  func() error
	}{
		{"example", h.example},
		{"policies", h.policies},
		{"phases", h.byPhases},
		{"speculation", h.bySpeculation},
		{"epsilon", h.byEpsilon},
		{"locality", h.byLocality},
		{"groups", h.byGroups},
		{"causes", h.causes},
		{"largest", h.largest},
	} {
		if !o.On("parts", part.name) {
			continue
		}
		if err := part.run(); err != nil {
			return nil, err
		}
		if err := o.Failed(); err != nil {
			return nil, err
		}
	}
	return h.tables, o.Failed()
}

// mix returns the workload as parameters have it.
func (h *study) mix() mix {
	return mix{jobs: int(max(10, h.Number("jobs"))), nodes: int(max(1, h.Number("nodes"))), load: max(.01, h.Number("load")), phases: 1, detection: 1}
}

// way is a policy with what it is told.
type way struct {
	policy   string
	settings map[string]string
	budget   float64
	groups   bool
	silent   bool
	last     bool
	later    bool
}

var (
	bySRPT = way{policy: copies.SRPT}
	byFair = way{policy: "fair"}
	byDRF  = way{policy: "choosy"} // without constraints
)

// hopper is Hopper with other settings than the policy's own.
func (h *study) hopper(settings ...string) way {
	x := way{policy: "hopper", settings: map[string]string{"epsilon": h.Text("epsilon")}}
	for i := 0; i+1 < len(settings); i += 2 {
		x.settings[settings[i]] = settings[i+1]
	}
	return x
}

// jobRuns is how the jobs of a workload went, by seed.
type jobRuns struct {
	jobs [][]copies.Job
	out  [][]copies.Outcome
}

// run simulates a workload with each seed.
func (h *study) run(m mix, x way, how copies.Speculation) (r jobRuns, err error) {
	for seed := range h.Seeds.All() {
		jobs := m.draw(seed)
		out, err := copies.Run(copies.Setup{
			Nodes: m.nodes, Node: hopperNode, Policy: x.policy, Settings: x.settings, How: how, Budget: x.budget, Beat: 100, Remote: h.Number("remote"), Groups: x.groups, Silent: x.silent, Last: x.last, Later: x.later,
		}, jobs)
		if err != nil {
			return r, err
		}
		from, to := len(jobs)/5, len(jobs)*9/10
		r.jobs, r.out = append(r.jobs, jobs[from:to]), append(r.out, out[from:to])
	}
	return r, nil
}

// how returns the algorithm that the parameter names.
func (h *study) how() copies.Speculation {
	x := copies.Speculation(h.Text("how"))
	if !slices.Contains([]copies.Speculation{copies.Greedy, copies.LATE, copies.Mantri, copies.GRASS}, x) {
		h.Fail("how", "late, mantri, grass or greedy")
	}
	return x
}

// took returns how long the jobs of a seed took that are of a kind, in s; nil: all.
func (r jobRuns) took(i int, of func(*copies.Job) bool) (all []float64) {
	for k := range r.jobs[i] {
		if j := &r.jobs[i][k]; of == nil || of(j) {
			all = append(all, float64(r.out[i][k].Ended-j.At)/1000)
		}
	}
	return all
}

// mean returns the mean duration of jobs of a kind.
func (r jobRuns) mean(of func(*copies.Job) bool) (s measure.Sample) {
	for i := range r.jobs {
		s = append(s, measure.Sample(r.took(i, of)).Mean())
	}
	return s
}

// sum returns a count of the counted jobs, by their tasks, in percent.
func (r jobRuns) sum(of func(*copies.Outcome) int) (s measure.Sample) {
	for i := range r.jobs {
		n, tasks := 0, 0
		for k := range r.jobs[i] {
			n += of(&r.out[i][k])
			tasks += len(r.jobs[i][k].Phases[0].Tasks)
		}
		s = append(s, 100*float64(n)/float64(tasks))
	}
	return s
}

// percentile returns a percentile over jobs of by how many percent each took longer.
func (r jobRuns) percentile(base jobRuns, p float64) (s measure.Sample) {
	for i := range r.jobs {
		ours, theirs := r.took(i, nil), base.took(i, nil)
		for k := range ours {
			ours[k] = 100 * (ours[k] - theirs[k]) / theirs[k]
		}
		slices.Sort(ours)
		s = append(s, ours[min(len(ours)-1, int(p/100*float64(len(ours))))])
	}
	return s
}

// bin is jobs with so many tasks.
type bin struct {
	name     string
	from, to int
}

// bins have no bounds in the text.
var bins = []bin{{"to 50 tasks", 0, 50}, {"51 to 150", 51, 150}, {"151 to 500", 151, 500}, {"over 500", 501, math.MaxInt}}

// has reports whether a job belongs to a bin.
func (b *bin) has(j *copies.Job) bool {
	n := j.Tasks()
	return n >= b.from && n <= b.to
}

func percents(s measure.Sample) measure.Cell {
	c := s.Cell(1)
	c.Percent = true
	return c
}

// example is figures 2.1 to 2.3.
func (h *study) example() error {
	t := measure.Table{Key: "example", Title: "The example of figures 2.1 to 2.3, in six slots: ends of A and B", Columns: []string{"policy", "A", "B"}, Notes: []string{"The text: 5 and 8, 6 and 8, 3 and 7, 6 and 8, 3 and 6."}}
	one := func(lengths ...int64) copies.Job {
		j := copies.Job{User: "u", Size: records.NewResource(1024, 1), Detection: 1000, Phases: make([]copies.Phase, 1)}
		for _, n := range lengths {
			j.Phases[0].Tasks = append(j.Phases[0].Tasks, copies.Task{Original: n, Copy: min(n, 2000)})
		}
		return j
	}
	jobs := []copies.Job{one(8000, 3000, 3000, 3000), one(6000, 6000, 3000, 3000, 1000, 1000)}
	for _, x := range []struct {
		name string
		way
	}{
		{"SRPT", bySRPT},
		{"Fair", byFair},
		{"SRPT, budgeted", way{policy: copies.SRPT, budget: 1. / 3}},
		{"Fair, budgeted", way{policy: "fair", budget: 1. / 3}},
		{"Hopper", h.hopper("epsilon", "1", "beta", "1.6")},
	} {
		out, err := copies.Run(copies.Setup{Nodes: 1, Node: records.NewResource(6*1024, 6), Policy: x.policy, Settings: x.settings, How: copies.Greedy, Budget: x.budget}, jobs)
		if err != nil {
			return err
		}
		t.Add(x.name, measure.Sample{float64(out[0].Ended) / 1000}.Cell(0), measure.Sample{float64(out[1].Ended) / 1000}.Cell(0))
	}
	h.tables = append(h.tables, t)
	return nil
}

// policies compares Hopper with the baselines: figures 6.1, 6.2a and 6.5.
func (h *study) policies() error {
	m := h.mix()
	t := measure.Table{
		Key: "policies", Title: fmt.Sprintf("%d nodes of %d cores, %d jobs: mean duration in s; Hopper's change against each policy, of all jobs, by their tasks, and percentiles over jobs", m.nodes, coresOfNode, m.jobs),
		Columns: []string{"policy", "mean", "copies %", "useful %", "all", bins[0].name, bins[1].name, bins[2].name, bins[3].name, "P10", "P50", "P90"},
		Notes:   []string{"The text: −50 % against SRPT, small jobs −29 to −40 %, large ones −80 %; more than −70 % against Fair and DRF."},
	}
	ours, err := h.run(m, h.hopper(), h.how())
	if err != nil {
		return err
	}
	for _, x := range []struct {
		name string
		way
	}{{"Hopper", h.hopper()}, {"SRPT", bySRPT}, {"SRPT, budgeted", way{policy: copies.SRPT, budget: h.Number("budget")}}, {"Fair", byFair}, {"DRF", byDRF}} {
		r := ours
		if x.policy != "hopper" {
			if r, err = h.run(m, x.way, h.how()); err != nil {
				return err
			}
		}
		cells := []measure.Cell{
			r.mean(nil).Cell(1), r.sum(func(o *copies.Outcome) int { return o.Copies }).Cell(1), r.sum(func(o *copies.Outcome) int { return o.Useful }).Cell(1),
			ours.mean(nil).Change(r.mean(nil)),
		}
		for _, of := range bins {
			cells = append(cells, ours.mean(of.has).Change(r.mean(of.has)))
		}
		for _, p := range []float64{10, 50, 90} {
			cells = append(cells, percents(ours.percentile(r, 100-p))) // the P90 gain is the tenth of the jobs that gain most
		}
		t.Add(x.name, cells...)
	}
	h.tables = append(h.tables, t)
	return nil
}

// against adds a row with Hopper's change against SRPT, with one workload and algorithm.
func (h *study) against(t *measure.Table, name string, m mix, how copies.Speculation, ours, theirs way) error {
	a, err := h.run(m, ours, how)
	if err != nil {
		return err
	}
	b, err := h.run(m, theirs, how)
	if err != nil {
		return err
	}
	t.Add(name, b.mean(nil).Cell(1), a.mean(nil).Cell(1), a.mean(nil).Change(b.mean(nil)))
	return nil
}

func againstTable(key, title, what string, notes ...string) measure.Table {
	return measure.Table{Key: key, Title: title, Columns: []string{what, "SRPT", "Hopper", "change"}, Notes: notes}
}

// byPhases is figure 6.2b.
func (h *study) byPhases() error {
	t := againstTable("phases", "Mean duration in s by phases of a job", "phases", "The text, figure 6.2b: gains hold.")
	for _, n := range []int{1, 2, 4, 6} {
		m := h.mix()
		m.phases = n
		if err := h.against(&t, fmt.Sprint(n), m, h.how(), h.hopper(), bySRPT); err != nil {
			return err
		}
	}
	h.tables = append(h.tables, t)
	return nil
}

// bySpeculation is figure 6.3.
func (h *study) bySpeculation() error {
	t := againstTable("speculation", "Mean duration in s by which tasks are copied", "algorithm", "The text, figure 6.3: gains are alike.")
	for _, how := range []copies.Speculation{copies.LATE, copies.Mantri, copies.GRASS, copies.Greedy} {
		if err := h.against(&t, string(how), h.mix(), how, h.hopper(), bySRPT); err != nil {
			return err
		}
	}
	h.tables = append(h.tables, t)
	return nil
}

// byEpsilon is figure 6.4.
func (h *study) byEpsilon() error {
	t := measure.Table{
		Key: "epsilon", Title: "ε: Hopper's change against SRPT, and jobs that are slower than with ε = 0, in percent",
		Columns: []string{"ε %", "against SRPT", "slower", "by more than 5 %", "mean slowdown", "worst"},
		Notes:   []string{"The text, figure 6.4: flat from 15 % on; at 10 % below 4 % of the jobs are slower, by 5 % at most."},
	}
	theirs, err := h.run(h.mix(), bySRPT, h.how())
	if err != nil {
		return err
	}
	var fair jobRuns
	for _, e := range []int{0, 5, 10, 15, 20, 30, 100} {
		r, err := h.run(h.mix(), h.hopper("epsilon", fmt.Sprintf("%.2f", float64(e)/100)), h.how())
		if err != nil {
			return err
		}
		if e == 0 {
			fair = r
		}
		var slower, much, mean, worst measure.Sample
		for i := range r.jobs {
			a, b := r.took(i, nil), fair.took(i, nil)
			n, over, sum, most := 0., 0., 0., 0.
			for k := range a {
				if x := 100 * (a[k]/b[k] - 1); x > 1e-9 {
					n++
					sum += x
					most = max(most, x)
					if x > 5 {
						over++
					}
				}
			}
			all := float64(len(a))
			slower, much, mean, worst = append(slower, 100*n/all), append(much, 100*over/all), append(mean, sum/max(n, 1)), append(worst, most)
		}
		t.Add(fmt.Sprint(e), r.mean(nil).Change(theirs.mean(nil)), slower.Cell(1), much.Cell(1), mean.Cell(1), worst.Cell(0))
	}
	h.tables = append(h.tables, t)
	return nil
}

// byLocality is figure 6.6.
func (h *study) byLocality() error {
	m := h.mix()
	m.local = true
	t := measure.Table{
		Key: "locality", Title: "k: Hopper's change against SRPT, and tasks next to their input, in percent", Columns: []string{"k %", "against SRPT", "local"},
		Notes: []string{"The text, figure 6.6: 3 % is best, gains drop above 7 %, local tasks grow with k."},
	}
	local := func(r jobRuns) measure.Cell { return r.sum(func(o *copies.Outcome) int { return o.Local }).Cell(1) }
	theirs, err := h.run(m, bySRPT, h.how())
	if err != nil {
		return err
	}
	t.Add("SRPT", theirs.mean(nil).Change(theirs.mean(nil)), local(theirs))
	for _, k := range []int{0, 3, 5, 7, 15, 30} {
		r, err := h.run(m, h.hopper("locality-percent", fmt.Sprint(k)), h.how())
		if err != nil {
			return err
		}
		t.Add(fmt.Sprint(k), r.mean(nil).Change(theirs.mean(nil)), local(r))
	}
	h.tables = append(h.tables, t)
	return nil
}

// byGroups is figure 6.7: β of each group of users against one of 1.2 for all.
func (h *study) byGroups() error {
	t := measure.Table{
		Key: "groups", Title: "β for each group of users: change of the mean duration against β = 1.2 for all", Columns: []string{"jobs of", "one β", "own β", "change"},
		Notes: []string{"The text, figure 6.7: some 10 % more, most for groups far from 1.2."},
	}
	one, err := h.run(h.mix(), h.hopper(), h.how())
	if err != nil {
		return err
	}
	own := h.hopper()
	own.groups = true
	fitted, err := h.run(h.mix(), own, h.how())
	if err != nil {
		return err
	}
	t.Add("all", one.mean(nil).Cell(1), fitted.mean(nil).Cell(1), fitted.mean(nil).Change(one.mean(nil)))
	for g, b := range betas {
		of := func(j *copies.Job) bool { return j.User == fmt.Sprint("u", g) }
		t.Add(fmt.Sprintf("β %g", b), one.mean(of).Cell(1), fitted.mean(of).Cell(1), fitted.mean(of).Change(one.mean(of)))
	}
	h.tables = append(h.tables, t)
	return nil
}

// cause is something that may be why gains differ from the text's.
type cause struct {
	name         string
	change       func(*mix)
	ours, theirs way
}

// causes tests why gains differ from the paper's: how many slots there are, so how long a copy waits for one; how busy they are; how large jobs are
// and how much tasks straggle; what keeping slots does; whether the baseline's copies have their job's turn; and how early stragglers are seen.
func (h *study) causes() error {
	return h.tested("causes", "What gains depend on: mean duration in s, of all jobs and by their tasks", "SRPT is the policy that is compared with, where the case names no other.", h.allCauses())
}

// largest tests why the largest jobs gain least.
func (h *study) largest() error {
	return h.tested("largest", "Jobs by their tasks at a load of 0.7, where SRPT's copies come only when no task waits, unless the case says otherwise",
		"The paper, figure 6.1: small jobs −29 to −40 %, large ones over −80 %.", h.allLargest())
}

// tested adds a table of causes.
func (h *study) tested(key, title, note string, all []cause) error {
	t := againstTable(key, title, "case", note)
	for _, b := range bins {
		t.Columns = append(t.Columns, b.name)
	}
	for _, x := range all {
		m := h.mix()
		if x.change != nil {
			x.change(&m)
		}
		a, err := h.run(m, x.ours, h.how())
		if err != nil {
			return err
		}
		b, err := h.run(m, x.theirs, h.how())
		if err != nil {
			return err
		}
		cells := []measure.Cell{b.mean(nil).Cell(1), a.mean(nil).Cell(1), a.mean(nil).Change(b.mean(nil))}
		for _, of := range bins {
			cells = append(cells, a.mean(of.has).Change(b.mean(of.has)))
		}
		t.Add(x.name, cells...)
	}
	h.tables = append(h.tables, t)
	return nil
}

func (h *study) allCauses() []cause {
	silent, whole := h.hopper(), h.hopper("epsilon", "1")
	neither := whole
	silent.silent, neither.silent = true, true
	last, lastFair := way{policy: copies.SRPT, last: true}, way{policy: copies.Fair, last: true}
	return []cause{
		{"32 slots", func(m *mix) { m.nodes = 2 }, h.hopper(), bySRPT},
		{"32 slots, no floor", func(m *mix) { m.nodes = 2 }, whole, bySRPT},
		{"32 slots, no floor, no slots kept", func(m *mix) { m.nodes = 2 }, neither, bySRPT},
		{"160 slots", func(m *mix) { m.nodes = 10 }, h.hopper(), bySRPT},
		{"400 slots", func(m *mix) { m.nodes = 25 }, h.hopper(), bySRPT},
		{"load 0.5", func(m *mix) { m.load = .5 }, h.hopper(), bySRPT},
		{"load 1.2", func(m *mix) { m.load = 1.2 }, h.hopper(), bySRPT},
		{"load 1.2, no floor, no slots kept", func(m *mix) { m.load = 1.2 }, neither, bySRPT},
		{"large jobs: ten times the tasks", func(m *mix) { m.size, m.jobs = 10, m.jobs/4 }, h.hopper(), bySRPT},
		{"β 1.2 for all", func(m *mix) { m.beta = 1.2 }, h.hopper(), bySRPT},
		{"β 1.2 for all, tasks ten times as long at most", func(m *mix) { m.beta, m.longest = 1.2, 10*longestTask }, h.hopper(), bySRPT},
		{"inputs on three nodes", func(m *mix) { m.local = true }, h.hopper(), bySRPT},
		{"seen after three times as long", func(m *mix) { m.detection = 3 }, h.hopper(), bySRPT},
		{"seen after a tenth of the time", func(m *mix) { m.detection = .1 }, h.hopper(), bySRPT},
		{"no slots kept", nil, silent, bySRPT},
		{"no floor", nil, whole, bySRPT},
		{"no floor, no slots kept", nil, neither, bySRPT},
		{"SRPT makes copies when no task of the job waits", nil, h.hopper(), way{policy: copies.SRPT, later: true}},
		{"SRPT makes copies when no task waits", nil, h.hopper(), last},
		{"the same, load 0.5", func(m *mix) { m.load = .5 }, h.hopper(), last},
		{"the same, load 0.7", func(m *mix) { m.load = .7 }, h.hopper(), last},
		{"the same, load 1.2", func(m *mix) { m.load = 1.2 }, h.hopper(), last},
		{"Fair makes copies when no task waits", nil, h.hopper(), lastFair},
	}
}

// allLargest are causes why the largest jobs gain least where SRPT's copies come only when no task waits: in how many waves they run, how long their slowest tasks take
// beside the rest of them, and what Hopper gives to others.
func (h *study) allLargest() []cause {
	whole, last := h.hopper("epsilon", "1"), way{policy: copies.SRPT, last: true}
	return []cause{
		{"load 0.7", func(m *mix) { m.load = .7 }, h.hopper(), last},
		{"400 slots", func(m *mix) { m.load, m.nodes = .7, 25 }, h.hopper(), last},
		{"β 1.2 for all", func(m *mix) { m.load, m.beta = .7, 1.2 }, h.hopper(), last},
		{"β 1.2 for all, tasks ten times as long at most", func(m *mix) { m.load, m.beta, m.longest = .7, 1.2, 10*longestTask }, h.hopper(), last},
		{"no floor", func(m *mix) { m.load = .7 }, whole, last},
	}
}
