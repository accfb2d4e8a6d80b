package study

import (
	"fmt"
	"slices"
	"strings"

	"heddle/rm/scheduler/policy/partition"
	"heddle/sim/hybrid"
	"heddle/sim/study/shape"
)

// outcome is the completion times of short and long jobs with several seeds, and what else studies look at.
type outcome struct {
	short, long [3]sample // P50, P75, P90
	busy        sample    // percent of the workers, between the first hundredth of the jobs and the last one
	peak        sample    // s: the longest mean wait of short tasks that started in the same minute
	ratio       sample    // the largest completion time of a short job, as a multiple of its tasks' mean
	hits, won   sample    // tasks that read a staged input, and those of which a clone was first
	suspended   sample    // long tasks
}

// simulate runs a setting with several seeds.
func simulate(s *setting, seeds Seeds, o hybrid.Options) (out outcome, err error) {
	o.Cutoff = s.cutoff
	for seed := range seeds.All() {
		o.Seed = seed
		r, err := hybrid.Run(s.jobs(seed), o)
		if err != nil {
			return out, fmt.Errorf("%s, %s: %w", s.name, o.Mode, err)
		}
		for i, f := range []hybrid.Figures{r.ShortJobs.Completion, r.LongJobs.Completion} {
			of := []*[3]sample{&out.short, &out.long}[i]
			for k, x := range []float64{f.P50, f.P75, f.P90} {
				of[k] = append(of[k], x)
			}
		}
		out.busy, out.peak, out.ratio = append(out.busy, r.Utilisation.Dense), append(out.peak, r.ShortJobs.Peak), append(out.ratio, r.ShortJobs.Ratio)
		if e := r.Eirene; e != nil {
			out.hits, out.won = append(out.hits, float64(e.Hits)), append(out.won, float64(e.Won))
		}
		if d := r.Dice; d != nil {
			out.suspended = append(out.suspended, float64(d.Suspensions))
		}
	}
	return out, nil
}

// cells returns the figures as a row has them.
func (x outcome) cells() (cells []Cell) {
	for _, of := range [][3]sample{x.short, x.long} {
		for _, f := range of {
			cells = append(cells, f.Cell(1))
		}
	}
	return cells
}

// against returns the changes from another outcome.
func (x outcome) against(base outcome) (cells []Cell) {
	for i, of := range [][3]sample{x.short, x.long} {
		for k, f := range of {
			cells = append(cells, f.Change([][3]sample{base.short, base.long}[i][k]))
		}
	}
	return cells
}

func (x outcome) bars() []float64 { return []float64{x.short[0].Mean(), x.short[2].Mean()} }

var figuresOf = []string{"short P50", "short P75", "short P90", "long P50", "long P75", "long P90"}

// traceParameters are those of all studies of short tasks.
var traceParameters = []Parameter{
	{Name: "traces", Default: "", What: "which traces: yahoo-shape, cloudera-shape, facebook-shape, yahoo, google, facebook-2009; all that there are otherwise"},
	{Name: "workers", Default: "", What: "sizes of the cluster, such as 3000,4000; those of the texts otherwise"},
	{Name: "short", Default: "", What: "percent of the workers that are the short partition; that of the text otherwise"},
	{Name: "repeat", Default: "1", What: "how many times as many jobs: a shape has so many more, and a file's jobs come again after its last one; below 1: the first part of the jobs"},
	{Name: "shape", Default: "", What: "figures of drawn traces that differ, such as short-spread=1.2+swing=0.5: short- or long-mean (s), -spread, -tasks, -uneven; within (a job), gap (s), swing and burst (of arrivals)"},
}

// settings returns the traces of a study: those made here, again for each seed, and those that the environment names.
func settings(o *Options) (all []setting, err error) {
	more, err := given()
	if err != nil {
		return nil, err
	}
	times := 1.
	if o.Text("repeat") != "" {
		times = o.Number("repeat")
	}
	if !(times > 0 && times <= 100) {
		o.Fail("repeat", "a number above 0, to 100")
		return nil, o.Failed()
	}
	for i := range more {
		more[i].repeat(times)
	}
	var shapes []setting
	for _, x := range []struct {
		of   synthetic
		jobs int
	}{{yahooShape, 3000}, {clouderaShape, 1500}, {facebookShape, 15_000}} {
		changed, err := x.of.With(o.Text("shape"))
		if err != nil {
			return nil, err
		}
		of := synthetic{x.of.like, changed}
		shapes = append(shapes, of.setting(shape.Jobs(x.jobs, times)))
	}
	for _, x := range append(shapes, more...) {
		if !o.On("traces", x.key) {
			continue
		}
		if sizes := o.Numbers("workers"); len(sizes) > 0 {
			x.sizes, x.eireneSizes = nil, nil
			for _, n := range sizes {
				x.sizes, x.eireneSizes = append(x.sizes, int(n)), append(x.eireneSizes, int(n))
			}
		}
		if o.Text("short") != "" {
			x.short = o.Number("short")
		}
		all = append(all, x)
	}
	for _, name := range o.List("traces") {
		if !slices.ContainsFunc(all, func(x setting) bool { return x.key == name }) {
			return nil, fmt.Errorf("there is no trace %q: there are yahoo-shape, cloudera-shape, facebook-shape, and yahoo, google and facebook-2009 if "+
				"HEDDLE_YAHOO_TRACE, HEDDLE_GOOGLE_TRACE and HEDDLE_FACEBOOK_TRACE name their files", name)
		}
	}
	return all, o.Failed()
}

// Hawk compares Hawk with Sparrow and with Hawk without stealing.
func Hawk(o *Options) (*Study, error) {
	return compare("Hawk: a central scheduler for long jobs, a short partition and stealing. Completion times in seconds.", o,
		[]string{"sparrow", "hawk-nosteal", "hawk"}, "hawk", "Hawk")
}

// Eagle compares Eagle with Hawk, and with parts of itself.
func Eagle(o *Options) (*Study, error) {
	return compare("Eagle: succinct state sharing, sticky batch probing and SRPT. Completion times in seconds.", o,
		[]string{"hawk", "eagle-sss", "eagle-sss-sbp", "eagle", "idealeagle"}, "eagle", "Eagle")
}

// growing is table 3.1 of the paper on Dice, for Yahoo's whole trace: what a larger short partition does.
var growing = map[string]string{
	"hawk":  "Hawk 2 % 327.7 687.1 1226.4 | 3145.2 6837.4 10089.1; 4 % 191.2 322.3 457.7 | 3455.5 7467.1 10754.7; 6 % 157.0 243.8 331.6 | 3947.6 8168.3 11447.7; 8 % 138.2 204.3 270.8 | 4654.6 8891.4 12010.3",
	"eagle": "Eagle 2 % 29.8 59.1 147.3 | 3160.0 6837.7 10070.3; 4 % 23.2 42.0 66.0 | 3455.6 7469.1 10764.3; 6 % 22.4 40.4 62.9 | 3943.5 8166.6 11391.0; 8 % 22.1 39.9 62.1 | 4650.2 8901.9 12025.4",
}

func compare(title string, o *Options, modes []string, system, name string) (*Study, error) {
	s := &Study{Title: title, Seeds: o.Seeds}
	all, err := settings(o)
	if err != nil {
		return nil, err
	}
	for i := range all {
		x := &all[i]
		t := Table{Key: x.key, Title: fmt.Sprintf("%s, short partition of %g %%", x.name, x.short), Columns: append([]string{"system"}, figuresOf...)}
		t.Columns = append(t.Columns, "busy %", "longest wait", "largest ratio")
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		for _, workers := range x.sizes {
			for _, mode := range modes {
				r, err := simulate(x, o.Seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short})
				if err != nil {
					return nil, err
				}
				name := fmt.Sprintf("%s, %d workers", mode, workers)
				t.Add(name, append(r.cells(), r.busy.Cell(1), r.peak.Cell(0), r.ratio.Cell(0))...)
				chart.add(name, r.bars())
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
		if x.growing == 0 {
			continue
		}
		t = Table{
			Key:   x.key + ", growing",
			Title: fmt.Sprintf("%s, %d workers, %s with growing short partitions", x.name, x.growing, name), Columns: append(append([]string{"short partition"}, figuresOf...), "busy %"),
			Notes: []string{"The text, table 3.1: " + growing[system] + "."},
		}
		for _, short := range []float64{2, 4, 6, 8} {
			r, err := simulate(x, o.Seeds, hybrid.Options{Mode: system, Workers: x.growing, Short: short})
			if err != nil {
				return nil, err
			}
			t.Add(fmt.Sprintf("%g %%", short), append(r.cells(), r.busy.Cell(1))...)
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

// diceParameters are those of Dice.
var diceParameters = append([]Parameter{
	{Name: "systems", Default: "hawk,eagle", What: "to which Dice is added"},
	{Name: "variants", Default: "sizing,preemption,both", What: "what is added: sizing, preemption and both with each model, bounds (of the short partition, from 4 to 16 %) and multipliers (of requests)"},
	{Name: "models", Default: "linear,square,root", What: "with which variants are"},
	{Name: "longest", Default: "1000s", What: "mean wait of short tasks at which Dice does most"},
	{Name: "times", Default: "2", What: "how often a task is suspended at most"},
	{Name: "timeout", Default: "100s", What: "for how long it is suspended at most"},
	{Name: "multiplier", Default: "1", What: "requests to suspend for each node of the short partition at the longest wait"},
}, traceParameters...)

// variant is Dice, or a part of it.
type variant struct {
	kind, name string
	change     func(*partition.Dice)
}

// diceVariants returns those of figures 3.5, 3.6, 3.8, 3.9 and 3.13.
func diceVariants(o *Options) (out []variant) {
	type named struct {
		name  string
		model partition.Model
	}
	models := slices.DeleteFunc([]named{{"linear", partition.Linear}, {"square", partition.Square}, {"root", partition.Root}}, func(m named) bool {
		return !o.On("models", m.name)
	})
	for _, m := range models {
		out = append(out, variant{"sizing", "sizing, " + m.name, func(d *partition.Dice) { d.NoRequests, d.Sizing = true, m.model }})
	}
	for _, more := range []float64{2, 4, 6, 8, 10, 12, 14} {
		out = append(out, variant{"bounds", fmt.Sprintf("sizing, %g %% more at most", more), func(d *partition.Dice) { d.NoRequests, d.Most = true, d.Most-8+more }})
	}
	for _, m := range models {
		out = append(out, variant{"preemption", "preemption, " + m.name, func(d *partition.Dice) { d.NoSizing, d.Preemption = true, m.model }})
	}
	for _, x := range []float64{.5, 1, 2} {
		out = append(out, variant{"multipliers", fmt.Sprintf("preemption, multiplier %g", x), func(d *partition.Dice) { d.NoSizing, d.Multiplier = true, x }})
	}
	for _, m := range models {
		out = append(out, variant{"both", "both, " + m.name, func(d *partition.Dice) { d.Sizing = m.model }})
	}
	k := 0
	for _, v := range out {
		if o.On("variants", v.kind) {
			out[k] = v
			k++
		}
	}
	return out[:k]
}

// Dice adds elastic sizing, opportunistic preemption and both to Hawk and Eagle.
func Dice(o *Options) (*Study, error) {
	s := &Study{Title: "Dice: an elastic short partition and preemption of long tasks. Changes against Hawk and Eagle.", Seeds: o.Seeds}
	all, err := settings(o)
	if err != nil {
		return nil, err
	}
	longest, times, timeout, multiplier := o.Time("longest"), int(o.Number("times")), o.Time("timeout"), o.Number("multiplier")
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	for i := range all {
		x := &all[i]
		t := Table{
			Key: x.key, Title: fmt.Sprintf("%s, short partition of %g to %g %%", x.name, x.short, x.short+8),
			Columns: append(append([]string{"system"}, figuresOf...), "suspended"), Notes: []string{x.diceText},
		}
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		for _, workers := range x.sizes {
			for _, mode := range o.List("systems") {
				base, err := simulate(x, o.Seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short})
				if err != nil {
					return nil, err
				}
				name := fmt.Sprintf("%s %d", mode, workers)
				t.Add(name+", in s", base.cells()...)
				chart.add(name, base.bars())
				for _, v := range diceVariants(o) {
					d := partition.Study(x.short)
					d.Longest, d.Times, d.Timeout, d.Multiplier = longest, times, timeout, multiplier
					v.change(d)
					r, err := simulate(x, o.Seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short, Dice: d})
					if err != nil {
						return nil, err
					}
					t.Add(name+", "+v.name, append(r.against(base), r.suspended.Cell(0))...)
					if v.name == "both, linear" {
						chart.add(name+" with Dice", r.bars())
					}
				}
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
	}
	return s, nil
}

// eireneParameters are those of Eirene (table 4.5), and what the text doesn't name.
var eireneParameters = append([]Parameter{
	{Name: "vary", Default: "", What: "what is varied, with both techniques: cm, mpp, dmt, tps or capacity, with the values behind it, such as cm=5+10+20"},
	{Name: "cm", Default: "10", What: "copies that a worker makes at a time"},
	{Name: "mpp", Default: "2", What: "inputs that are staged for a probe"},
	{Name: "dmt", Default: "6.42s", What: "what a copy takes"},
	{Name: "tps", Default: "15", What: "percent of its time that a task saves whose input is staged"},
	{Name: "capacity", Default: "64", What: "inputs that a RAM disk holds; the text names no size"},
	{Name: "clone-below", Default: "10s", What: "mean wait of short tasks below which they are cloned; the text has no such bound, which a time such as 1000000s lifts"},
}, traceParameters...)

// eireneOf is Eirene by the parameters.
func eireneOf(o *Options) *hybrid.Eirene {
	e := hybrid.EireneStudy()
	e.Staging.Concurrent, e.Staging.PerProbe, e.Staging.Capacity = int(o.Number("cm")), int(o.Number("mpp")), int64(o.Number("capacity"))
	e.Copy, e.Faster, e.CloneBelow = o.Time("dmt"), o.Number("tps")/100, o.Time("clone-below")
	return e
}

// cutList reads what is varied, as in cm=5+10.
func cutList(text string) (name string, values []string, is bool) {
	name, list, is := strings.Cut(text, "=")
	return name, strings.Split(list, "+"), is
}

// Eirene adds staging, cloning and both to Eagle.
func Eirene(o *Options) (*Study, error) {
	s := &Study{Title: "Eirene: inputs staged in memory while tasks wait, and clones under light load. Changes against Eagle.", Seeds: o.Seeds}
	all, err := settings(o)
	if err != nil {
		return nil, err
	}
	type row struct {
		name string
		e    *hybrid.Eirene
	}
	var rows []row
	for _, v := range []struct {
		name                string
		noStaging, noClones bool
	}{{"staging", false, true}, {"cloning", true, false}, {"both", false, false}} {
		e := eireneOf(o)
		e.NoStaging, e.NoClones = v.noStaging, v.noClones
		rows = append(rows, row{v.name, e})
	}
	if name, values, varied := cutList(o.Text("vary")); varied {
		rows = nil
		for _, v := range values {
			x := o.With(name, v)
			if _, known := o.Find(name); !known {
				return nil, fmt.Errorf("eirene has no parameter %q that can be varied", name)
			}
			rows = append(rows, row{name + " " + v, eireneOf(x)})
			if x.Failed() != nil {
				return nil, x.Failed()
			}
		}
	}
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	for i := range all {
		x := &all[i]
		t := Table{
			Key: x.key, Title: fmt.Sprintf("%s, short partition of %g %%", x.name, x.short),
			Columns: append(append([]string{"system"}, figuresOf...), "staged", "clones first"), Notes: x.eireneText,
		}
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		for _, workers := range x.eireneSizes {
			base, err := simulate(x, o.Seeds, hybrid.Options{Mode: "eagle", Workers: workers, Short: x.short})
			if err != nil {
				return nil, err
			}
			t.Add(fmt.Sprintf("%d, eagle, in s", workers), base.cells()...)
			chart.add(fmt.Sprintf("%d, eagle", workers), base.bars())
			for _, v := range rows {
				r, err := simulate(x, o.Seeds, hybrid.Options{Mode: "eagle", Workers: workers, Short: x.short, Eirene: v.e})
				if err != nil {
					return nil, err
				}
				t.Add(fmt.Sprintf("%d, %s", workers, v.name), append(r.against(base), r.hits.Cell(0), r.won.Cell(0))...)
				if v.name == "both" {
					chart.add(fmt.Sprintf("%d, Eirene", workers), r.bars())
				}
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
	}
	return s, nil
}
