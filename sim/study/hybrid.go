package study

import (
	"fmt"

	"heddle/rm/scheduler/policy/partition"
	"heddle/sim/hybrid"
)

// outcome is the completion times of short and long jobs with several seeds.
type outcome struct{ short, long [3]sample } // P50, P75, P90

// simulate runs a setting with several seeds.
func simulate(s *setting, seeds int, o hybrid.Options) (out outcome, err error) {
	o.Cutoff = s.cutoff
	for seed := range seeds {
		o.Seed = uint64(seed + 1)
		r, err := hybrid.Run(s.jobs, o)
		if err != nil {
			return out, fmt.Errorf("%s, %s: %w", s.name, o.Mode, err)
		}
		for i, f := range []hybrid.Figures{r.ShortJobs.Completion, r.LongJobs.Completion} {
			of := []*[3]sample{&out.short, &out.long}[i]
			for k, x := range []float64{f.P50, f.P75, f.P90} {
				of[k] = append(of[k], x)
			}
		}
	}
	return out, nil
}

// cells are the figures as a row has them.
func (x outcome) cells() (cells []string) {
	for _, of := range [][3]sample{x.short, x.long} {
		for _, f := range of {
			cells = append(cells, fmt.Sprintf("%.1f", f.mean()))
		}
	}
	return cells
}

// against are the changes from another outcome.
func (x outcome) against(base outcome) (cells []string) {
	for i, of := range [][3]sample{x.short, x.long} {
		for k, f := range of {
			cells = append(cells, less(f.mean(), [][3]sample{base.short, base.long}[i][k].mean()))
		}
	}
	return cells
}

func (x outcome) bars() []float64 { return []float64{x.short[0].mean(), x.short[2].mean()} }

var figuresOf = []string{"short P50", "P75", "P90", "long P50", "P75", "P90"}

// settings are the traces of a study: those made here, and those that the environment names.
func settings() ([]setting, error) {
	more, err := given()
	if err != nil {
		return nil, err
	}
	return append([]setting{yahooShape.trace(3000, 1), clouderaShape.trace(1500, 3), facebookShape.trace(15_000, 1)}, more...), nil
}

// Hawk compares Hawk with Sparrow and with Hawk without stealing.
func Hawk(seeds int) (*Study, error) {
	return compare("Hawk: a central scheduler for long jobs, a short partition and stealing. Completion times in seconds, mean over seeds.", seeds,
		[]string{"sparrow", "hawk-nosteal", "hawk"}, "hawk", "Hawk")
}

// Eagle compares Eagle with Hawk, and with parts of itself.
func Eagle(seeds int) (*Study, error) {
	return compare("Eagle: succinct state sharing, sticky batch probing and SRPT. Completion times in seconds, mean over seeds.", seeds,
		[]string{"hawk", "eagle-sss", "eagle-sss-sbp", "eagle", "idealeagle"}, "eagle", "Eagle")
}

// growing is table 3.1 of the text on Dice, for Yahoo's whole trace: what a larger short partition does.
var growing = map[string]string{
	"hawk":  "Hawk 2 % 327.7 687.1 1226.4 | 3145.2 6837.4 10089.1; 4 % 191.2 322.3 457.7 | 3455.5 7467.1 10754.7; 6 % 157.0 243.8 331.6 | 3947.6 8168.3 11447.7; 8 % 138.2 204.3 270.8 | 4654.6 8891.4 12010.3",
	"eagle": "Eagle 2 % 29.8 59.1 147.3 | 3160.0 6837.7 10070.3; 4 % 23.2 42.0 66.0 | 3455.6 7469.1 10764.3; 6 % 22.4 40.4 62.9 | 3943.5 8166.6 11391.0; 8 % 22.1 39.9 62.1 | 4650.2 8901.9 12025.4",
}

func compare(title string, seeds int, modes []string, system, name string) (*Study, error) {
	s := &Study{Title: title}
	all, err := settings()
	if err != nil {
		return nil, err
	}
	for i := range all {
		x := &all[i]
		t := Table{Title: fmt.Sprintf("%s, short partition of %g %%, %d seeds", x.name, x.short, seeds), Columns: append([]string{"workers", "system"}, figuresOf...)}
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		var whole outcome // of the system that the study is of, with as many workers as the next table has
		for _, workers := range x.sizes {
			for _, mode := range modes {
				r, err := simulate(x, seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short})
				if err != nil {
					return nil, err
				}
				if workers == x.growing && mode == system {
					whole = r
				}
				t.Rows = append(t.Rows, append([]string{fmt.Sprint(workers), mode}, r.cells()...))
				chart.add(fmt.Sprintf("%d, %s", workers, mode), r.bars())
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
		if x.growing == 0 {
			continue
		}
		t = Table{
			Title: fmt.Sprintf("%s, %d workers, %s with growing short partitions", x.name, x.growing, name), Columns: append([]string{"short partition"}, figuresOf...),
			Notes: []string{"The text, table 3.1: " + growing[system] + "."},
		}
		for _, short := range []float64{2, 4, 6, 8} {
			r := whole
			if short != x.short {
				if r, err = simulate(x, seeds, hybrid.Options{Mode: system, Workers: x.growing, Short: short}); err != nil {
					return nil, err
				}
			}
			t.Rows = append(t.Rows, append([]string{fmt.Sprintf("%g %%", short)}, r.cells()...))
		}
		s.Tables = append(s.Tables, t)
	}
	return s, nil
}

// Dice adds elastic sizing, opportunistic preemption and both to Hawk and Eagle.
func Dice(seeds int) (*Study, error) {
	s := &Study{Title: "Dice: an elastic short partition and preemption of long tasks. Changes against Hawk and Eagle, mean over seeds."}
	all, err := settings()
	if err != nil {
		return nil, err
	}
	for i := range all {
		x := &all[i]
		t := Table{
			Title:   fmt.Sprintf("%s, short partition of %g to %g %%, %d seeds", x.name, x.short, x.short+8, seeds),
			Columns: append([]string{"workers", "system"}, figuresOf...), Notes: []string{x.diceText},
		}
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		for _, workers := range x.sizes {
			for _, mode := range []string{"hawk", "eagle"} {
				base, err := simulate(x, seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short})
				if err != nil {
					return nil, err
				}
				t.Rows = append(t.Rows, append([]string{fmt.Sprint(workers), mode + ", in s"}, base.cells()...))
				chart.add(fmt.Sprintf("%d, %s", workers, mode), base.bars())
				for _, v := range []struct {
					name   string
					change func(*partition.Dice)
				}{
					{"elastic sizing", func(d *partition.Dice) { d.NoRequests = true }},
					{"preemption", func(d *partition.Dice) { d.NoSizing = true }},
					{"both, linear", func(*partition.Dice) {}},
					{"both, square", func(d *partition.Dice) { d.Sizing = partition.Square }},
					{"both, root", func(d *partition.Dice) { d.Sizing = partition.Root }},
				} {
					d := partition.Study(x.short)
					v.change(d)
					r, err := simulate(x, seeds, hybrid.Options{Mode: mode, Workers: workers, Short: x.short, Dice: d})
					if err != nil {
						return nil, err
					}
					t.Rows = append(t.Rows, append([]string{fmt.Sprint(workers), mode + ", " + v.name}, r.against(base)...))
					if v.name == "both, linear" {
						chart.add(fmt.Sprintf("%d, %s with Dice", workers, mode), r.bars())
					}
				}
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
	}
	return s, nil
}

// Eirene adds staging, cloning and both to Eagle.
func Eirene(seeds int) (*Study, error) {
	s := &Study{Title: "Eirene: inputs staged in memory while tasks wait, and clones under light load. Changes against Eagle, mean over seeds."}
	all, err := settings()
	if err != nil {
		return nil, err
	}
	for i := range all {
		x := &all[i]
		t := Table{
			Title:   fmt.Sprintf("%s, short partition of %g %%, %d seeds", x.name, x.short, seeds),
			Columns: append([]string{"workers", "system"}, figuresOf...),
			Notes:   x.eireneText,
		}
		chart := Chart{Title: "Short jobs, " + x.name, Unit: "s", Bars: []string{"P50", "P90"}}
		for _, workers := range x.eireneSizes {
			base, err := simulate(x, seeds, hybrid.Options{Mode: "eagle", Workers: workers, Short: x.short})
			if err != nil {
				return nil, err
			}
			t.Rows = append(t.Rows, append([]string{fmt.Sprint(workers), "eagle, in s"}, base.cells()...))
			chart.add(fmt.Sprintf("%d, eagle", workers), base.bars())
			for _, v := range []struct {
				name                string
				noStaging, noClones bool
			}{{"staging", false, true}, {"cloning", true, false}, {"both", false, false}} {
				e := hybrid.EireneStudy()
				e.NoStaging, e.NoClones = v.noStaging, v.noClones
				r, err := simulate(x, seeds, hybrid.Options{Mode: "eagle", Workers: workers, Short: x.short, Eirene: e})
				if err != nil {
					return nil, err
				}
				t.Rows = append(t.Rows, append([]string{fmt.Sprint(workers), v.name}, r.against(base)...))
				if v.name == "both" {
					chart.add(fmt.Sprintf("%d, Eirene", workers), r.bars())
				}
			}
		}
		s.Tables, s.Charts = append(s.Tables, t), append(s.Charts, chart)
	}
	return s, nil
}
